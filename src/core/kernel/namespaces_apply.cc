#include <errno.h>
#include <fcntl.h>
#include <net/if.h>
#include <netinet/in.h>
#include <sched.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "core/kernel/apply.h"

namespace hotcell {

int apply_identity(ApplyContext& ctx, const Op& op) noexcept {
  // Raw calls: the C library's versions signal every thread, and init has one.
  if ((op.flags & kClearGroups) && syscall(SYS_setgroups, 0, nullptr) < 0) return -errno;
  unsigned long uid = op.a, gid = op.b;
  if ((op.flags & kOnlyStamped) && ctx.cell_id != 0) uid = gid = ctx.cell_id;
  // gid before uid: without the uid's capabilities the gid could no longer be changed.
  if (syscall(SYS_setresgid, gid, gid, gid) < 0) return -errno;
  if (syscall(SYS_setresuid, uid, uid, uid) < 0) return -errno;
  return 0;
}

int apply_hold_proc(ApplyContext& ctx, const Op&) noexcept {
  ctx.proc = open("/proc", O_PATH | O_DIRECTORY | O_CLOEXEC);
  return ctx.proc < 0 ? -errno : 0;
}

namespace {

int write_at(int dir, const char* file, const char* text) {
  int fd = openat(dir, file, O_WRONLY | O_CLOEXEC);
  if (fd < 0) return -errno;
  auto size = static_cast<ssize_t>(strlen(text));
  ssize_t n = write(fd, text, strlen(text));
  int err = errno;
  close(fd);
  return n == size ? 0 : n < 0 ? -err : -EIO;
}

int write_map(int dir, const char* file, unsigned inside, unsigned outside) {
  char line[64];
  char* end = append_number(line, inside);
  *end++ = ' ';
  end = append_number(end, outside);
  memcpy(end, " 1", 3);
  return write_at(dir, file, line);
}

}  // namespace

int apply_own_user(ApplyContext& ctx, const Op&) noexcept {
  // The other namespaces belong to the template's user namespace, this one is below it: whatever a program could become
  // in here, it has no say over its mounts, its network or its pids.
  int result = 0;
  // Ids were changed, which made us undumpable: our own id maps would not be ours to write.
  if (prctl(PR_SET_DUMPABLE, 1, 0, 0, 0) < 0 || unshare(CLONE_NEWUSER) < 0) result = -errno;
  // One may map only oneself, and only after giving up setgroups.
  if (result == 0) result = write_at(ctx.proc, "self/setgroups", "deny");
  if (result == 0) result = write_map(ctx.proc, "self/uid_map", ctx.uid, ctx.cell_id ? ctx.cell_id : ctx.uid);
  if (result == 0) result = write_map(ctx.proc, "self/gid_map", ctx.gid, ctx.cell_id ? ctx.cell_id : ctx.gid);
  if (prctl(PR_SET_DUMPABLE, 0, 0, 0, 0) < 0 && result == 0) result = -errno;
  close(ctx.proc);
  ctx.proc = -1;
  return result;
}

int apply_user_limits(ApplyContext&, const Op& op) noexcept {
  // These files are those of the user namespace of whoever opens them.
  char number[24];
  append_number(number, op.a);
  int result = write_at(AT_FDCWD, "/proc/sys/user/max_inotify_instances", number);
  append_number(number, op.b);
  if (result == 0) result = write_at(AT_FDCWD, "/proc/sys/user/max_inotify_watches", number);
  return result == -ENOENT ? 0 : result;  // a kernel without inotify
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

namespace {

int bound_socket(int type, unsigned port) {
  int fd = socket(AF_INET, type | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
  if (fd < 0) return -errno;
  struct sockaddr_in at;
  memset(&at, 0, sizeof at);
  at.sin_family = AF_INET;
  at.sin_port = htons(static_cast<uint16_t>(port));
  at.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  bool ok = bind(fd, reinterpret_cast<struct sockaddr*>(&at), sizeof at) == 0 && (type != SOCK_STREAM || listen(fd, 1024) == 0);
  if (ok) return fd;
  int err = errno;
  close(fd);
  return -err;
}

}  // namespace

// A socket belongs to the namespace it was made in, whoever holds it: these are the only way out of an empty network.
int apply_door(ApplyContext& ctx, const Op& op) noexcept {
  int door = bound_socket(SOCK_STREAM, static_cast<unsigned>(op.a));
  if (door < 0) return door;
  ctx.slots[kDoorSlot] = door;
  int dns = bound_socket(SOCK_DGRAM, static_cast<unsigned>(op.b));
  if (dns < 0) return dns;
  ctx.slots[kDnsSlot] = dns;
  return 0;
}

}  // namespace hotcell
