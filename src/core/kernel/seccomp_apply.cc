#include "core/kernel/seccomp_apply.h"

#include <errno.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sys/syscall.h>
#include <unistd.h>

namespace hotcell {
namespace {

constexpr unsigned long kTsync = 1UL << 0;
constexpr unsigned long kNewListener = 1UL << 3;
// Linux 5.19: once the listener has a request, only a fatal signal interrupts the caller. Without it a program that
// is sent SIGURG all the time (go) sees its refused calls restarted and reported again and again.
constexpr unsigned long kWaitKillable = 1UL << 5;

long set_filter(const void* insns, unsigned count, unsigned long flags) noexcept {
  struct sock_fprog program;
  program.len = static_cast<unsigned short>(count);
  // The kernel only reads it; the field is not const.
  program.filter = static_cast<struct sock_filter*>(const_cast<void*>(insns));
  const long result = syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, flags, &program);
  return result < 0 ? -errno : result;
}

}  // namespace

int apply_seccomp(const void* insns, unsigned count, int want_listener) noexcept {
  if (count == 0 || count > BPF_MAXINSNS) return -EINVAL;
  if (!want_listener) return static_cast<int>(set_filter(insns, count, 0));
  long result = set_filter(insns, count, kNewListener | kWaitKillable);
  if (result == -EINVAL) result = set_filter(insns, count, kNewListener);
  return static_cast<int>(result);
}

int apply_seccomp_tsync(const void* insns, unsigned count) noexcept {
  if (count == 0 || count > BPF_MAXINSNS) return -EINVAL;
  const long result = set_filter(insns, count, kTsync);
  // A positive result is the id of a thread that has another filter: none was changed.
  return result > 0 ? -ESRCH : static_cast<int>(result);
}

}  // namespace hotcell
