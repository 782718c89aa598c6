// Mounting as a cell does it: the new API, overlayfs, idmapped folders.
#include <fcntl.h>
#include <linux/mount.h>
#include <sched.h>
#include <stdio.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>

#include "base/strings.h"
#include "sys/probe.h"

// <sys/mount.h> and <linux/mount.h> define the same names and cannot be included together before glibc 2.37.
extern "C" int mount(const char*, const char*, const char*, unsigned long, const void*) noexcept;

namespace hotcell::sys {
namespace {

// A place to work in: a tmpfs over /tmp in a mount namespace of the trial's own, gone when the trial ends.
bool private_tmpfs(Trial& t) {
  if (mount("none", "/", nullptr, MS_REC | MS_PRIVATE, nullptr) != 0) return t.fail("make / private", errno);
  if (mount("tmpfs", "/tmp", "tmpfs", 0, nullptr) != 0) return t.fail("mount tmpfs", errno);
  for (const char* dir : {"/tmp/l", "/tmp/u", "/tmp/w", "/tmp/m"})
    if (mkdir(dir, 0755) != 0) return t.fail("mkdir", errno);
  return true;
}

void new_mount_api(Trial& t) {
  if (!enter_user_ns(t, CLONE_NEWNS) || !private_tmpfs(t)) return;
  int fs = static_cast<int>(syscall(SYS_fsopen, "tmpfs", FSOPEN_CLOEXEC));
  if (fs < 0) {
    t.fail("fsopen", errno);
    return;
  }
  if (syscall(SYS_fsconfig, fs, FSCONFIG_SET_STRING, "size", "65536", 0) != 0 ||
      syscall(SYS_fsconfig, fs, FSCONFIG_CMD_CREATE, nullptr, nullptr, 0) != 0) {
    t.fail("fsconfig", errno);
    return;
  }
  int mnt = static_cast<int>(syscall(SYS_fsmount, fs, FSMOUNT_CLOEXEC, 0));
  if (mnt < 0) {
    t.fail("fsmount", errno);
    return;
  }
  mount_attr attr{};
  attr.attr_set = MOUNT_ATTR_RDONLY | MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV;
  if (syscall(SYS_mount_setattr, mnt, "", AT_EMPTY_PATH, &attr, sizeof attr) != 0) t.fail("mount_setattr", errno);
  else if (syscall(SYS_move_mount, mnt, "", AT_FDCWD, "/tmp/m", MOVE_MOUNT_F_EMPTY_PATH) != 0)
    t.fail("move_mount", errno);
  else if (mkdir("/tmp/m/x", 0755) == 0 || errno != EROFS) t.fail("read-only mount", EIO);
  else if (syscall(SYS_open_tree, AT_FDCWD, "/tmp/u", OPEN_TREE_CLONE | OPEN_TREE_CLOEXEC) < 0)
    t.fail("open_tree", errno);
}

void overlay(Trial& t) {
  if (!enter_user_ns(t, CLONE_NEWNS) || !private_tmpfs(t)) return;
  if (mkdir("/tmp/l/a", 0755) != 0) {
    t.fail("mkdir", errno);
    return;
  }
  // userxattr: in a user namespace trusted.* attributes are out of reach.
  if (mount("overlay", "/tmp/m", "overlay", 0, "lowerdir=/tmp/l,upperdir=/tmp/u,workdir=/tmp/w,userxattr") != 0) {
    t.fail("mount overlay", errno);
    return;
  }
  if (rmdir("/tmp/m/a") != 0) t.fail("delete in overlay", errno);  // a whiteout: what older kernels refuse here
}

// Needs CAP_SYS_ADMIN where the filesystem was mounted, so it is root's alone.
void idmapped(Trial& t) {
  if (unshare(CLONE_NEWNS) != 0) {
    t.fail("unshare", errno);
    return;
  }
  if (!private_tmpfs(t)) return;
  int ready[2], go[2];
  if (pipe(ready) != 0 || pipe(go) != 0) {
    t.fail("pipe", errno);
    return;
  }
  pid_t child = fork();
  if (child == 0) {
    char c = unshare(CLONE_NEWUSER) == 0 ? 'y' : 'n';
    if (write(ready[1], &c, 1) != 1 || read(go[0], &c, 1) != 1) _exit(1);
    _exit(0);
  }
  char c = 0;
  if (child < 0 || read(ready[0], &c, 1) != 1 || c != 'y') {
    t.fail("user namespace for the map", EPERM);
    return;
  }
  int ns = -1;
  for (const char* map : {"uid_map", "gid_map"}) {
    int fd = open(cat("/proc/", child, "/", std::string_view(map)).c_str(), O_WRONLY | O_CLOEXEC);
    if (fd < 0 || write(fd, "0 100000 1000", 13) != 13) t.fail(map, errno);
    if (fd >= 0) close(fd);
  }
  ns = open(cat("/proc/", child, "/ns/user").c_str(), O_RDONLY | O_CLOEXEC);
  int tree = static_cast<int>(syscall(SYS_open_tree, AT_FDCWD, "/tmp/l", OPEN_TREE_CLONE | OPEN_TREE_CLOEXEC));
  mount_attr attr{};
  attr.attr_set = MOUNT_ATTR_IDMAP;
  attr.userns_fd = static_cast<std::uint64_t>(ns);
  struct stat st{};
  if (t.err != 0) {
  } else if (ns < 0 || tree < 0) {
    t.fail("open_tree", errno);
  } else if (syscall(SYS_mount_setattr, tree, "", AT_EMPTY_PATH, &attr, sizeof attr) != 0) {
    t.fail("mount_setattr idmap", errno);
  } else if (fstat(tree, &st) != 0 || st.st_uid != 100000) {
    t.fail("mapped owner", EIO);
  }
  if (write(go[1], "x", 1) == 1) waitpid(child, nullptr, 0);
}

}  // namespace

void probe_mounts(std::vector<Fact>& out) {
  Trial api = try_in_child(new_mount_api);
  out.push_back({"kernel", "new_mount_api", api.ok() ? Have::kYes : Have::kNo,
                 api.ok() ? "fsopen fsmount open_tree move_mount mount_setattr" : "", api.why(),
                 api.ok()            ? ""
                 : api.err == ENOSYS ? "a kernel of 5.12 or newer"
                                     : "see user_ns and mount_ns"});
  Trial ovl = try_in_child(overlay);
  out.push_back({"kernel", "overlay_in_user_ns", ovl.ok() ? Have::kYes : Have::kNo, ovl.ok() ? "with userxattr" : "",
                 ovl.why(),
                 ovl.ok()            ? ""
                 : ovl.err == ENODEV ? "modprobe overlay"
                                     : "see user_ns; a kernel of 5.11 or newer"});
  if (geteuid() == 0) {
    Trial map = try_in_child(idmapped);
    out.push_back(
        {"kernel", "idmapped_mounts", map.ok() ? Have::kYes : Have::kNo,
         map.ok() ? "tried on tmpfs; each filesystem has its own say" : "", map.why(),
         map.ok() ? ""
                  : "a kernel of 5.12 or newer (6.3 for tmpfs); --write folders then stay owned by the cell's uid"});
  } else {
    out.push_back({"kernel", "idmapped_mounts", Have::kNo, "",
                   "root only; an ordinary user's cell writes as that user anyway", ""});
  }
}

}  // namespace hotcell::sys
