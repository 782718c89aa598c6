#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

#include "core/kernel/apply.h"

namespace hotcell {

int apply_lsm_exec(ApplyContext& ctx, const Op& op) noexcept {
  int fd = open(ctx.text(op.path), O_WRONLY | O_CLOEXEC);
  int err = errno;
  if (fd >= 0) {
    // One write, or it is no request; ENOENT: no profile of that name is loaded.
    ssize_t n = write(fd, ctx.text(op.data), op.data_len);
    err = n < 0 ? errno : EIO;
    close(fd);
    if (n == static_cast<ssize_t>(op.data_len)) return 0;
  }
  return (op.flags & kOptional) ? 0 : -err;
}

}  // namespace hotcell
