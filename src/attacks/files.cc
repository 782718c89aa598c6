// Out of the view, into what is read-only, and traps left for whoever looks at the workspace afterwards.
#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <sys/types.h>
#include <sys/xattr.h>
#include <unistd.h>

#include "attack.h"

namespace attack {
namespace {

constexpr long kFchmodat2 = 452;  // newer than the headers of Debian 12

long opens(const char* path, int flags) {
  int fd = ::open(path, flags | O_CLOEXEC | O_NONBLOCK | O_NOCTTY, 0600);
  if (fd >= 0) close(fd);
  return fd;
}

// Only the canary is really written to, cut, moved and deleted; of the host's own files it is enough to have got hold.
Outcome file_damage(const Args& args) {
  const char* canary = args.text(0, "");
  if (*canary == 0) return unclear("needs a file to damage");
  Tries t;
  int fd = ::open(canary, O_WRONLY | O_APPEND | O_CLOEXEC);
  t.did("append", fd < 0 ? -1 : write(fd, "damaged", 7), kHidden);
  if (fd >= 0) close(fd);
  t.did("truncate", truncate(canary, 0), kHidden);
  t.did("chmod", chmod(canary, 0), kHidden);
  t.did("chown", chown(canary, getuid(), getgid()), kHidden);
  char other[512];
  snprintf(other, sizeof other, "%s.moved", canary);
  t.did("rename", rename(canary, other), kHidden);
  t.did("hard link", link(canary, "linked-canary"), kHidden);
  t.did("unlink", unlink(canary), kHidden);
  // Outside a cell, where it would go through, the attack keeps to the file it was given.
  if (args.text(1, "")[0] != 0) return t.outcome();
  for (const char* path : List<const char*>{"/etc/passwd", "/usr/bin/env", "/bin/sh", "/lib64/ld-linux-x86-64.so.2"})
    t.did(path, opens(path, O_WRONLY), kHidden);
  for (const char* dir : List<const char*>{"/usr/.attack", "/etc/.attack", "/.attack", "/bin/.attack"}) {
    long made = mkdir(dir, 0700);
    t.did(dir, made, kHidden);
    if (made == 0) rmdir(dir);
  }
  // A read-only descriptor opened again through /proc must meet the same wall.
  int ro = ::open("/etc/passwd", O_RDONLY | O_CLOEXEC);
  if (ro >= 0) {
    char again[48];
    snprintf(again, sizeof again, "/proc/self/fd/%d", ro);
    t.did("reopen for writing", opens(again, O_RDWR), kHidden);
    close(ro);
  }
  return t.outcome();
}

Outcome host_read(const Args& args) {
  const char* secret = args.text(0, "");
  Tries t;
  if (*secret != 0) {
    char path[600];
    t.did("secret", opens(secret, O_RDONLY), kHidden);
    for (const char* detour :
         List<const char*>{"/proc/self/root", "/proc/1/root", "/proc/1/cwd/../../..", "../../../../.."}) {
      snprintf(path, sizeof path, "%s%s", detour, secret);
      t.did(detour, opens(path, O_RDONLY), kHidden);
    }
    struct stat st{};
    t.did("stat", stat(secret, &st), kHidden);
  }
  // Of a folder the names count: one that is there but empty is the sandbox's own, not the host's.
  for (const char* path :
       List<const char*>{"/etc/shadow", "/etc/ssh", "/root", "/home", "/var/log", "/boot", "/run", "/sys/kernel"}) {
    int names = 0;
    if (DIR* d = opendir(path)) {
      while (readdir(d) != nullptr) ++names;
      closedir(d);
    }
    if (names == 2) t.refused(path, "empty");
    else t.did(path, opens(path, O_RDONLY), kHidden);
  }
  return t.outcome();
}

// Absolute, relative, and through the magic links of /proc; from inside the workspace, where making links is allowed.
Outcome symlink_out(const Args& args) {
  const char* secret = args.text(0, "/etc/shadow");
  const char* dir = args.text(1, ".");
  Tries t;
  char target[700], name[600];
  int i = 0;
  for (const char* prefix :
       List<const char*>{"", "../../../../../../..", "/proc/self/root", "/proc/1/root", "/proc/self/cwd/../.."}) {
    snprintf(target, sizeof target, "%s%s", prefix, secret);
    snprintf(name, sizeof name, "%s/link-%d-%d", dir, getpid(), i++);
    if (symlink(target, name) != 0) {
      t.odd("symlink", errno_name(errno));
      continue;
    }
    t.did(*prefix != 0 ? prefix : "absolute", opens(name, O_RDONLY), kHidden);
    unlink(name);
  }
  return t.outcome();
}

void look_for_bit(Tries& t, const char* what, const char* path, long result) {
  const int err = errno;
  struct stat st{};
  if (lstat(path, &st) == 0 && (st.st_mode & (S_ISUID | S_ISGID)) != 0) t.went_through(what);
  else if (result >= 0) t.refused(what, "stripped");
  else {
    errno = err;
    t.did(what, -1, kRefused);
  }
}

Outcome setuid_plant(const Args& args) {
  const char* dir = args.text(0, ".");
  char path[512], made[600];
  snprintf(path, sizeof path, "%s/plant-%d", dir, getpid());
  int fd = ::open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0755);
  if (fd < 0) return unclear("create %s", errno_name(errno));
  Tries t;
  look_for_bit(t, "chmod 4755", path, chmod(path, 04755));
  look_for_bit(t, "chmod 2755", path, chmod(path, 02755));
  look_for_bit(t, "fchmod", path, fchmod(fd, 06755));
  look_for_bit(t, "fchmodat", path, syscall(SYS_fchmodat, AT_FDCWD, path, 04755));
  look_for_bit(t, "fchmodat2", path, syscall(kFchmodat2, AT_FDCWD, path, 04755, 0));
  snprintf(made, sizeof made, "%s.created", path);
  int second = ::open(made, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 04755);
  look_for_bit(t, "open 4755", made, second);
  if (second >= 0) close(second);
  unlink(made);
  snprintf(made, sizeof made, "%s.node", path);
  look_for_bit(t, "mknod 4755", made, mknod(made, S_IFREG | 04755, 0));
  unlink(made);
  snprintf(made, sizeof made, "%s.folder", path);
  // mkdir(2) itself ignores these bits, so what counts is the folder that came of it.
  look_for_bit(t, "mkdir 2755", made, mkdir(made, 02755));
  rmdir(made);
  const unsigned char cap[20] = {1, 0, 0, 2, 0xff, 0xff, 0xff, 0xff};
  t.did("file capability", setxattr(path, "security.capability", cap, sizeof cap, 0),
        errors(EPERM, EACCES, ENOSYS, EOPNOTSUPP));
  close(fd);
  unlink(path);
  return t.outcome();
}

Outcome device_node(const Args& args) {
  const char* dir = args.text(0, ".");
  Tries t;
  char path[512];
  snprintf(path, sizeof path, "%s/node-%d", dir, getpid());
  t.did("mknod mem", mknod(path, S_IFCHR | 0666, makedev(1, 1)), kRefused);
  unlink(path);
  t.did("mknod disk", mknod(path, S_IFBLK | 0666, makedev(8, 0)), kRefused);
  unlink(path);
  for (const char* dev :
       List<const char*>{"/dev/mem", "/dev/kvm", "/dev/kmsg", "/dev/fuse", "/dev/net/tun", "/dev/loop-control",
                         "/dev/vda", "/dev/sda", "/dev/tty", "/dev/tty0", "/dev/console", "/dev/userfaultfd"})
    t.did(dev, opens(dev, O_RDWR), kHidden);
  return t.outcome();
}

// Opening for writing is proof enough; nothing is written but the one value that only concerns ourselves.
Outcome sysctl_write(const Args&) {
  Tries t;
  for (const char* path : List<const char*>{
           "/proc/sys/kernel/core_pattern", "/proc/sys/kernel/modprobe", "/proc/sysrq-trigger",
           "/proc/sys/kernel/hostname", "/proc/sys/user/max_user_namespaces", "/proc/sys/net/ipv4/ip_forward",
           "/proc/sys/fs/binfmt_misc/register", "/sys/kernel/uevent_helper", "/sys/fs/cgroup/release_agent"})
    t.did(path, opens(path, O_WRONLY), kHidden);
  int fd = ::open("/proc/self/oom_score_adj", O_WRONLY | O_CLOEXEC);
  t.did("oom_score_adj -1000", fd < 0 ? -1 : write(fd, "-1000", 5), kHidden);
  if (fd >= 0) close(fd);
  return t.outcome();
}

Outcome kernel_info(const Args&) {
  Tries t;
  char buf[256];
  for (const char* path :
       List<const char*>{"/proc/kcore", "/proc/keys", "/proc/timer_list", "/proc/sched_debug", "/proc/kpagecount",
                         "/proc/kmsg", "/proc/vmallocinfo", "/sys/firmware", "/sys/kernel/debug"}) {
    int fd = ::open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    ssize_t n = fd < 0 ? -1 : read(fd, buf, sizeof buf);
    if (fd >= 0) close(fd);
    if (n == 0) t.refused(path, "empty");
    else if (fd >= 0 && n < 0 && errno == EISDIR) t.went_through(path);
    else t.did(path, n, errors(EPERM, EACCES, ENOENT, EIO, EAGAIN));
  }
  t.did("syslog", syscall(SYS_syslog, 3, buf, sizeof buf), kRefused);
  int fd = ::open("/proc/kallsyms", O_RDONLY | O_CLOEXEC);
  ssize_t n = fd < 0 ? 0 : read(fd, buf, sizeof buf);
  if (fd >= 0) close(fd);
  if (n > 16 && memcmp(buf, "0000000000000000", 16) != 0) t.went_through("kallsyms shows addresses");
  else t.refused("kallsyms", "no addresses");
  return t.outcome();
}

Outcome by_handle(const Args&) {
  struct {
    unsigned bytes;
    int type;
    unsigned char handle[128];
  } h{};
  h.bytes = sizeof h.handle;
  int mount_id = 0;
  Tries t;
  // Inode 2 is the root of an ext4: the handle is guessed, so that hiding name_to_handle_at is no help.
  syscall(SYS_name_to_handle_at, AT_FDCWD, "/", &h, &mount_id, 0);
  if (h.bytes == sizeof h.handle) {
    h.bytes = 8;
    h.type = 1;
    h.handle[0] = 2;
  }
  int at = ::open("/", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  t.did("open_by_handle_at", syscall(SYS_open_by_handle_at, at, &h, O_RDONLY), kRefused);
  if (at >= 0) close(at);
  return t.outcome();
}

Outcome cgroup_write(const Args&) {
  Tries t;
  for (const char* path : List<const char*>{"/sys/fs/cgroup/cgroup.procs", "/sys/fs/cgroup/memory/cgroup.procs",
                                            "/sys/fs/cgroup/pids/cgroup.procs", "/sys/fs/cgroup/unified/cgroup.procs",
                                            "/sys/fs/cgroup/memory/memory.limit_in_bytes"})
    t.did(path, opens(path, O_WRONLY), kHidden);
  t.did("mkdir", mkdir("/sys/fs/cgroup/memory/attack", 0755), kHidden);
  return t.outcome();
}

constexpr Attack kList[] = {
    {"file-damage", "FILE [only] write, cut, move, delete it; open system files for writing", file_damage},
    {"host-read", "FILE read it by every detour; /etc/shadow, /root …", host_read},
    {"symlink-out", "[FILE DIR] links in DIR that lead to it", symlink_out},
    {"setuid-plant", "[DIR] setuid and setgid bits and file capabilities", setuid_plant},
    {"device-node", "[DIR] mknod, and the host's devices", device_node},
    {"sysctl-write", "core_pattern, sysrq, modprobe … and oom_score_adj", sysctl_write},
    {"kernel-info", "kcore, keys, kmsg, kallsyms, debugfs", kernel_info},
    {"open-by-handle", "the root of the disk by its inode number", by_handle},
    {"cgroup-write", "leave or raise the limits", cgroup_write},
};

}  // namespace

const Family kFiles = {kList, sizeof kList / sizeof kList[0]};

}  // namespace attack
