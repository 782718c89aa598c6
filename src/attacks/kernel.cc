// The kernel's surface: calls no ordinary program needs, other ways in (ia32, x32), and more privilege.
#include <fcntl.h>
#include <linux/capability.h>
#include <sched.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

#include "attack.h"

namespace attack {
namespace {

// With arguments that are wrong on purpose: EPERM or ENOSYS is a refusal at the door, EINVAL, EFAULT or EBADF means
// that the call got in.
void knock(Tries& t, const char* what, long number, long a = 0, long b = 0, long c = 0, long d = 0, long e = 0,
           const Errors& refusals = kRefused) {
  long r = syscall(number, a, b, c, d, e, 0L);
  if (r < 0 && !refusals.has(errno)) t.went_through(what);
  else t.did(what, r, refusals);
}

Outcome mounting(const Args&) {
  Tries t;
  t.did("mount tmpfs", mount("none", "/tmp", "tmpfs", 0, nullptr), kRefused);
  t.did("remount rw", mount(nullptr, "/usr", nullptr, MS_REMOUNT | MS_BIND, nullptr), kRefused);
  t.did("bind", mount("/", "/tmp", nullptr, MS_BIND | MS_REC, nullptr), kRefused);
  t.did("umount", umount2("/proc", MNT_DETACH), kRefused);
  t.did("pivot_root", syscall(SYS_pivot_root, "/tmp", "/tmp"), kRefused);
  t.did("chroot", chroot("/tmp"), kRefused);
  return t.outcome();
}

Outcome new_mount_api(const Args&) {
  Tries t;
  const long path = reinterpret_cast<long>("/tmp"), fs = reinterpret_cast<long>("tmpfs");
  knock(t, "open_tree", SYS_open_tree, AT_FDCWD, path, 1);
  knock(t, "fsopen", SYS_fsopen, fs, 0);
  knock(t, "fsmount", SYS_fsmount, -1);
  knock(t, "fsconfig", SYS_fsconfig, -1, 6);
  knock(t, "fspick", SYS_fspick, AT_FDCWD, path, 0);
  knock(t, "move_mount", SYS_move_mount, -1, path, -1, path);
  knock(t, "mount_setattr", SYS_mount_setattr, AT_FDCWD, path);
  return t.outcome();
}

long clone_with(unsigned long flags) {
  long pid = syscall(SYS_clone, flags | SIGCHLD, nullptr, nullptr, nullptr, nullptr);
  if (pid == 0) _exit(0);
  return pid;
}

Outcome user_namespace(const Args&) {
  constexpr Errors kNo = errors(EPERM, EACCES, ENOSYS, ENOSPC, EUSERS);
  Tries t;
  t.did("clone", clone_with(CLONE_NEWUSER), kNo);
  uint64_t args[11] = {CLONE_NEWUSER, 0, 0, 0, SIGCHLD};
  long pid = syscall(SYS_clone3, args, sizeof args);
  if (pid == 0) _exit(0);
  t.did("clone3", pid, kNo);
  t.did("clone mount", clone_with(CLONE_NEWNS), kNo);
  t.did("unshare", unshare(CLONE_NEWUSER), kNo);
  t.did("unshare mount", unshare(CLONE_NEWNS), kNo);
  t.did("unshare net", unshare(CLONE_NEWNET), kNo);
  return t.outcome();
}

Outcome io_uring(const Args&) {
  unsigned char params[120] = {};
  Tries t;
  t.did("io_uring_setup", syscall(SYS_io_uring_setup, 1, params), kRefused);
  knock(t, "io_uring_enter", SYS_io_uring_enter, -1, 0, 0, 0);
  knock(t, "io_uring_register", SYS_io_uring_register, -1, 0);
  return t.outcome();
}

Outcome bpf(const Args&) {
  uint32_t attr[32] = {1 /* hash */, 4, 4, 1};
  Tries t;
  t.did("bpf map", syscall(SYS_bpf, 0, attr, sizeof attr), kRefused);
  return t.outcome();
}

Outcome keyrings(const Args&) {
  Tries t;
  t.did("keyctl", syscall(SYS_keyctl, 0, -3, 1), kRefused);
  t.did("add_key", syscall(SYS_add_key, "user", "attack", "x", 1, -2), kRefused);
  knock(t, "request_key", SYS_request_key);
  return t.outcome();
}

Outcome perf(const Args&) {
  uint64_t attr[16] = {};
  attr[0] = 1 | (static_cast<uint64_t>(sizeof attr) << 32);  // a software event
  Tries t;
  t.did("perf_event_open", syscall(SYS_perf_event_open, attr, 0, -1, -1, 0), kRefused);
  return t.outcome();
}

Outcome page_faults(const Args&) {
  Tries t;
  t.did("userfaultfd", syscall(SYS_userfaultfd, O_CLOEXEC), kRefused);
  t.did("userfaultfd user mode", syscall(SYS_userfaultfd, O_CLOEXEC | 1), kRefused);
  return t.outcome();
}

Outcome modules(const Args&) {
  Tries t;
  knock(t, "init_module", SYS_init_module);
  knock(t, "finit_module", SYS_finit_module, -1);
  knock(t, "delete_module", SYS_delete_module, reinterpret_cast<long>("no_such_module"), O_NONBLOCK);
  knock(t, "kexec_load", SYS_kexec_load, 0, 17);
  knock(t, "quotactl", SYS_quotactl, -1);
  knock(t, "swapon", SYS_swapon);
  knock(t, "acct", SYS_acct, reinterpret_cast<long>("/no/such/file"));
  knock(t, "fanotify_init", SYS_fanotify_init, -1);
  knock(t, "lookup_dcookie", SYS_lookup_dcookie);
  knock(t, "iopl", SYS_iopl, 3);
  return t.outcome();
}

void call_ia32() {
#if defined(__x86_64__)
  long result;
  asm volatile("int $0x80" : "=a"(result) : "a"(20L) : "memory", "r8", "r9", "r10", "r11");  // getpid
  _exit(result > 0 ? 3 : 4);
#else
  _exit(5);
#endif
}
void call_x32() {
#if defined(__x86_64__)
  long r = syscall(0x40000000L | SYS_getpid);
  _exit(r > 0 ? 3 : 4);
#else
  _exit(5);
#endif
}

// A filter that only knows 64-bit numbers sees something else entirely behind these two doors.
Outcome foreign(void (*body)(), const char* what) {
  int end = in_child(body);
  if (end == 0) return unclear("fork %s", errno_name(errno));
  if (end == SIGSYS) return blocked("%s SIGSYS", what);
  if (end == SIGSEGV || end == -5) return blocked("%s is not in this kernel", what);
  if (end == -4) return open("%s getpid answered", what);
  if (end == -6) return blocked("%s does not exist on this processor", what);
  return unclear("%s ended with %d", what, end);
}
Outcome ia32(const Args&) { return foreign(call_ia32, "int 0x80"); }
Outcome x32(const Args&) { return foreign(call_x32, "x32"); }

// Newer than most filters: what a list of forbidden calls has never heard of gets in.
Outcome unknown_syscalls(const Args&) {
  struct Call {
    long number;
    const char* name;
  };
  constexpr Call kNew[] = {
      {457, "statmount"},        {458, "listmount"},  {459, "lsm_get_self_attr"}, {460, "lsm_set_self_attr"},
      {461, "lsm_list_modules"}, {463, "setxattrat"}, {466, "removexattrat"},     {467, "open_tree_attr"},
      {469, "file_setattr"},     {470, "listns"}};
  Tries t;
  for (const Call& c : kNew) {
    // No filesystem is reached with such arguments, so that an "extended attributes are not supported" is the filter's.
    const bool attributes = c.number == 463 || c.number == 466;
    knock(t, c.name, c.number, -1, -1, -1, -1, -1, attributes ? errors(EPERM, ENOSYS, EOPNOTSUPP) : kRefused);
  }
  for (long n : List<long>{471, 500, 600, 1000, 4096, 0x3fffffff}) {
    char name[24];
    snprintf(name, sizeof name, "%ld", n);
    knock(t, name, n);
  }
  return t.outcome();
}

Outcome time_set(const Args&) {
  Tries t;
  timespec now{};
  clock_gettime(CLOCK_REALTIME, &now);
  t.did("clock_settime", clock_settime(CLOCK_REALTIME, &now), kRefused);
  timeval tv{now.tv_sec, now.tv_nsec / 1000};
  t.did("settimeofday", settimeofday(&tv, nullptr), kRefused);
  t.did("sethostname", sethostname("attack", 6), kRefused);
  return t.outcome();
}

// On whatever stdin is: a filter answers EPERM before the kernel finds out that it is no terminal.
Outcome terminal(const Args&) {
  Tries t;
  char c = '\n';
  t.did("TIOCSTI", syscall(SYS_ioctl, 0, TIOCSTI, &c), kRefused);
  t.did("TIOCSTI with high bits", syscall(SYS_ioctl, 0, 0xdeadbeef00000000UL | TIOCSTI, &c), kRefused);
  c = 3;
  t.did("TIOCLINUX", syscall(SYS_ioctl, 0, TIOCLINUX, &c), kRefused);
  int tty = ::open("/dev/tty", O_RDWR | O_CLOEXEC | O_NOCTTY);
  t.did("/dev/tty", tty, kHidden);
  if (tty >= 0) close(tty);
  return t.outcome();
}

Outcome privilege(const Args&) {
  // EINVAL: root is not mapped in this user namespace, so there is no such user to become.
  constexpr Errors kNo = errors(EPERM, EINVAL, EACCES, ENOSYS);
  Tries t;
  if (geteuid() == 0) t.went_through("already root");
  t.did("setuid 0", setuid(0), kNo);
  t.did("setresuid 0", syscall(SYS_setresuid, 0, 0, 0), kNo);
  t.did("setgid 0", setgid(0), kNo);
  gid_t root = 0;
  t.did("setgroups", syscall(SYS_setgroups, 1, &root), kNo);
  __user_cap_header_struct header{_LINUX_CAPABILITY_VERSION_3, 0};
  __user_cap_data_struct data[2] = {{~0U, ~0U, ~0U}, {0x1ffU, 0x1ffU, 0x1ffU}};
  t.did("capset", syscall(SYS_capset, &header, data), kNo);
  t.did("ambient", prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_RAISE, CAP_SYS_ADMIN, 0, 0), kNo);
  memset(data, 0, sizeof data);
  if (syscall(SYS_capget, &header, data) == 0 && (data[0].effective | data[0].permitted | data[1].effective) != 0)
    t.went_through("capabilities are held");
  // Without it every setuid program on the host is a way up.
  int nnp = prctl(PR_GET_NO_NEW_PRIVS, 0, 0, 0, 0);
  if (nnp == 1) t.refused("no_new_privs", "set");
  else t.went_through("no_new_privs is not set");
  return t.outcome();
}

constexpr Attack kList[] = {
    {"privilege", "become root, raise capabilities", privilege},
    {"mount", "mount, remount, umount, pivot_root, chroot", mounting},
    {"new-mount-api", "open_tree, fsopen, move_mount …", new_mount_api},
    {"user-namespace", "a nested one, by clone, clone3 and unshare", user_namespace},
    {"io-uring", "system calls without system calls", io_uring},
    {"bpf", "a map", bpf},
    {"keyctl", "kernel keyrings", keyrings},
    {"perf", "perf_event_open", perf},
    {"userfaultfd", "hold the kernel at a page fault", page_faults},
    {"kernel-module", "modules, kexec, quotas, swap, accounting, ports", modules},
    {"ia32", "int 0x80", ia32},
    {"x32", "the x32 numbers", x32},
    {"unknown-syscalls", "numbers newer than most filters", unknown_syscalls},
    {"time-set", "clock and host name", time_set},
    {"tiocsti", "type into the operator's terminal", terminal},
};

}  // namespace

const Family kKernel = {kList, sizeof kList / sizeof kList[0]};

}  // namespace attack
