// Sources are opened before the staging tmpfs covers anything; targets are resolved with RESOLVE_BENEATH and
// RESOLVE_NO_SYMLINKS from the staging root, so a link inside a granted folder cannot move a mount or a mask.
#include <errno.h>
#include <fcntl.h>
#include <linux/sched.h>
#include <sched.h>
#include <signal.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "core/kernel/apply.h"
#include "sys/uapi/mount.h"

namespace hotcell {
namespace {

int open_tree(int dir, const char* path, unsigned flags) {
  return static_cast<int>(syscall(SYS_open_tree, dir, path, flags | uapi::kOpenTreeClone | uapi::kOpenTreeCloexec));
}

int set_attr(int fd, uint64_t set, uint64_t clear, bool recursive) {
  uapi::MountAttr attr = {set, clear, 0, 0};
  unsigned flags = uapi::kAtEmptyPath | (recursive ? uapi::kAtRecursive : 0);
  return syscall(SYS_mount_setattr, fd, "", flags, &attr, sizeof attr) < 0 ? -errno : 0;
}

int open_target(const char* path) {
  uapi::OpenHow how = {};
  how.flags = O_PATH | O_CLOEXEC;
  how.resolve = uapi::kResolveBeneath | uapi::kResolveNoSymlinks | uapi::kResolveNoMagicLinks;
  return static_cast<int>(syscall(SYS_openat2, AT_FDCWD, path, &how, sizeof how));
}

int attach(int tree, const char* path) {
  int target = open_target(path);
  if (target < 0) return -errno;
  long r = syscall(SYS_move_mount, tree, "", target, "", uapi::kMoveFromEmptyPath | uapi::kMoveToEmptyPath);
  int err = errno;
  close(target);
  return r < 0 ? -err : 0;
}

}  // namespace

int apply_private_mounts(ApplyContext&, const Op&) noexcept {
  return mount(nullptr, "/", nullptr, MS_REC | MS_PRIVATE, nullptr) < 0 ? -errno : 0;
}

int apply_open_tree(ApplyContext& ctx, const Op& op) noexcept {
  unsigned flags = uapi::kAtSymlinkNoFollow | ((op.flags & kRecursive) ? uapi::kAtRecursive : 0);
  int fd = open_tree(AT_FDCWD, ctx.text(op.path), flags);
  if (fd < 0) return -errno;
  if (op.a != 0 || op.b != 0) {
    // The policy's path was looked at when the plan was made; another file under the same name is not what was granted.
    struct stat st;
    if (fstat(fd, &st) < 0 || st.st_dev != op.a || st.st_ino != op.b) {
      close(fd);
      return -ESTALE;
    }
  }
  ctx.slots[op.slot] = fd;
  return 0;
}

int apply_mount_attr(ApplyContext& ctx, const Op& op) noexcept {
  return set_attr(ctx.slots[op.slot], op.a, op.b, (op.flags & kRecursive) != 0);
}

int apply_stage(ApplyContext& ctx, const Op& op) noexcept {
  const char* at = ctx.text(op.path);
  if (mount("stage", at, "tmpfs", MS_NOSUID | MS_NODEV, ctx.text(op.data)) < 0) return -errno;
  return chdir(at) < 0 ? -errno : 0;
}

int apply_mount_tmpfs(ApplyContext& ctx, const Op& op) noexcept {
  return mount("cell", ctx.text(op.path), "tmpfs", MS_NOSUID | MS_NODEV, ctx.text(op.data)) < 0 ? -errno : 0;
}

int apply_mkdir(ApplyContext& ctx, const Op& op) noexcept {
  const char* path = ctx.text(op.path);
  if (mkdir(path, static_cast<mode_t>(op.a)) < 0) return (errno == EEXIST && (op.flags & kOptional)) ? 0 : -errno;
  // mkdir obeys the umask, which is 022 here; /tmp must be 1777.
  if ((op.a & ~static_cast<uint64_t>(0755)) == 0) return 0;
  return chmod(path, static_cast<mode_t>(op.a)) < 0 ? -errno : 0;
}

int apply_mkfile(ApplyContext& ctx, const Op& op) noexcept {
  int fd = open(ctx.text(op.path), O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, static_cast<mode_t>(op.a));
  if (fd < 0) return (errno == EEXIST && (op.flags & kOptional)) ? 0 : -errno;
  const char* bytes = ctx.base + op.data;
  uint32_t left = op.data_len;
  while (left > 0) {
    ssize_t n = write(fd, bytes, left);
    if (n < 0) {
      int err = errno;
      close(fd);
      return -err;
    }
    bytes += n;
    left -= static_cast<uint32_t>(n);
  }
  close(fd);
  return 0;
}

int apply_symlink(ApplyContext& ctx, const Op& op) noexcept {
  if (symlink(ctx.text(op.data), ctx.text(op.path)) == 0) return 0;
  return (errno == EEXIST && (op.flags & kOptional)) ? 0 : -errno;
}

int apply_move_mount(ApplyContext& ctx, const Op& op) noexcept {
  int result = attach(ctx.slots[op.slot], ctx.text(op.path));
  close(ctx.slots[op.slot]);
  ctx.slots[op.slot] = -1;
  return result;
}

int apply_mount_proc(ApplyContext& ctx, const Op& op) noexcept {
  // Read-only: nothing in the cell has business writing oom_score_adj, uid_map or sysctls.
  return mount("proc", ctx.text(op.path), "proc", MS_NOSUID | MS_NODEV | MS_NOEXEC | MS_RDONLY, nullptr) < 0 ? -errno : 0;
}

int apply_mount_idle_proc(ApplyContext& ctx, const Op& op) noexcept {
  // A /proc belongs to the pid namespace of whoever mounts it; this one's only process mounts it and ends.
  clone_args args;
  memset(&args, 0, sizeof args);
  args.flags = CLONE_NEWPID | CLONE_VFORK;
  args.exit_signal = SIGCHLD;
  long pid = syscall(SYS_clone3, &args, sizeof args);
  if (pid < 0) return -errno;
  if (pid == 0) _exit(mount("proc", ctx.text(op.path), "proc", MS_NOSUID | MS_NODEV | MS_NOEXEC | MS_RDONLY, nullptr) < 0 ? errno : 0);
  int status = 0;
  if (waitpid(static_cast<pid_t>(pid), &status, __WALL) != pid || !WIFEXITED(status)) return -ECHILD;
  return -WEXITSTATUS(status);
}

int apply_mount_devpts(ApplyContext& ctx, const Op& op) noexcept {
  return mount("devpts", ctx.text(op.path), "devpts", MS_NOSUID | MS_NOEXEC, "newinstance,ptmxmode=0666,mode=620") < 0 ? -errno : 0;
}

int apply_overlay(ApplyContext& ctx, const Op& op) noexcept {
  // The layers are attached beside the cell's root first: before 6.15 overlayfs takes no detached mount. What is mounted
  // keeps its own copies of them, and the places go with the old root.
  const char* places[] = {"../lower", "../changes"};
  unsigned slots[] = {op.slot, static_cast<unsigned>(op.b)};
  for (unsigned i = 0; i < 2; ++i) {
    int tree = ctx.slots[slots[i]];
    if (syscall(SYS_move_mount, tree, "", AT_FDCWD, places[i], uapi::kMoveFromEmptyPath) < 0) return -errno;
    close(tree);
    ctx.slots[slots[i]] = -1;
  }
  return mount("cell", ctx.text(op.path), "overlay", static_cast<unsigned long>(op.a), ctx.text(op.data)) < 0 ? -errno : 0;
}

int apply_bind(ApplyContext& ctx, const Op& op) noexcept {
  const char* path = ctx.text(op.path);
  if (op.flags & kPlainBind) return mount(ctx.text(op.data), path, nullptr, MS_BIND, nullptr) < 0 ? -errno : 0;
  int fd = open_tree(AT_FDCWD, op.data ? ctx.text(op.data) : path, 0);
  if (fd < 0) return -errno;
  int result = set_attr(fd, op.a, op.b, false);
  if (result == 0) result = attach(fd, path);
  close(fd);
  return result;
}

int apply_mask(ApplyContext& ctx, const Op& op) noexcept {
  if (op.flags & kOptional) {
    // Names that only the kernel makes, in a /proc nobody has seen yet: one plain call will do. The source is a mount
    // that is read-only already, and so are its copies. An entry that this kernel does not have needs no mask.
    if (mount(ctx.text(op.data), ctx.text(op.path), nullptr, MS_BIND, nullptr) == 0) return 0;
    return errno == ENOENT ? 0 : -errno;
  }
  int fd = open_tree(AT_FDCWD, ctx.text(op.data), 0);
  if (fd < 0) return -errno;
  int result = set_attr(fd, uapi::kAttrReadOnly | uapi::kAttrNoSuid | uapi::kAttrNoExec, 0, false);
  if (result == 0) result = attach(fd, ctx.text(op.path));
  close(fd);
  return result;
}

int apply_hold_folder(ApplyContext& ctx, const Op& op) noexcept {
  // The workspace as it is before the bind that strict makes read-only, for the launcher, who fills it. Not a detached
  // copy of the mount: letting go of that waits for an RCU grace period.
  int fd = open(ctx.text(op.path), O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
  if (fd < 0) return -errno;
  ctx.slots[op.slot] = fd;
  return 0;
}

int apply_pivot_root(ApplyContext& ctx, const Op& op) noexcept {
  if (chdir(ctx.text(op.path)) < 0) return -errno;
  // pivot_root(".", ".") stacks the old root on the new one; the detach then removes all that was there before.
  if (syscall(SYS_pivot_root, ".", ".") < 0) return -errno;
  if (umount2(".", MNT_DETACH) < 0) return -errno;
  return chdir("/") < 0 ? -errno : 0;
}

int apply_read_only(ApplyContext& ctx, const Op& op) noexcept {
  uapi::MountAttr attr = {uapi::kAttrReadOnly, 0, 0, 0};
  return syscall(SYS_mount_setattr, AT_FDCWD, ctx.text(op.path), 0, &attr, sizeof attr) < 0 ? -errno : 0;
}

}  // namespace hotcell
