#include "sys/process.h"

#include <sched.h>
#include <signal.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "sys/fault.h"

#ifdef HOTCELL_SANITIZED
extern "C" int __clone(int (*)(void*), void*, int, void*, ...) noexcept;
#endif

namespace hotcell::sys {
namespace {

constexpr std::size_t kChildStack = 32 << 10;  // the body places descriptors and execs: a few KiB at most

#if defined(__x86_64__)
// By hand, because after the call the child runs on another stack and must not return through the parent's frames.
long clone3_call(clone_args* args, void (*body)(void*) noexcept, void* argument) {
  long ret;
  register void (*fn)(void*) noexcept __asm__("r12") = body;
  register void* arg __asm__("r13") = argument;
  __asm__ volatile(
      "syscall\n\t"
      "test %%rax, %%rax\n\t"
      "jnz 1f\n\t"
      "xor %%ebp, %%ebp\n\t"
      "mov %%r13, %%rdi\n\t"
      "call *%%r12\n\t"
      "mov $60, %%eax\n\t"
      "mov $127, %%edi\n\t"
      "syscall\n\t"
      "hlt\n\t"
      "1:"
      : "=a"(ret)
      : "a"(SYS_clone3), "D"(args), "S"(sizeof(*args)), "r"(fn), "r"(arg)
      : "rcx", "r11", "memory");
  return ret;
}
#elif defined(__aarch64__)
long clone3_call(clone_args* args, void (*body)(void*) noexcept, void* argument) {
  register long x8 __asm__("x8") = SYS_clone3;
  register long x0 __asm__("x0") = reinterpret_cast<long>(args);
  register long x1 __asm__("x1") = sizeof(*args);
  register void (*fn)(void*) noexcept __asm__("x20") = body;
  register void* arg __asm__("x21") = argument;
  __asm__ volatile(
      "svc #0\n\t"
      "cbnz x0, 1f\n\t"
      "mov x29, xzr\n\t"
      "mov x0, x21\n\t"
      "blr x20\n\t"
      "mov x8, #93\n\t"
      "mov x0, #127\n\t"
      "svc #0\n\t"
      "1:"
      : "+r"(x0)
      : "r"(x8), "r"(x1), "r"(fn), "r"(arg)
      : "memory", "cc");
  return x0;
}
#else
#error "hotcell runs on x86_64 and aarch64"
#endif

struct Body {
  void (*run)(void*) noexcept;
  void* argument;
};
int run_body(void* body) {
  auto* b = static_cast<Body*>(body);
  b->run(b->argument);
  ::_exit(127);
}

// What container engines leave by default: their filters cannot look into clone3's arguments and answer ENOSYS, so that
// programs take this one. It cannot put the child into a cgroup, and the bit of a time namespace means a signal here.
long clone_call(const clone_args& args, Body body, int* pidfd) {
  constexpr std::uint64_t kExpressible = 0xFFFFFF00;
  if ((args.flags & ~kExpressible) != 0) return -ENOSYS;
  auto flags = static_cast<int>(static_cast<unsigned>(args.flags)) | static_cast<int>(args.exit_signal);
#ifdef HOTCELL_SANITIZED   // the thread sanitizer takes clone() for a fork, and finds the parent's state in use
  int pid = __clone(run_body, reinterpret_cast<char*>(args.stack) + args.stack_size, flags, &body, pidfd);
#else
  int pid = ::clone(run_body, reinterpret_cast<char*>(args.stack) + args.stack_size, flags, &body, pidfd);
#endif
  return pid < 0 ? -errno : pid;
}

}  // namespace

Result<Child> clone_vfork(std::uint64_t flags, int cgroup_fd, void (*body)(void*) noexcept, void* argument) {
  if (int e = fault("clone3")) return errno_error("clone3", e);
  alignas(16) static thread_local char stack[kChildStack];
  int pidfd = -1;
  clone_args args{};
  args.flags = flags | CLONE_VM | CLONE_VFORK | CLONE_PIDFD;
  args.pidfd = reinterpret_cast<std::uint64_t>(&pidfd);
  args.exit_signal = SIGCHLD;
  args.stack = reinterpret_cast<std::uint64_t>(stack);
  args.stack_size = sizeof stack;
  if (cgroup_fd >= 0) {
    args.flags |= CLONE_INTO_CGROUP;
    args.cgroup = static_cast<std::uint64_t>(cgroup_fd);
  }
  // A signal handler of ours must not run in the child on memory that is still the parent's.
  sigset_t all, before;
  sigfillset(&all);
  ::pthread_sigmask(SIG_SETMASK, &all, &before);
  long pid = clone3_call(&args, body, argument);
  if (pid == -ENOSYS) pid = clone_call(args, {body, argument}, &pidfd);
  ::pthread_sigmask(SIG_SETMASK, &before, nullptr);
  if (pid < 0) return errno_error("clone3", static_cast<int>(-pid));
  return Child{static_cast<int>(pid), Fd(pidfd)};
}

Result<void> signal_pidfd(int pidfd, int signal) {
  if (::syscall(SYS_pidfd_send_signal, pidfd, signal, nullptr, 0) < 0 && errno != ESRCH)
    return errno_error("pidfd_send_signal", errno);
  return {};
}

Result<std::optional<Reaped>> reap(int pid, bool block) {
  Reaped out;
  int got;
  do got = ::wait4(pid, &out.status, (block ? 0 : WNOHANG) | __WALL, &out.usage);
  while (got < 0 && errno == EINTR);
  if (got < 0) return errno_error("wait4", errno);
  if (got == 0) return std::optional<Reaped>{};
  return std::optional<Reaped>{out};
}

void raise_open_files(rlim_t most) {
  rlimit files{};
  if (::getrlimit(RLIMIT_NOFILE, &files) < 0) return;
  most = std::min(most, files.rlim_max);
  if (files.rlim_cur >= most) return;
  files.rlim_cur = most;
  ::setrlimit(RLIMIT_NOFILE, &files);
}

}  // namespace hotcell::sys
