// What a cell uses where it has no cgroup of its own: its process tree, read from /proc. A sample, hence `partial`.
#pragma once
#include <chrono>
#include <cstdint>
#include <map>
#include <utility>

#include "core/kernel/cgroup.h"

namespace hotcell {

// One per cell. Keeps what it saw last of each process: a child of a program that ignores SIGCHLD is reaped by nobody,
// and its time is gone from /proc with it.
class TreeSampler {
 public:
  CgroupSample sample(int init_pid);

 private:
  struct Seen {
    Nanoseconds own{0}, reaped{0};  // its own time, and that of the children it has waited for
    std::uint64_t round = 0;
  };
  void add_process(int pid, bool is_init, CgroupSample& out, unsigned& budget);
  Nanoseconds missing();

  std::map<std::pair<int, std::uint64_t>, Seen> seen_;  // by pid and start time
  std::uint64_t round_ = 0;
  // Pages of programs and libraries are there once however many map them. Of files counts what one process has most of.
  std::uint64_t files_ = 0;
  Nanoseconds grown_{0};    // by how much the living have reaped since the last look
  Nanoseconds credit_{0}, vanished_{0};  // of the look before
  Nanoseconds lost_{0};
};

}  // namespace hotcell
