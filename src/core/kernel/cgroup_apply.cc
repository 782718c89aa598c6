#include <errno.h>
#include <unistd.h>

#include "core/kernel/apply.h"

namespace hotcell {

int apply_join_cgroup(ApplyContext& ctx, const Op& op) noexcept {
  // "0" into a v1 `tasks` file moves the writing thread alone. Unlike a pid in cgroup.procs it needs no
  // cgroup_threadgroup_rwsem, whose writer waits for an RCU grace period: about 10 ms on an idle machine.
  int fd = ctx.slots[op.slot];
  ssize_t n = write(fd, "0", 1);
  int err = errno;
  close(fd);
  ctx.slots[op.slot] = -1;
  return n == 1 ? 0 : -err;
}

}  // namespace hotcell
