// The cell's pid 1. Theory of operation:
//   The launcher clones us into new namespaces and execs us from a sealed memfd with an empty argv and environ, so
//   that no byte of the launcher's memory can be read through /proc/1. We wait for one byte on the control socket (by
//   then the launcher has written our id maps): it says whether to be a template (init_template.cc) or a cell. A cell
//   carries out the plan in kPlanFd operation by operation, or what a template has left of it, forks the program's
//   process, and from then on only reaps. The child carries out the rest of the plan, hands the launcher its
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
#include <sys/eventfd.h>
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
#include "core/launch/init_exec.h"
#include "core/launch/init.h"
#include "core/launch/init_filter.h"
#include "sys/uapi/mount.h"

namespace hotcell {

ApplyContext g_ctx;
const PlanHeader* g_plan;
const Op* g_ops;
Record g_record;
bool g_plan_is_low;

// Beside the record, so that a cell writes to one page and not to two.
static Role g_role;
static uint64_t g_before;  // when what is being timed began: one reading of the clock ends one and begins the next
static int g_timed;        // the operation that gets the time; -1: none

[[noreturn]] void fail(int socket, int op, int err) {
  g_record.type = RecordType::kFailed;
  g_record.op = op;
  g_record.err = err;
  send(socket, &g_record, offsetof(Record, op_ns), MSG_NOSIGNAL);
  _exit(70);
}

ssize_t receive_with_fds(int socket, void* bytes, size_t size, int* fds, unsigned most, unsigned& count) {
  constexpr unsigned kMost = 32;
  iovec iov = {bytes, size};
  alignas(cmsghdr) char control[CMSG_SPACE(sizeof(int) * kMost)];
  msghdr msg;
  memset(&msg, 0, sizeof msg);
  msg.msg_iov = &iov;
  msg.msg_iovlen = 1;
  msg.msg_control = control;
  msg.msg_controllen = CMSG_SPACE(sizeof(int) * (most < kMost ? most : kMost));
  ssize_t n;
  do n = recvmsg(socket, &msg, MSG_CMSG_CLOEXEC);
  while (n < 0 && errno == EINTR);
  count = 0;
  if (msg.msg_flags & MSG_CTRUNC) return -1;
  if (cmsghdr* c = n < 0 ? nullptr : CMSG_FIRSTHDR(&msg); c != nullptr && c->cmsg_type == SCM_RIGHTS) {
    count = static_cast<unsigned>((c->cmsg_len - CMSG_LEN(0)) / sizeof(int));
    memcpy(fds, CMSG_DATA(c), count * sizeof(int));
  }
  return n;
}

void clean_signals() {
  for (int s = 1; s < _NSIG; ++s) {
    struct sigaction standard;
    memset(&standard, 0, sizeof standard);
    if (s != SIGKILL && s != SIGSTOP) sigaction(s, &standard, nullptr);
  }
}

namespace {

// The program's process shares our memory until it execs, errno included, so from its birth on we make system calls by
// hand.
long raw(long number, long a = 0, long b = 0, long c = 0, long d = 0, long e = 0, long f = 0) {
#if defined(__x86_64__)
  long result;
  register long r10 __asm__("r10") = d;
  register long r8 __asm__("r8") = e;
  register long r9 __asm__("r9") = f;
  __asm__ volatile("syscall" : "=a"(result) : "a"(number), "D"(a), "S"(b), "d"(c), "r"(r10), "r"(r8), "r"(r9) : "rcx", "r11", "memory");
  return result;
#else
  register long x8 __asm__("x8") = number;
  register long x0 __asm__("x0") = a;
  register long x1 __asm__("x1") = b;
  register long x2 __asm__("x2") = c;
  register long x3 __asm__("x3") = d;
  register long x4 __asm__("x4") = e;
  register long x5 __asm__("x5") = f;
  __asm__ volatile("svc #0" : "+r"(x0) : "r"(x8), "r"(x1), "r"(x2), "r"(x3), "r"(x4), "r"(x5) : "memory");
  return x0;
#endif
}
template <typename T>
long at(T* pointer) { return reinterpret_cast<long>(pointer); }

// Not by way of the vdso: its pages and their tables would be a stamped cell's for good.
uint64_t now_ns() {
  timespec t;
  raw(SYS_clock_gettime, CLOCK_MONOTONIC, at(&t));
  return static_cast<uint64_t>(t.tv_sec) * 1000000000u + static_cast<uint64_t>(t.tv_nsec);
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

// A stamped cell inherits its template's session, which has no terminal: a group of its own is enough, and does without
// the scheduler group that the kernel makes for each session (0.1 ms).
int apply_session() {
  return (g_role == Role::kStamped ? setpgid(0, 0) : setsid()) < 0 ? -errno : 0;
}

int run_op(const Op& op) {
  switch (static_cast<OpKind>(op.kind)) {
    case OpKind::kLsmExec: return apply_lsm_exec(g_ctx, op);
    case OpKind::kDeathSignal: return prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0) < 0 ? -errno : 0;
    case OpKind::kSubreaper: return prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0) < 0 ? -errno : 0;
    case OpKind::kJoinCgroup: return apply_join_cgroup(g_ctx, op);
    case OpKind::kUnshare: return unshare(static_cast<int>(op.a)) < 0 ? -errno : 0;
    case OpKind::kIdentity: return apply_identity(g_ctx, op);
    case OpKind::kHoldProc: return apply_hold_proc(g_ctx, op);
    case OpKind::kMountIdleProc: return apply_mount_idle_proc(g_ctx, op);
    case OpKind::kOwnUser: return apply_own_user(g_ctx, op);
    case OpKind::kUserLimits: return apply_user_limits(g_ctx, op);
    case OpKind::kHostname: return apply_hostname(g_ctx, op);
    case OpKind::kLoopbackUp: return apply_loopback_up(g_ctx, op);
    case OpKind::kDoor: return apply_door(g_ctx, op);
    case OpKind::kPrivateMounts: return apply_private_mounts(g_ctx, op);
    case OpKind::kOpenTree: return apply_open_tree(g_ctx, op);
    case OpKind::kMountAttr: return apply_mount_attr(g_ctx, op);
    case OpKind::kStage: return apply_stage(g_ctx, op);
    case OpKind::kMkdir: return apply_mkdir(g_ctx, op);
    case OpKind::kMkfile: return apply_mkfile(g_ctx, op);
    case OpKind::kSymlink: return apply_symlink(g_ctx, op);
    case OpKind::kMoveMount: return apply_move_mount(g_ctx, op);
    case OpKind::kMountProc: return apply_mount_proc(g_ctx, op);
    case OpKind::kMountDevpts: return apply_mount_devpts(g_ctx, op);
    case OpKind::kOverlay: return apply_overlay(g_ctx, op);
    case OpKind::kBind: return apply_bind(g_ctx, op);
    case OpKind::kMask: return apply_mask(g_ctx, op);
    case OpKind::kHoldFolder: return apply_hold_folder(g_ctx, op);
    case OpKind::kPivotRoot: return apply_pivot_root(g_ctx, op);
    case OpKind::kReadOnly: return apply_read_only(g_ctx, op);
    case OpKind::kMountTmpfs: return apply_mount_tmpfs(g_ctx, op);
    case OpKind::kRlimit: return apply_rlimit(g_ctx, op);
    case OpKind::kDropCaps: return apply_drop_caps(g_ctx, op);
    case OpKind::kNoNewPrivs: return apply_no_new_privs(g_ctx, op);
    case OpKind::kRuleset: return apply_ruleset(g_ctx, op);
    case OpKind::kPathRule: return apply_path_rule(g_ctx, op);
    case OpKind::kPortRule: return apply_port_rule(g_ctx, op);
    case OpKind::kRestrict: return apply_restrict(g_ctx, op);
    case OpKind::kSession: return apply_session();
    case OpKind::kChdir: return chdir(g_ctx.text(op.path)) < 0 ? -errno : 0;
    case OpKind::kTemplateEnd:
    case OpKind::kFork:
    case OpKind::kRoomForFiles:
    case OpKind::kSeccomp:
    case OpKind::kExec: break;
  }
  return -EINVAL;  // an operation this init does not know is a plan from another version
}

void begin_timing() {
  g_before = now_ns();
  g_timed = -1;
}

void settle_time() {
  uint64_t now = now_ns(), took = now - g_before;
  if (g_timed >= 0) g_record.op_ns[g_timed] = took > 0xffffffffu ? 0xffffffffu : static_cast<uint32_t>(took);
  g_before = now;
  g_timed = -1;
}

// Reports speak of layers: the clock is read where another layer begins, and the last operation of a row gets its time.
void time_op(unsigned index) {
  if (g_timed >= 0 && g_ops[g_timed].layer != g_ops[index].layer) settle_time();
  g_timed = static_cast<int>(index);
}

void run_checked(int socket, unsigned index) {
  time_op(index);
  int result = static_cast<int>(index) == g_plan->fault_op ? -g_plan->fault_errno : run_op(g_ops[index]);
  if (result < 0) fail(socket, static_cast<int>(index), -result);
}

// The launcher makes the cgroups while we build the root.
void receive_late(int socket, unsigned index) {
  if (g_plan->late == 0) return;
  char byte;
  unsigned count;
  // Nothing: the launcher is gone, or could not make them and says so itself.
  int* slots = g_ctx.slots + (g_plan->inherited - g_plan->late);
  if (receive_with_fds(socket, &byte, 1, slots, g_plan->late, count) != 1) _exit(74);
  if (count != g_plan->late) fail(socket, static_cast<int>(index), EPROTO);
}

}  // namespace

unsigned run_ops(int socket, Role role, unsigned from, OpKind until) {
  constexpr uint32_t kRoles = kOnlyTemplate | kOnlyDirect | kOnlyStamped;
  begin_timing();
  for (unsigned i = from; i < g_plan->op_count; ++i) {
    auto kind = static_cast<OpKind>(g_ops[i].kind);
    if (kind == until) {
      settle_time();
      return i;
    }
    if (kind == OpKind::kTemplateEnd && role == Role::kDirect) {
      settle_time();
      receive_late(socket, i);
      begin_timing();
    }
    uint32_t whose = g_ops[i].flags & kRoles;
    if (kind != OpKind::kTemplateEnd && (whose == 0 || (whose & static_cast<uint32_t>(role)))) run_checked(socket, i);
  }
  return g_plan->op_count;
}

namespace {

char g_exec_bytes[sizeof(ExecHeader) + kExecInline];

}  // namespace

void give_back_pages(void* from, size_t size) { raw(SYS_madvise, at(from), static_cast<long>(size), MADV_DONTNEED); }

namespace {

// The program's process, with our memory until it execs: no page is copied for the microseconds it lives on it.
alignas(4096) char g_program_stack[64 << 10];

// What the set-up has touched of a stack is not needed while the cell waits, which may be for long. Our own frame, and
// what it may use below the stack pointer, stay.
void give_back(char* stack, size_t size) {
  auto here = (reinterpret_cast<uintptr_t>(__builtin_frame_address(0)) - 512) & ~uintptr_t{0xfff};
  auto from = reinterpret_cast<uintptr_t>(stack);
  if (here > from && here < from + size) give_back_pages(stack, here - from);
}

// Waits for the launcher's word on what to run. End of file: the launcher is gone or does not want this cell.
const char* receive_exec(ExecHeader& header) {
  int fd;
  unsigned count;
  ssize_t n = receive_with_fds(kProgFd, g_exec_bytes, sizeof g_exec_bytes, &fd, 1, count);
  if (n < static_cast<ssize_t>(sizeof header)) _exit(71);
  memcpy(&header, g_exec_bytes, sizeof header);
  if (header.magic != kExecMagic) _exit(71);
  if (!header.in_memfd) {
    if (sizeof header + header.bytes != static_cast<size_t>(n)) _exit(71);
    return g_exec_bytes + sizeof header;
  }
  if (count != 1) _exit(71);
  void* map = mmap(nullptr, header.bytes, PROT_READ, MAP_PRIVATE, fd, 0);
  close(fd);
  if (map == MAP_FAILED) _exit(71);
  return static_cast<const char*>(map);
}

// A table of descriptors that grows under a process with threads waits for all processors to have looked away (10 to 30 ms, and
// once for each doubling); gVisor's grows in every one of its processes. A descriptor with a high number makes it large while there is
// one thread, and those who fork from it get one as large. Nothing comes out of it, and whoever has fewer numbers does without.
void make_room_for_files() {
  constexpr int kHighest = 511;
  const int nothing = eventfd(0, EFD_NONBLOCK);
  if (nothing < 0) return;
  (void)dup2(nothing, kHighest);
  close(nothing);
}

[[noreturn]] void become_program(unsigned first, const sigset_t& no_signals) {
  unsigned count = g_plan->op_count;
  close(kCtlFd);
  if (syscall(SYS_close_range, kPlanFd, kLockFd, 0) < 0) fail(kProgFd, static_cast<int>(first - 1), errno);
  int listener = -1;
  if (g_role != Role::kStamped) clean_signals();
  sigprocmask(SIG_SETMASK, &no_signals, nullptr);
  begin_timing();
  for (unsigned i = first; i < count; ++i) {
    const Op& op = g_ops[i];
    auto kind = static_cast<OpKind>(op.kind);
    if (kind == OpKind::kSeccomp) {
      time_op(i);
      if (static_cast<int>(i) == g_plan->fault_op) fail(kProgFd, static_cast<int>(i), g_plan->fault_errno);
      int result = apply_seccomp(g_ctx.base + op.data, op.data_len / 8, (op.flags & kWantListener) != 0);
      if (result < 0) fail(kProgFd, static_cast<int>(i), -result);
      if (op.flags & kWantListener) listener = result;
    } else if (kind != OpKind::kExec && kind != OpKind::kRoomForFiles) {
      run_checked(kProgFd, i);
    }
  }
  settle_time();
  g_record.type = RecordType::kReady;
  int fds[4];
  unsigned fd_count = 0;
  int work = g_ctx.slots[kWorkSlot];
  if (work >= 0) fds[fd_count++] = work;
  if (listener >= 0) fds[fd_count++] = listener;
  bool door = g_ctx.slots[kDoorSlot] >= 0 && g_ctx.slots[kDnsSlot] >= 0;
  if (door) {
    fds[fd_count++] = g_ctx.slots[kDoorSlot];
    fds[fd_count++] = g_ctx.slots[kDnsSlot];
  }
  g_record.status = (work >= 0 ? kHasWork : 0) | (listener >= 0 ? kHasListener : 0) | (door ? kHasDoor : 0);
  if (!send_with_fds(kProgFd, &g_record, offsetof(Record, op_ns) + count * sizeof(uint32_t), fds, fd_count)) _exit(72);
  // A listener in the program's own hands would let it answer its own denials.
  if (syscall(SYS_close_range, kPlanFd, ~0u, 0) < 0) _exit(73);
  for (unsigned i = first; i < count; ++i)
    if (static_cast<OpKind>(g_ops[i].kind) == OpKind::kRoomForFiles) make_room_for_files();
  if (g_ctx.will_wait) give_back(g_program_stack, sizeof g_program_stack);

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
  g_record.end_ns = now_ns();
  raw(SYS_sendto, kCtlFd, at(&g_record), offsetof(Record, op_ns), MSG_NOSIGNAL);
}

// Without a pid namespace nobody kills our descendants for us. As their subreaper every orphan becomes our child, so
// killing all children until there are none left ends the whole tree, however it was forked.
void kill_descendants() {
  char path[64] = "/proc/self/task/";
  char* end = path + strlen(path);
  end = append_number(end, static_cast<unsigned long>(getpid()));
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

[[noreturn]] void leave() {
  for (;;) raw(SYS_exit_group, 0);
}

// The kernel ends us with the launcher (PDEATHSIG), and ends the rest with us. A launcher that is gone before that is set
// has not told the program's process what to exec: that one sees its socket close, and ends.
[[noreturn]] void watch(int program) {
  for (;;) {
    int status;
    rusage usage;
    long pid = raw(SYS_wait4, -1, at(&status), __WALL, at(&usage));
    if (pid == program) report_exit(status, usage);
    if (pid == program || pid < 0) leave();
  }
}

// Without a pid namespace: whatever is to end us, we must end our descendants first.
[[noreturn]] void watch_flat(int program, int signals) {
  pollfd fds[2] = {{kCtlFd, POLLIN, 0}, {signals, POLLIN, 0}};
  for (;;) {
#if defined(SYS_poll)
    if (raw(SYS_poll, at(fds), 2, -1) < 0) continue;
#else
    if (raw(SYS_ppoll, at(fds), 2) < 0) continue;
#endif
    bool ended = (fds[0].revents & (POLLIN | POLLHUP | POLLERR)) != 0;  // the launcher says nothing more: it is gone
    if (fds[1].revents & POLLIN) {
      signalfd_siginfo info;
      raw(SYS_read, signals, at(&info), sizeof info);
      int status;
      rusage usage;
      for (long pid; (pid = raw(SYS_wait4, -1, at(&status), WNOHANG | __WALL, at(&usage))) > 0;) {
        if (pid != program) continue;
        kill_descendants();
        report_exit(status, usage);
        leave();
      }
    }
    if (ended) {
      kill_descendants();
      leave();
    }
  }
}

unsigned g_program_first;
int g_program_signals;

[[noreturn]] int program_main(void*) {
  if (g_program_signals >= 0) close(g_program_signals);
  sigset_t none;
  sigemptyset(&none);
  become_program(g_program_first, none);
}

}  // namespace

[[noreturn]] void be_cell(Role role, unsigned from) {
  // Only now: a process that is not dumpable has a /proc that its unprivileged launcher cannot write id maps through.
  if (prctl(PR_SET_DUMPABLE, 0, 0, 0, 0) < 0) fail(kCtlFd, static_cast<int>(from), errno);
  fcntl(kProgFd, F_SETFD, FD_CLOEXEC);
  // A launcher that runs before others is no reason for its cells to.
  errno = 0;
  if (getpriority(PRIO_PROCESS, 0) < 0 && errno == 0) setpriority(PRIO_PROCESS, 0, 0);
  g_role = role;
  // First: the program's limit on descriptors, which comes with the operations, may leave none for it.
  int signals = -1;
  if (g_plan->flat) {
    sigset_t child_only;
    sigemptyset(&child_only);
    sigaddset(&child_only, SIGCHLD);
    signals = signalfd(-1, &child_only, SFD_CLOEXEC);
    if (signals < 0) fail(kCtlFd, static_cast<int>(from), errno);
  }
  unsigned i = run_ops(kCtlFd, role, from, OpKind::kFork);

  sigset_t mask;
  sigfillset(&mask);
  if (sigprocmask(SIG_SETMASK, &mask, nullptr) < 0) fail(kCtlFd, static_cast<int>(i), errno);
  if (static_cast<int>(i) == g_plan->fault_op) fail(kCtlFd, static_cast<int>(i), g_plan->fault_errno);
  g_program_first = i + 1;
  g_program_signals = signals;
  // musl's clone(): the child gets its own stack, and ends when program_main returns, which it does not.
  int program = clone(program_main, g_program_stack + sizeof g_program_stack, (g_plan->own_memory ? 0 : CLONE_VM) | SIGCHLD, nullptr);
  if (program < 0) fail(kCtlFd, static_cast<int>(i), errno);
  // What is left to us: the control socket, the lock on our id, the signals.
  auto must = [&](long result) {
    if (result >= 0) return;
    Record failed = {};
    failed.type = RecordType::kFailed;
    failed.op = static_cast<int32_t>(i);
    failed.err = static_cast<int32_t>(-result);
    raw(SYS_sendto, kCtlFd, at(&failed), offsetof(Record, op_ns), MSG_NOSIGNAL);
    leave();
  };
  must(raw(SYS_close_range, 0, 2, 0));
  must(raw(SYS_close_range, kProgFd, kPlanFd, 0));
  if (signals > static_cast<int>(kFirstInheritedFd)) must(raw(SYS_close_range, kFirstInheritedFd, signals - 1, 0));
  must(raw(SYS_close_range, signals >= 0 ? signals + 1 : static_cast<long>(kFirstInheritedFd), ~0u, 0));
  if (g_plan->flat) watch_flat(program, signals);
  if (g_ctx.will_wait) {
    give_back(g_template_stack, sizeof g_template_stack);
    forget_template();
  }
  must(raw(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0, at(&kInitProgram)));
  watch(program);
}

void start_afresh(Role role) {
  memset(g_record.op_ns, 0, sizeof g_record.op_ns);
  unsigned there = g_plan->inherited - (role == Role::kStamped ? 0 : g_plan->late);
  for (unsigned i = 0; i < kMaxSlots; ++i) g_ctx.slots[i] = i < there ? static_cast<int>(kFirstInheritedFd + i) : -1;
}

namespace {

[[noreturn]] void init() {
  struct stat st;
  if (fstat(kPlanFd, &st) < 0 || st.st_size < static_cast<off_t>(sizeof(PlanHeader))) _exit(73);
  // Beside our own data where there is room: each far mapping costs every cell three pages of page tables.
  extern char end_of_data[] __asm__("_end");
  auto low = (reinterpret_cast<uintptr_t>(end_of_data) + 0xfffu) & ~uintptr_t{0xfff};
  void* map = mmap(reinterpret_cast<void*>(low), static_cast<size_t>(st.st_size), PROT_READ, MAP_SHARED | MAP_FIXED_NOREPLACE, kPlanFd, 0);
  if (map == MAP_FAILED) map = mmap(nullptr, static_cast<size_t>(st.st_size), PROT_READ, MAP_SHARED, kPlanFd, 0);
  if (map == MAP_FAILED) _exit(73);
  g_plan_is_low = map == reinterpret_cast<void*>(low);
  g_ctx.base = static_cast<const char*>(map);
  g_plan = static_cast<const PlanHeader*>(map);
  g_ops = reinterpret_cast<const Op*>(g_ctx.base + sizeof(PlanHeader));
  if (g_plan->magic != kPlanMagic || g_plan->op_count > kMaxOps || g_plan->inherited > kMaxSlots) _exit(73);
  g_ctx.uid = g_plan->uid;
  g_ctx.gid = g_plan->gid;
  start_afresh(Role::kDirect);
  umask(022);
  // A caller that ignores its children hands that down, and we would not hear how the program ended.
  struct sigaction standard;
  memset(&standard, 0, sizeof standard);
  sigaction(SIGCHLD, &standard, nullptr);
  char role;
  ssize_t n;
  do n = recv(kCtlFd, &role, 1, 0);
  while (n < 0 && errno == EINTR);
  if (n != 1) _exit(74);
  if (role == kBeTemplate) be_template();
  be_cell(Role::kDirect, 0);
}

}  // namespace
}  // namespace hotcell

int main() { hotcell::init(); }
