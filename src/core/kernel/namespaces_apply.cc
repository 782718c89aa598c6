#include <errno.h>
#include <net/if.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "core/kernel/apply.h"

namespace hotcell {

int apply_identity(ApplyContext&, const Op& op) noexcept {
  // Raw calls: the C library's versions signal every thread, and init has one.
  if ((op.flags & kClearGroups) && syscall(SYS_setgroups, 0, nullptr) < 0) return -errno;
  // gid before uid: without the uid's capabilities the gid could no longer be changed.
  if (syscall(SYS_setresgid, op.b, op.b, op.b) < 0) return -errno;
  if (syscall(SYS_setresuid, op.a, op.a, op.a) < 0) return -errno;
  return 0;
}

int apply_hostname(ApplyContext& ctx, const Op& op) noexcept {
  const char* name = ctx.text(op.path);
  return syscall(SYS_sethostname, name, strlen(name)) < 0 ? -errno : 0;
}

int apply_loopback_up(ApplyContext&, const Op&) noexcept {
  int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
  if (fd < 0) return -errno;
  struct ifreq request;
  memset(&request, 0, sizeof request);
  memcpy(request.ifr_name, "lo", 3);
  request.ifr_flags = IFF_UP | IFF_RUNNING;
  int result = ioctl(fd, SIOCSIFFLAGS, &request) < 0 ? -errno : 0;
  close(fd);
  return result;
}

}  // namespace hotcell
