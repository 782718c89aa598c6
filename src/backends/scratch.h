// A folder of ours for one run of a tool: what the tool is told, the made /etc, the workspace. Gone when the run is over.
#pragma once
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "backends/backend.h"
#include "hotcell/result.h"
#include "sys/fd.h"

namespace hotcell::backends {

class Scratch {
 public:
  Scratch() = default;
  Scratch(Scratch&& o) noexcept : path_(std::exchange(o.path_, {})), work_(std::move(o.work_)), id_(o.id_) {}
  Scratch& operator=(Scratch&& o) noexcept {
    remove();
    path_ = std::exchange(o.path_, {});
    work_ = std::move(o.work_);
    id_ = o.id_;
    return *this;
  }
  ~Scratch() { remove(); }
  // `id` ≠ 0: the workspace belongs to it. Folders of runs that were killed are swept.
  static Result<Scratch> make(unsigned id);
  Result<void> give(unsigned id);   // one that was made for nobody is now that id's
  const std::string& path() const { return path_; }
  int work() const { return work_.get(); }
  Result<void> write(const std::vector<Piece>& pieces);
  std::uint64_t used() const;   // bytes in the workspace, allocated
  void remove();

 private:
  std::string path_;
  sys::Fd work_;
  unsigned id_ = 0;
};

// The pieces of a plan below a folder; what the program owns belongs to `id`, unless that is 0.
Result<void> write_pieces(const std::string& folder, const std::vector<Piece>& pieces, unsigned id);

// A command of ours, its output thrown away, ended after some seconds. True: it exited with 0.
bool run_quietly(const std::vector<std::string>& argv, int seconds = 10);

}  // namespace hotcell::backends
