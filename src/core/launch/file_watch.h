// --explain-denials: the files a program named and its cell did not let it have. Landlock and missing mounts make no
// event, so every call that names a file is shown to us and goes on as it would have (notify.cc). Nothing is decided
// here. The names are judged when the program is over: asking the host about a name while the program waits would tell
// it, by the time this takes, what the host has.
#pragma once
#include <string>
#include <unordered_map>
#include <vector>

#include "core/launch/file_calls.h"
#include "core/launch/plan.h"
#include "hotcell/report.h"
#include "sys/fd.h"

namespace hotcell {

class FileWatch {
 public:
  // `pid` is a process of the cell that is still there; its tree is held so that it can be looked at afterwards.
  FileWatch(int pid, BackendKind backend);

  void add(std::vector<NamedFile> files);
  void miss();  // a name that could not be read

  // What was refused, most serious first. Empties it: the cell's tree is let go.
  std::vector<Denial> judge(const Plan& plan);
  // False when a name was missed or there were more than are kept. After judge().
  bool complete() const { return complete_; }

 private:
  struct Seen {
    Wishes wishes = 0;
    bool follow = true;
    std::string_view call;  // of the strongest wish
    std::uint64_t count = 0;
    std::size_t order = 0;
  };
  static constexpr std::size_t kMostNames = 16384, kMostBytes = 4 << 20, kMostDenials = 256;

  sys::Fd root_, mounts_;
  std::unordered_map<std::string, Seen> seen_;
  std::size_t bytes_ = 0;
  bool complete_ = true, any_read_ = false;
};

}  // namespace hotcell
