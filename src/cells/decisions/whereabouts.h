// In which folders a shell may be, from the text of its commands alone. A cd may fail, so behind one it is in either; none is
// left out that it may be in, as far as the text says where it goes.
#pragma once
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace hotcell::cells {

using Folders = std::vector<std::string>;  // sorted, each once; "" is the workspace, and relative ones are below it

class Whereabouts {
 public:
  Whereabouts() = default;
  Whereabouts(std::string folder);                                    // there for certain
  Whereabouts(const char* folder) : Whereabouts(std::string(folder)) {}

  const Folders& now() const { return *now_; }
  std::shared_ptr<const Folders> shared() const { return now_; }
  // Not all that it may be in is among them: too many, a loop that goes on, a function that goes somewhere when it is called.
  bool lost() const { return lost_ || adrift_; }
  bool operator==(const Whereabouts& other) const;

  void go(std::string_view to);                                       // cd TO
  void go_home();                                                     // cd
  void go_back();                                                     // cd -
  void go_anywhere();                                                 // cd $X: the names behind it are taken as they are
  void go_for_certain(std::string_view to);                           // it is there, or what follows does not run
  void push(std::string_view to);                                     // pushd TO
  void swap();                                                        // pushd, pushd +N, popd -n …
  void pop();                                                         // popd
  void lose() { lost_ = true; }                                       // until it goes to a place that is there for certain
  void set_adrift() { adrift_ = true; }                               // for good: cd is not what it says, or comes from elsewhere
  bool adrift() const { return adrift_; }
  void join(const Whereabouts& other);                                // either this or that

 private:
  struct Pushed {
    std::shared_ptr<const Folders> from, then;
  };
  void move(Folders to, bool certain);
  void set(Folders folders);

  std::shared_ptr<const Folders> now_ = std::make_shared<const Folders>(Folders{""}), before_;
  std::vector<Pushed> pushed_;
  bool lost_ = false, adrift_ = false;
};

}  // namespace hotcell::cells
