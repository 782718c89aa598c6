// Folders beside the runs of a tool. What a run leaves is taken away after the answer, and the folder of the next is made, in a
// thread of its own: some files made and removed can take longer than a run. What runs have in common is made once.
#pragma once
#include <condition_variable>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "backends/scratch.h"
#include "core/launch/ids.h"

namespace hotcell::backends {

struct Leavings {
  CellIds ids, root_ids;   // nobody else's before the files are gone
  Scratch scratch;
  std::string group;       // a cgroup that was busy still; empty: none
};

class Folders {
 public:
  ~Folders();              // when everything is gone
  Result<Scratch> take(unsigned id);
  void leave(Leavings leavings);

 private:
  void work();

  std::mutex mutex_;
  std::condition_variable wake_;
  std::vector<Leavings> jobs_;
  std::optional<Scratch> next_;
  unsigned taken_ = 0;     // one request alone needs no next folder
  bool stop_ = false;
  std::thread thread_;     // started with the first job; last, so that all it uses outlives it
};

// Folders by what is in them, ours alone to write. One that is in use stays, whatever else is asked for.
class Bases {
 public:
  Result<std::shared_ptr<const Scratch>> of(const std::vector<Piece>& pieces);

 private:
  std::vector<std::pair<std::string, std::shared_ptr<const Scratch>>> known_;  // the last used comes last
};

}  // namespace hotcell::backends
