// From clone to init: the few raw system calls the child makes while it still borrows the launcher's memory.
#pragma once
#include <span>

#include "core/launch/plan.h"
#include "sys/process.h"

namespace hotcell {

struct ChildFds {
  int standard[3] = {-1, -1, -1};
  int ctl = -1, prog = -1, lock = -1;
  std::span<const int> inherited;
};
// Clones into new namespaces and execs init there. On return init waits to be told what to be.
Result<sys::Child> start_init(const Plan& plan, std::uint64_t clone_flags, int init_fd, int cgroup_fd, const ChildFds& fds);

}  // namespace hotcell
