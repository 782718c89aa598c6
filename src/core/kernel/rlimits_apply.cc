#include <errno.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "core/kernel/apply.h"

namespace hotcell {

int apply_rlimit(ApplyContext&, const Op& op) noexcept {
  struct Pair {
    uint64_t soft, hard;
  } want = {op.a, op.b}, have;
  if (syscall(SYS_prlimit64, 0, op.flags, nullptr, &have) < 0) return -errno;
  // A ceiling that is already lower stays: raising is neither allowed nor wanted.
  if (want.hard > have.hard) want.hard = have.hard;
  if (want.soft > want.hard) want.soft = want.hard;
  return syscall(SYS_prlimit64, 0, op.flags, &want, nullptr) < 0 ? -errno : 0;
}

}  // namespace hotcell
