// The cell's pid 1. Theory of operation:
//   The launcher clones us into new namespaces and execs us from a sealed memfd with an empty argv and environ, so
//   that no byte of the launcher's memory can be read through /proc/1. We wait for one byte on the control socket (by
//   then the launcher has written our id maps), carry out the plan in kPlanFd operation by operation, fork the
//   program's process, and from then on only reap. The child carries out the rest of the plan, hands the launcher its
//   seccomp listener and waits to be told what to exec: that is a parked cell.
//   A failed operation is one Record on the socket, then exit; the program has not started and never will.
//   When the program ends we send its status and exit, and the kernel kills whatever is left in the namespace. When
//   the launcher is gone (PDEATHSIG, or end of file on the control socket) we exit too.
// Freestanding: static, no C++ library, no malloc. 30 KiB, 0.1 ms to start; a glibc program pays 0.3 ms more.
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "core/kernel/apply.h"
#include "core/kernel/seccomp_apply.h"
#include "core/launch/init_filter.h"
#include "sys/uapi/mount.h"

namespace hotcell {
namespace {

ApplyContext g_ctx;
const PlanHeader* g_plan;
const Op* g_ops;
Record g_record;

uint64_t now_ns() {
  timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return static_cast<uint64_t>(t.tv_sec) * 1000000000u + static_cast<uint64_t>(t.tv_nsec);
}

[[noreturn]] void fail(int socket, int op, int err) {
  g_record.type = RecordType::kFailed;
  g_record.op = op;
  g_record.err = err;
  send(socket, &g_record, offsetof(Record, op_ns), MSG_NOSIGNAL);
  _exit(70);
}

bool send_with_fds(int socket, const void* bytes, size_t size, const int* fds, unsigned count) {
  iovec iov = {const_cast<void*>(bytes), size};
  alignas(cmsghdr) char control[CMSG_SPACE(sizeof(int) * 4)];
  memset(control, 0, sizeof control);
  msghdr msg;
  memset(&msg, 0, sizeof msg);
  msg.msg_iov = &iov;
  msg.msg_iovlen = 1;
  if (count > 0) {
    msg.msg_control = control;
    msg.msg_controllen = CMSG_SPACE(sizeof(int) * count);
    cmsghdr* c = CMSG_FIRSTHDR(&msg);
    c->cmsg_level = SOL_SOCKET;
    c->cmsg_type = SCM_RIGHTS;
    c->cmsg_len = CMSG_LEN(sizeof(int) * count);
    memcpy(CMSG_DATA(c), fds, sizeof(int) * count);
  }
  return sendmsg(socket, &msg, MSG_NOSIGNAL) == static_cast<ssize_t>(size);
}

int run_op(const Op& op) {
  switch (static_cast<OpKind>(op.kind)) {
    case OpKind::kLsmExec: return apply_lsm_exec(g_ctx, op);
    case OpKind::kDeathSignal: return prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0) < 0 ? -errno : 0;
    case OpKind::kSubreaper: return prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0) < 0 ? -errno : 0;
    case OpKind::kJoinCgroup: return apply_join_cgroup(g_ctx, op);
    case OpKind::kUnshare: return unshare(static_cast<int>(op.a)) < 0 ? -errno : 0;
    case OpKind::kIdentity: return apply_identity(g_ctx, op);
    case OpKind::kHostname: return apply_hostname(g_ctx, op);
    case OpKind::kLoopbackUp: return apply_loopback_up(g_ctx, op);
    case OpKind::kPrivateMounts: return apply_private_mounts(g_ctx, op);
    case OpKind::kOpenTree: return apply_open_tree(g_ctx, op);
    case OpKind::kMountAttr: return apply_mount_attr(g_ctx, op);
    case OpKind::kRootTmpfs: return apply_root_tmpfs(g_ctx, op);
    case OpKind::kMkdir: return apply_mkdir(g_ctx, op);
    case OpKind::kMkfile: return apply_mkfile(g_ctx, op);
    case OpKind::kSymlink: return apply_symlink(g_ctx, op);
    case OpKind::kRmdir: return apply_rmdir(g_ctx, op);
    case OpKind::kMoveMount: return apply_move_mount(g_ctx, op);
    case OpKind::kMountProc: return apply_mount_proc(g_ctx, op);
    case OpKind::kMountDevpts: return apply_mount_devpts(g_ctx, op);
    case OpKind::kBindSelf: return apply_bind_self(g_ctx, op);
    case OpKind::kMask: return apply_mask(g_ctx, op);
    case OpKind::kHoldTree: return apply_hold_tree(g_ctx, op);
    case OpKind::kUnlink: return unlink(g_ctx.text(op.path)) < 0 ? -errno : 0;
    case OpKind::kPivotRoot: return apply_pivot_root(g_ctx, op);
    case OpKind::kReadOnlyRoot: return apply_read_only_root(g_ctx, op);
    case OpKind::kRlimit: return apply_rlimit(g_ctx, op);
    case OpKind::kDropCaps: return apply_drop_caps(g_ctx, op);
    case OpKind::kNoNewPrivs: return apply_no_new_privs(g_ctx, op);
    case OpKind::kRuleset: return apply_ruleset(g_ctx, op);
    case OpKind::kPathRule: return apply_path_rule(g_ctx, op);
    case OpKind::kPortRule: return apply_port_rule(g_ctx, op);
    case OpKind::kRestrict: return apply_restrict(g_ctx, op);
    case OpKind::kSession: return setsid() < 0 ? -errno : 0;
    case OpKind::kChdir: return chdir(g_ctx.text(op.path)) < 0 ? -errno : 0;
    case OpKind::kFork:
    case OpKind::kSeccomp:
    case OpKind::kExec: break;
  }
  return -EINVAL;  // an operation this init does not know is a plan from another version
}

void run_checked(int socket, unsigned index) {
  uint64_t before = now_ns();
  int result = static_cast<int>(index) == g_plan->fault_op ? -g_plan->fault_errno : run_op(g_ops[index]);
  if (result < 0) fail(socket, static_cast<int>(index), -result);
  uint64_t took = now_ns() - before;
  g_record.op_ns[index] = took > 0xffffffffu ? 0xffffffffu : static_cast<uint32_t>(took);
}

char g_exec_bytes[sizeof(ExecHeader) + kExecInline];

// Waits for the launcher's word on what to run. End of file: the launcher is gone or does not want this cell.
const char* receive_exec(ExecHeader& header) {
  iovec iov = {g_exec_bytes, sizeof g_exec_bytes};
  alignas(cmsghdr) char control[CMSG_SPACE(sizeof(int))];
  msghdr msg;
  memset(&msg, 0, sizeof msg);
  msg.msg_iov = &iov;
  msg.msg_iovlen = 1;
  msg.msg_control = control;
  msg.msg_controllen = sizeof control;
  ssize_t n;
  do n = recvmsg(kProgFd, &msg, MSG_CMSG_CLOEXEC);
  while (n < 0 && errno == EINTR);
  if (n < static_cast<ssize_t>(sizeof header)) _exit(71);
  memcpy(&header, g_exec_bytes, sizeof header);
  if (header.magic != kExecMagic) _exit(71);
  if (!header.in_memfd) {
    if (sizeof header + header.bytes != static_cast<size_t>(n)) _exit(71);
    return g_exec_bytes + sizeof header;
  }
  cmsghdr* c = CMSG_FIRSTHDR(&msg);
  if (c == nullptr || c->cmsg_type != SCM_RIGHTS) _exit(71);
  int fd;
  memcpy(&fd, CMSG_DATA(c), sizeof fd);
  void* map = mmap(nullptr, header.bytes, PROT_READ, MAP_PRIVATE, fd, 0);
  close(fd);
  if (map == MAP_FAILED) _exit(71);
  return static_cast<const char*>(map);
}

// execve, or execvpe along the PATH the program will have. Returns the errno worth reporting.
int exec_program(char** argv, char** envp) {
  if (strchr(argv[0], '/') != nullptr) {
    execve(argv[0], argv, envp);
    return errno;
  }
  const char* path = "/usr/local/bin:/usr/bin:/bin";
  for (char** e = envp; *e != nullptr; ++e)
    if (strncmp(*e, "PATH=", 5) == 0) path = *e + 5;
  int worst = ENOENT;
  size_t name_len = strlen(argv[0]);
  char full[4096];
  while (*path != 0) {
    const char* end = strchr(path, ':');
    size_t len = end != nullptr ? static_cast<size_t>(end - path) : strlen(path);
    if (len > 0 && len + name_len + 2 <= sizeof full) {
      memcpy(full, path, len);
      full[len] = '/';
      memcpy(full + len + 1, argv[0], name_len + 1);
      execve(full, argv, envp);
      if (errno != ENOENT && errno != ENOTDIR) worst = errno;
      if (worst == E2BIG || worst == ENOEXEC) return worst;
    }
    if (end == nullptr) break;
    path = end + 1;
  }
  return worst;
}

[[noreturn]] void become_program(unsigned first, const sigset_t& no_signals) {
  unsigned count = g_plan->op_count;
  close(kCtlFd);
  syscall(SYS_close_range, kPlanFd, kLockFd, 0);
  int listener = -1;
  for (unsigned i = first; i < count; ++i) {
    const Op& op = g_ops[i];
    auto kind = static_cast<OpKind>(op.kind);
    if (kind == OpKind::kSeccomp) {
      uint64_t before = now_ns();
      // Signals start clean whatever the launcher had ignored or blocked.
      for (int s = 1; s < _NSIG; ++s) {
        struct sigaction standard;
        memset(&standard, 0, sizeof standard);
        if (s != SIGKILL && s != SIGSTOP) sigaction(s, &standard, nullptr);
      }
      sigprocmask(SIG_SETMASK, &no_signals, nullptr);
      if (static_cast<int>(i) == g_plan->fault_op) fail(kProgFd, static_cast<int>(i), g_plan->fault_errno);
      int result = apply_seccomp(g_ctx.base + op.data, op.data_len / 8, (op.flags & kWantListener) != 0);
      if (result < 0) fail(kProgFd, static_cast<int>(i), -result);
      if (op.flags & kWantListener) listener = result;
      g_record.op_ns[i] = static_cast<uint32_t>(now_ns() - before);
    } else if (kind != OpKind::kExec) {
      run_checked(kProgFd, i);
    }
  }
  g_record.type = RecordType::kReady;
  int fds[2];
  unsigned fd_count = 0;
  int work = g_ctx.slots[kWorkSlot];
  if (work >= 0) fds[fd_count++] = work;
  if (listener >= 0) fds[fd_count++] = listener;
  g_record.status = (work >= 0 ? 1 : 0) | (listener >= 0 ? 2 : 0);
  if (!send_with_fds(kProgFd, &g_record, offsetof(Record, op_ns) + count * sizeof(uint32_t), fds, fd_count)) _exit(72);
  // A listener in the program's own hands would let it answer its own denials.
  syscall(SYS_close_range, kPlanFd, ~0u, 0);

  ExecHeader header;
  const char* strings = receive_exec(header);
  static char* few[512];
  char** pointers = few;
  size_t needed = static_cast<size_t>(header.argc) + header.envc + 2;
  if (needed > sizeof few / sizeof few[0]) {
    void* map = mmap(nullptr, needed * sizeof(char*), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (map == MAP_FAILED) fail(kProgFd, static_cast<int>(count - 1), errno);
    pointers = static_cast<char**>(map);
  }
  const char* at = strings;
  size_t out = 0;
  for (unsigned list = 0; list < 2; ++list) {
    unsigned n = list == 0 ? header.argc : header.envc;
    for (unsigned i = 0; i < n; ++i, at += strlen(at) + 1) pointers[out++] = const_cast<char*>(at);
    pointers[out++] = nullptr;
  }
  if (header.workdir && chdir(at) < 0) fail(kProgFd, -1, errno);
  if (static_cast<int>(count - 1) == g_plan->fault_op) fail(kProgFd, static_cast<int>(count - 1), g_plan->fault_errno);
  // kProgFd is close-on-exec: end of file on it is how the launcher learns that exec succeeded.
  fail(kProgFd, static_cast<int>(count - 1), exec_program(pointers, pointers + header.argc + 1));
}

void report_exit(int status, const rusage& usage) {
  g_record.type = RecordType::kExited;
  g_record.status = status;
  g_record.user_us = static_cast<uint64_t>(usage.ru_utime.tv_sec) * 1000000u + static_cast<uint64_t>(usage.ru_utime.tv_usec);
  g_record.system_us = static_cast<uint64_t>(usage.ru_stime.tv_sec) * 1000000u + static_cast<uint64_t>(usage.ru_stime.tv_usec);
  g_record.max_rss_kib = static_cast<uint64_t>(usage.ru_maxrss);
  send(kCtlFd, &g_record, offsetof(Record, op_ns), MSG_NOSIGNAL);
}

// Without a pid namespace nobody kills our descendants for us. As their subreaper every orphan becomes our child, so
// killing all children until there are none left ends the whole tree, however it was forked.
void kill_descendants() {
  char path[64] = "/proc/self/task/";
  char* end = path + strlen(path);
  for (long n = getpid(), digits = 1; digits; digits = 0) {
    char text[20];
    int len = 0;
    do text[len++] = static_cast<char>('0' + n % 10);
    while ((n /= 10) > 0);
    while (len > 0) *end++ = text[--len];
  }
  memcpy(end, "/children", 10);
  for (;;) {
    char buffer[4096];
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    ssize_t got = fd >= 0 ? read(fd, buffer, sizeof buffer) : -1;
    if (fd >= 0) close(fd);
    long pid = 0;
    for (ssize_t i = 0; i < got; ++i) {
      if (buffer[i] >= '0' && buffer[i] <= '9') pid = pid * 10 + (buffer[i] - '0');
      else if (pid > 1) { kill(static_cast<pid_t>(pid), SIGKILL); pid = 0; }
    }
    if (waitpid(-1, nullptr, got > 0 ? 0 : WNOHANG) < 0 && errno == ECHILD) return;
  }
}

[[noreturn]] void watch(int program, int signals) {
  pollfd fds[2] = {{kCtlFd, POLLIN, 0}, {signals, POLLIN, 0}};
  for (;;) {
    if (poll(fds, 2, -1) < 0) continue;
    bool ended = (fds[0].revents & (POLLIN | POLLHUP | POLLERR)) != 0;  // the launcher says nothing after "go": it is gone
    if (fds[1].revents & POLLIN) {
      signalfd_siginfo info;
      (void)!read(signals, &info, sizeof info);
      int status;
      rusage usage;
      for (int pid; (pid = wait4(-1, &status, WNOHANG, &usage)) > 0;) {
        if (pid != program) continue;
        if (g_plan->flat) kill_descendants();
        report_exit(status, usage);
        _exit(0);
      }
    }
    if (ended) {
      if (g_plan->flat) kill_descendants();
      _exit(0);
    }
  }
}

[[noreturn]] void init() {
  struct stat st;
  if (fstat(kPlanFd, &st) < 0 || st.st_size < static_cast<off_t>(sizeof(PlanHeader))) _exit(73);
  void* map = mmap(nullptr, static_cast<size_t>(st.st_size), PROT_READ, MAP_SHARED, kPlanFd, 0);
  if (map == MAP_FAILED) _exit(73);
  g_ctx.base = static_cast<const char*>(map);
  g_plan = static_cast<const PlanHeader*>(map);
  g_ops = reinterpret_cast<const Op*>(g_ctx.base + sizeof(PlanHeader));
  if (g_plan->magic != kPlanMagic || g_plan->op_count > kMaxOps || g_plan->inherited > kMaxSlots) _exit(73);
  for (unsigned i = 0; i < kMaxSlots; ++i) g_ctx.slots[i] = i < g_plan->inherited ? static_cast<int>(kFirstInheritedFd + i) : -1;
  fcntl(kProgFd, F_SETFD, FD_CLOEXEC);

  char go;
  ssize_t n;
  do n = recv(kCtlFd, &go, 1, 0);
  while (n < 0 && errno == EINTR);
  if (n != 1) _exit(74);
  // Only now: a process that is not dumpable has a /proc that its unprivileged launcher cannot write id maps through.
  prctl(PR_SET_DUMPABLE, 0, 0, 0, 0);
  umask(022);
  // A launcher that runs before others is no reason for its cells to.
  errno = 0;
  if (getpriority(PRIO_PROCESS, 0) < 0 && errno == 0) setpriority(PRIO_PROCESS, 0, 0);

  unsigned i = 0;
  for (; i < g_plan->op_count && static_cast<OpKind>(g_ops[i].kind) != OpKind::kFork; ++i) run_checked(kCtlFd, i);

  sigset_t mask, none;
  sigemptyset(&none);
  sigfillset(&mask);
  sigprocmask(SIG_SETMASK, &mask, nullptr);
  sigset_t child_only;
  sigemptyset(&child_only);
  sigaddset(&child_only, SIGCHLD);
  int signals = signalfd(-1, &child_only, SFD_CLOEXEC);
  if (signals < 0) fail(kCtlFd, static_cast<int>(i), errno);
  if (static_cast<int>(i) == g_plan->fault_op) fail(kCtlFd, static_cast<int>(i), g_plan->fault_errno);
  int program = fork();
  if (program < 0) fail(kCtlFd, static_cast<int>(i), errno);
  if (program == 0) {
    close(signals);
    become_program(i + 1, none);
  }
  // The plan's mapping stays (watch reads `flat`); the descriptors go.
  constexpr int kNotOurs[] = {0, 1, 2, kProgFd, kPlanFd};
  for (int fd : kNotOurs) close(fd);
  for (unsigned s = 0; s < kMaxSlots; ++s)
    if (g_ctx.slots[s] >= 0) close(g_ctx.slots[s]);
  if (!g_plan->flat && apply_seccomp(kInitFilter, kInitFilterCount, 0) < 0) _exit(75);
  watch(program, signals);
}

}  // namespace
}  // namespace hotcell

int main() { hotcell::init(); }
