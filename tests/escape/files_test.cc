// FS: the boundary of files.
#include <dirent.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <sys/xattr.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "escape/escape.h"

namespace hotcell::testing {
namespace {

int try_open(const std::string& path, int flags) {
  int fd = ::open(path.c_str(), flags | O_CLOEXEC, 0644);
  int err = errno;
  if (fd >= 0) ::close(fd);
  return fd >= 0 ? kOpen : err;
}
int try_list(const char* path) {
  DIR* dir = ::opendir(path);
  int err = errno;
  if (dir != nullptr) ::closedir(dir);
  return dir != nullptr ? kOpen : err;
}
int try_create(const std::string& path) {
  int fd = ::open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0644);
  int err = errno;
  if (fd >= 0) {
    ::close(fd);
    ::unlink(path.c_str());
  }
  return fd >= 0 ? kOpen : err;
}
std::string parent(const char* entry) { return "/proc/" + std::to_string(::getppid()) + "/" + entry; }

// clang-format off
const Area kReach({
    {"FS-01a", "append to a host file",
     [] { return try_open(scene_path("secret"), O_WRONLY | O_APPEND); },
     ENOENT, {}, {.landlock = EACCES, .structure = ENOENT}},
    {"FS-01b", "create a file in a host folder",
     [] { return try_create(scene_path("private/new")); }, ENOENT, {}, {.landlock = EACCES, .structure = ENOENT}},
    {"FS-01c", "create a file in /usr",
     [] { return try_create("/usr/.hotcell-escape"); },
     EROFS, {kOpen, EACCES}, {.landlock = EACCES, .structure = EROFS}},
    {"FS-01d", "create a file in the root folder",
     [] { return try_create("/.hotcell-escape"); }, EROFS, {kOpen, EACCES}, {.landlock = EACCES, .structure = EROFS}},
    {"FS-01e", "write to a read-only grant",
     [] { return try_open(scene_path("ro/file"), O_WRONLY); }, EROFS, {}, {.landlock = EACCES, .structure = EROFS}},
    {"FS-01f", "create a file in a read-only grant",
     [] { return try_create(scene_path("ro/new")); }, EROFS, {}, {.landlock = EACCES, .structure = EROFS}},
    {"FS-01g", "remove a file of a read-only grant",
     [] { return result_of(::unlink(scene_path("ro/file").c_str())); },
     EROFS, {}, {.landlock = EACCES, .structure = EROFS}},
    {"FS-01h", "change the made /etc/passwd",
     [] { return try_open("/etc/passwd", O_WRONLY | O_APPEND); },
     EROFS, {kOpen, EACCES}, {.landlock = EACCES, .structure = EROFS}},
    {"FS-02a", "read a host file",
     [] { return try_open(scene_path("secret"), O_RDONLY); }, ENOENT, {}, {.landlock = EACCES, .structure = ENOENT}},
    {"FS-02b", "list /home", [] { return try_list("/home"); }, ENOENT, {}, {.landlock = EACCES, .structure = ENOENT}},
    {"FS-02c", "list /opt", [] { return try_list("/opt"); }, ENOENT, {}, {.landlock = EACCES, .structure = ENOENT}},
    {"FS-02d", "list /var/lib",
     [] { return try_list("/var/lib"); }, ENOENT, {}, {.landlock = EACCES, .structure = ENOENT}},
    {"FS-02e", "read the password hashes",
     [] { return try_open("/etc/shadow", O_RDONLY); }, ENOENT, {kOpen, EACCES}, {.structure = ENOENT}},
    {"FS-02f", "leave a grant by ..",
     [] { return try_open(scene_path("rw/../secret"), O_RDONLY); },
     ENOENT, {}, {.landlock = EACCES, .structure = ENOENT}},
    {"FS-03", "read a denied file of a read-only grant",
     [] { return try_open(scene_path("ro/.env"), O_RDONLY); }, EACCES, {}, {.structure = EACCES}},
    {"FS-04a", "make a denied name that does not exist yet",
     [] { return try_create(scene_path("rw/unborn")); }, EEXIST, {}, {.structure = EEXIST}},
    {"FS-04b", "write to a denied name that does not exist yet",
     [] { return try_open(scene_path("rw/unborn"), O_WRONLY | O_CREAT); }, EACCES, {}, {.structure = EACCES}},
    {"FS-04c", "put a file in the place of a denied name",
     [] { return result_of(::rename(scene_path("rw/file").c_str(), scene_path("rw/unborn").c_str())); },
     EBUSY, {}, {.structure = EBUSY}},
    {"FS-04d", "remove a denied name",
     [] { return result_of(::unlink(scene_path("rw/sub/denied").c_str())); }, EBUSY, {}, {.structure = EBUSY}},
    {"FS-05a", "a symlink in the workspace to a host file",
     [] { return ::symlink(scene_path("secret").c_str(), "link") != 0 ? -3 : try_open("link", O_RDONLY); },
     ENOENT, {}, {.structure = ENOENT}},
    {"FS-05b", "a symlink in a writable grant to a host file",
     [] {
       bool made = ::symlink(scene_path("secret").c_str(), scene_path("rw/link").c_str()) == 0 || errno == EEXIST;
       return made ? try_open(scene_path("rw/link"), O_RDONLY) : -3;
     },
     ENOENT, {}, {.landlock = EACCES, .structure = ENOENT}},
    {"FS-05c", "a symlink with a trailing slash to a host folder",
     [] { return ::symlink("/home", "link") != 0 ? -3 : try_open("link/", O_RDONLY | O_NOFOLLOW | O_DIRECTORY); },
     ENOENT, {}, {.structure = ENOENT}},
    {"FS-12a", "a descriptor the caller forgot",
     [] { return result_of(::openat(scene_number("S_FD"), "etc/passwd", O_RDONLY)); }, EBADF, {}, {.structure = EBADF}},
    {"FS-12b", "the descriptor behind /proc/self/fd",
     [] { return try_list(("/proc/self/fd/" + std::to_string(scene_number("S_FD"))).c_str()); },
     ENOENT, {}, {.structure = ENOENT}},
    {"FS-14a", "a host file by /proc/self/root",
     [] { return try_open("/proc/self/root" + scene_path("secret"), O_RDONLY); }, ENOENT, {}, {.structure = ENOENT}},
    {"FS-14b", "the parent's root", [] { return try_list(parent("root").c_str()); }, EACCES, {}, {.structure = EACCES}},
    {"FS-14c", "the parent's working directory",
     [] { return try_list(parent("cwd").c_str()); }, EACCES, {}, {.structure = EACCES}},
    {"FS-14d", "the parent's descriptors",
     [] { return try_list(parent("fd").c_str()); }, EACCES, {}, {.structure = EACCES}},
    {"FS-15a", "the parent's executable",
     [] { return try_open(parent("exe"), O_RDONLY); }, EACCES, {}, {.structure = EACCES}},
    {"FS-15b", "the parent's memory", [] { return try_open(parent("mem"), O_RDWR); }, EROFS, {}, {.structure = EROFS}},
    {"FS-15c", "the parent's memory, reading",
     [] { return try_open(parent("mem"), O_RDONLY); }, EACCES, {}, {.structure = EACCES}},
    {"FS-15d", "the parent's mappings",
     [] { return try_open(parent("maps"), O_RDONLY); }, EACCES, {}, {.structure = EACCES}},
    {"FS-15e", "the parent's environment",
     [] { return try_open(parent("environ"), O_RDONLY); }, EACCES, {}, {.structure = EACCES}},
    {"FS-16", "turn a read-only descriptor into a writable one by /proc/self/fd",
     [] {
       int fd = ::open(scene_path("ro/file").c_str(), O_RDONLY | O_CLOEXEC);
       return try_open("/proc/self/fd/" + std::to_string(fd), O_RDWR);
     },
     EROFS, {}, {.landlock = EACCES, .structure = EROFS}},
    {"FS-17a", "name_to_handle_at",
     [] {
       struct {
         file_handle h;
         char bytes[MAX_HANDLE_SZ];
       } handle{};
       handle.h.handle_bytes = MAX_HANDLE_SZ;
       int mount;
       return result_of(::name_to_handle_at(AT_FDCWD, "/usr", &handle.h, &mount, 0));
     },
     EPERM, {}, {.seccomp = EPERM}, "name_to_handle_at"},
    {"FS-17b", "open_by_handle_at with a guessed inode",
     [] {
       struct {
         file_handle h;
         char bytes[8];
       } handle{};
       handle.h.handle_bytes = 8;
       handle.h.handle_type = 1;
       handle.bytes[0] = 2;
       return result_of(::open_by_handle_at(AT_FDCWD, &handle.h, O_RDONLY));
     },
     EPERM, {kDiffers, EPERM}, {.seccomp = EPERM, .structure = EPERM}, "open_by_handle_at"},
    {"FS-18", "openat2, whose modes a filter cannot see",
     [] {
       open_how how{};
       how.flags = O_RDONLY;
       return result_of(::syscall(SYS_openat2, AT_FDCWD, "/usr", &how, sizeof how));
     },
     ENOSYS, {}, {.seccomp = ENOSYS}},
});
// clang-format on

// clang-format off
const Area kChanges({
    {"FS-19a", "hard-link a read-only file into a writable folder",
     [] { return result_of(::link(scene_path("ro/file").c_str(), scene_path("rw/hard").c_str())); },
     EXDEV, {}, {.landlock = EXDEV, .structure = EXDEV}},
    {"FS-19b", "hard-link a file of the system into the workspace",
     [] { return result_of(::link("/usr/bin/true", "hard")); }, EXDEV, {kDiffers, kDiffers}, {.structure = EXDEV}},
    {"FS-20a", "move a read-only file into a writable folder",
     [] { return result_of(::rename(scene_path("ro/file").c_str(), scene_path("rw/moved").c_str())); },
     EXDEV, {}, {.landlock = EACCES, .structure = EXDEV}},
    {"FS-20b", "move the folder above a denied path, then read it there",
     [] {
       if (::rename(scene_path("rw/sub").c_str(), scene_path("rw/other").c_str()) != 0) return errno;
       return try_open(scene_path("rw/other/denied"), O_RDONLY);
     },
     EBUSY, {}, {.structure = EBUSY}},
    {"FS-21a", "truncate a host file by path",
     [] { return result_of(::truncate(scene_path("secret").c_str(), 0)); },
     ENOENT, {}, {.landlock = EACCES, .structure = ENOENT}},
    {"FS-21b", "truncate a read-only file by path",
     [] { return result_of(::truncate(scene_path("ro/file").c_str(), 0)); },
     EROFS, {}, {.landlock = EACCES, .structure = EROFS}},
    {"FS-22a", "chmod of a read-only file",
     [] { return result_of(::chmod(scene_path("ro/file").c_str(), 0600)); }, EROFS, {}, {.structure = EROFS}},
    {"FS-22b", "chown of a read-only file",
     [] { return result_of(::chown(scene_path("ro/file").c_str(), ::getuid(), ::getgid())); },
     EROFS, {}, {.structure = EROFS}},
    {"FS-22c", "times of a read-only file",
     [] { return result_of(::utimensat(AT_FDCWD, scene_path("ro/file").c_str(), nullptr, 0)); },
     EROFS, {}, {.structure = EROFS}},
    {"FS-22d", "extended attributes of a read-only file",
     [] { return result_of(::setxattr(scene_path("ro/file").c_str(), "user.x", "1", 1, 0)); },
     EOPNOTSUPP, {}, {.seccomp = EOPNOTSUPP, .structure = EROFS}},
    {"FS-22e", "times of a device node of the host",
     [] { return result_of(::utimensat(AT_FDCWD, "/dev/null", nullptr, 0)); }, EROFS, {}, {.structure = EROFS}},
    // The mode it has: whoever may set that may set another.
    {"FS-22f", "mode of a device node of the host",
     [] { return result_of(::chmod("/dev/null", 0666)); }, EROFS, {kOpen, EPERM}, {.structure = EROFS}},
    {"FS-23a", "make a device node",
     [] { return result_of(::mknod("device", S_IFCHR | 0666, makedev(1, 1))); },
     EPERM, {kOpen, EPERM}, {.seccomp = EPERM, .landlock = EACCES, .structure = EPERM}, "mknodat"},
    {"FS-23b", "make a block device node",
     [] { return result_of(::mknod("device", S_IFBLK | 0666, makedev(254, 0))); },
     EPERM, {kOpen, EPERM}, {.seccomp = EPERM, .landlock = EACCES, .structure = EPERM}, "mknodat"},
    {"FS-23c", "open /dev/kmsg",
     [] { return try_open("/dev/kmsg", O_RDONLY); }, ENOENT, {kDiffers, kDiffers}, {.structure = ENOENT}},
    {"FS-23d", "open /dev/tty",
     [] { return try_open("/dev/tty", O_RDWR); }, ENOENT, {kDiffers, kDiffers}, {.structure = ENOENT}},
    {"FS-24a", "plant a set-uid bit by chmod",
     [] { return result_of(::syscall(SYS_chmod, scene_path("rw/file").c_str(), 04755)); },
     EPERM, {}, {.seccomp = EPERM}, "chmod"},
    {"FS-24b", "plant a set-gid bit by fchmodat",
     [] { return result_of(::syscall(SYS_fchmodat, AT_FDCWD, scene_path("rw/file").c_str(), 02755)); },
     EPERM, {}, {.seccomp = EPERM}, "fchmodat"},
    {"FS-24c", "plant a set-uid file by open",
     [] {
       return result_of(::syscall(SYS_openat, AT_FDCWD, scene_path("rw/suid").c_str(), O_CREAT | O_WRONLY, 04755));
     },
     EPERM, {}, {.seccomp = EPERM}, "openat"},
    {"FS-24d", "plant a set-gid folder by mkdir",
     [] { return result_of(::syscall(SYS_mkdir, scene_path("rw/sgid").c_str(), 02755)); },
     EPERM, {}, {.seccomp = EPERM}, "mkdir"},
    {"FS-24e", "plant a set-uid bit by fchmodat2",
     [] { return result_of(::syscall(452, AT_FDCWD, scene_path("rw/file").c_str(), 04755, 0)); },
     EPERM, {}, {.seccomp = EPERM}, "fchmodat2"},
    {"FS-24f", "plant a set-uid file by creat",
     [] { return result_of(::syscall(SYS_creat, scene_path("rw/suid").c_str(), 04755)); },
     EPERM, {}, {.seccomp = EPERM}, "creat"},
    {"FS-24g", "plant a set-uid file by mknod",
     [] { return result_of(::syscall(SYS_mknod, scene_path("rw/suid").c_str(), S_IFREG | 04755, 0)); },
     EPERM, {}, {.seccomp = EPERM}, "mknod"},
    {"FS-24h", "plant file capabilities",
  
     [] {
       const char* capabilities = "\1\0\0\2\xff\xff\xff\xff\0\0\0\0\0\0\0\0\0\0\0\0";
       return result_of(::setxattr(scene_path("rw/file").c_str(), "security.capability", capabilities, 20, 0));
     },
     EOPNOTSUPP, {kOpen, EPERM}, {.seccomp = EOPNOTSUPP, .structure = EPERM}},
    {"FS-26", "a file in the host's /dev/shm",
     [] { return try_list("/dev/shm") == kOpen ? try_open(::getenv("S_SHM"), O_RDONLY) : -3; },
     ENOENT, {}, {.structure = ENOENT}},
});
// clang-format on

// clang-format off
const Area kKernelFiles({
    {"FS-27a", "core_pattern",
     [] { return try_open("/proc/sys/kernel/core_pattern", O_WRONLY); },
     EROFS, {kOpen, EACCES}, {.landlock = EACCES, .structure = EROFS}},
    {"FS-27b", "address randomisation",
     [] { return try_open("/proc/sys/kernel/randomize_va_space", O_WRONLY); },
     EROFS, {kOpen, EACCES}, {.structure = EROFS}},
    {"FS-27c", "limits of user namespaces",
     [] { return try_open("/proc/sys/user/max_user_namespaces", O_WRONLY); },
     EROFS, {kDiffers, EACCES}, {.landlock = EACCES, .structure = EROFS}},
    {"FS-27d", "the modes of /proc entries",
     [] { return result_of(::chmod("/proc/self/oom_score_adj", 0666)); },
     EROFS, {kDiffers, kDiffers}, {.structure = EROFS}},
    {"FS-27e", "overcommit",
     [] { return try_open("/proc/sys/vm/overcommit_memory", O_WRONLY); },
     EROFS, {kOpen, EACCES}, {.landlock = EACCES, .structure = EROFS}},
    {"FS-27f", "own id map",
     [] { return try_open("/proc/self/uid_map", O_WRONLY); }, EROFS, {}, {.landlock = EACCES, .structure = EROFS}},
    {"FS-28a", "/proc/timer_list",
     [] { return try_open("/proc/timer_list", O_RDONLY); }, EACCES, {kOpen, EACCES}, {.structure = EACCES}},
    {"FS-28b", "/proc/kallsyms",
     [] { return try_open("/proc/kallsyms", O_RDONLY); }, EACCES, {}, {.structure = EACCES}},
    {"FS-28c", "/proc/keys", [] { return try_open("/proc/keys", O_RDONLY); }, EACCES, {}, {.structure = EACCES}},
    {"FS-28d", "/proc/key-users",
     [] { return try_open("/proc/key-users", O_RDONLY); }, EACCES, {}, {.structure = EACCES}},
    {"FS-28e", "the host kernel's command line",
     [] { return try_open("/proc/cmdline", O_RDONLY); }, EACCES, {}, {.structure = EACCES}},
    {"FS-28f", "locks of the host",
     [] { return try_open("/proc/locks", O_RDONLY); }, EACCES, {}, {.structure = EACCES}},
    {"FS-28g", "/sys", [] { return try_list("/sys"); }, ENOENT, {}, {.landlock = EACCES, .structure = ENOENT}},
    {"FS-28h", "/proc/bus", [] { return try_list("/proc/bus"); }, EACCES, {}, {.structure = EACCES}},
    {"FS-28i", "interrupts of the host",
     [] { return try_open("/proc/interrupts", O_RDONLY); }, EACCES, {}, {.structure = EACCES}},
    {"FS-29", "mount a cgroup hierarchy",
     [] { return result_of(::mount("none", ".", "cgroup", 0, "memory")); },
     EPERM, {kDiffers, EPERM, Where::kThrowawayNamespaces}, {.seccomp = EPERM, .structure = EPERM}, "mount"},
    {"FS-30", "leave the limit group",
     [] { return try_open("/sys/fs/cgroup/memory/tasks", O_WRONLY); },
     ENOENT, {kDiffers, kDiffers}, {.structure = ENOENT}},
    {"FS-31a", "mount a tmpfs",
     [] { return result_of(::mount("x", ".", "tmpfs", 0, nullptr)); },
     EPERM, {kOpen, kOpen, Where::kThrowawayNamespaces}, {.seccomp = EPERM, .structure = EPERM}, "mount"},
    {"FS-31b", "open_tree",
     [] { return result_of(::syscall(428, AT_FDCWD, "/usr", 1)); },
     EPERM, {kDiffers, kDiffers, Where::kThrowawayNamespaces}, {.seccomp = EPERM, .structure = EPERM}, "open_tree"},
    {"FS-31c", "fsopen",
     [] { return result_of(::syscall(430, "tmpfs", 0)); },
     EPERM, {kOpen, kOpen, Where::kThrowawayNamespaces}, {.seccomp = EPERM, .structure = EPERM}, "fsopen"},
    {"FS-31d", "move_mount",
     [] { return result_of(::syscall(429, -1, "", -1, "", 0)); },
     EPERM, {kDiffers, kDiffers, Where::kThrowawayNamespaces}, {.seccomp = EPERM, .structure = EPERM}, "move_mount"},
    {"FS-31e", "fspick",
     [] { return result_of(::syscall(433, AT_FDCWD, "/usr", 0)); },
     EPERM, {kDiffers, kDiffers, Where::kThrowawayNamespaces}, {.seccomp = EPERM, .structure = EPERM}, "fspick"},
    {"FS-31f", "mount_setattr",
     [] { return result_of(::syscall(442, -1, "", 0, nullptr, 0)); },
     EPERM, {kDiffers, kDiffers}, {.seccomp = EPERM}, "mount_setattr"},
    {"FS-31g", "umount",
     [] { return result_of(::umount2("/proc/keys", 0)); },
     EPERM, {kDiffers, kDiffers, Where::kThrowawayNamespaces}, {.seccomp = EPERM, .structure = EPERM}, "umount2"},
    {"FS-31h", "pivot_root",
     [] { return result_of(::syscall(SYS_pivot_root, ".", ".")); },
     EPERM, {kDiffers, kDiffers, Where::kThrowawayNamespaces}, {.seccomp = EPERM, .structure = EPERM}, "pivot_root"},
    {"FS-31i", "chroot",
     [] { return result_of(::chroot("/usr")); },
     EPERM, {kOpen, kOpen, Where::kThrowawayNamespaces}, {.seccomp = EPERM, .structure = EPERM}, "chroot"},
    {"FS-32", "turn a read-only mount writable",
     [] { return result_of(::mount(nullptr, "/usr", nullptr, MS_REMOUNT | MS_BIND, nullptr)); },
     EPERM, {kDiffers, kDiffers, Where::kThrowawayNamespaces}, {.seccomp = EPERM, .structure = EPERM}, "mount"},
    {"FS-35a", "a lease on a shared file",
     [] {
       int fd = ::open(scene_path("ro/file").c_str(), O_RDONLY);
       return result_of(::fcntl(fd, F_SETLEASE, F_RDLCK));
     },
     EPERM, {}, {.seccomp = EPERM}, "fcntl"},
    {"FS-35b", "watch a shared folder by F_NOTIFY",
     [] { int fd = ::open(scene_path("ro").c_str(), O_RDONLY); return result_of(::fcntl(fd, F_NOTIFY, DN_ACCESS)); },
     EPERM, {}, {.seccomp = EPERM}, "fcntl"},
    {"FS-38", "tell existing host files from others by stat",
     [] { struct stat st; return result_of(::stat(scene_path("secret").c_str(), &st)); },
     ENOENT, {}, {.structure = ENOENT}},
});
// clang-format on

}  // namespace
}  // namespace hotcell::testing
