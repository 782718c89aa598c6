// KS: the kernel's surface, with the rows of CP and ME that are single calls.
#include <fcntl.h>
#include <linux/seccomp.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/personality.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <cerrno>
#include <filesystem>

#include "escape/escape.h"

namespace hotcell::testing {
namespace {

constexpr Control kAnythingElse = {kDiffers, kDiffers};
// Without privileges the host's own kernel says EPERM too; the report then shows that it was seccomp here.
constexpr Control kRootGetsFurther = {kDiffers, kAny};
constexpr Alone kSeccomp = {.seccomp = EPERM};

template <long number, long... arguments>
int call() {
  return result_of(::syscall(number, arguments...));
}

// clang-format off
const Area kKernel({
    {"KS-01a", "io_uring_setup", call<425, 1, 0>, EPERM, kAnythingElse, kSeccomp, "io_uring_setup"},
    {"KS-01b", "io_uring_enter", call<426, -1, 0, 0, 0, 0, 0>, EPERM, kAnythingElse, kSeccomp, "io_uring_enter"},
    {"KS-01c", "io_uring_register", call<427, -1, 0, 0, 0>, EPERM, kAnythingElse, kSeccomp, "io_uring_register"},
    {"KS-02a", "bpf", call<SYS_bpf, 9999, 0, 0>, EPERM, kAnythingElse, kSeccomp, "bpf"},
    {"KS-02b", "perf_event_open",
     call<SYS_perf_event_open, 0, 0, -1, -1, 0>, EPERM, kAnythingElse, kSeccomp, "perf_event_open"},
    {"KS-03", "userfaultfd", call<SYS_userfaultfd, 1>, EPERM, kAnythingElse, kSeccomp, "userfaultfd"},
    {"KS-04a", "keyctl", call<SYS_keyctl, 0, -3, 0>, EPERM, kAnythingElse, kSeccomp, "keyctl"},
    {"KS-04b", "add_key", call<SYS_add_key, 0, 0, 0, 0, 0>, EPERM, kAnythingElse, kSeccomp, "add_key"},
    {"KS-04c", "request_key", call<SYS_request_key, 0, 0, 0, 0>, EPERM, kAnythingElse, kSeccomp, "request_key"},
    {"KS-07a", "personality without address randomisation",
     call<SYS_personality, ADDR_NO_RANDOMIZE>, EPERM, {}, kSeccomp, "personality"},
    {"KS-07b", "personality that makes data executable",
     call<SYS_personality, READ_IMPLIES_EXEC>, EPERM, {}, kSeccomp, "personality"},
    {"KS-07c", "modify_ldt", call<SYS_modify_ldt, 0, 0, 0>, EPERM, kAnythingElse, kSeccomp, "modify_ldt"},
    {"KS-08a", "init_module", call<SYS_init_module, 0, 0, 0>, EPERM, kRootGetsFurther, kSeccomp, "init_module"},
    {"KS-08b", "finit_module", call<SYS_finit_module, -1, 0, 0>, EPERM, kRootGetsFurther, kSeccomp, "finit_module"},
    {"KS-08c", "kexec_load", call<SYS_kexec_load, 0, 999, 0, 0>, EPERM, kRootGetsFurther, kSeccomp, "kexec_load"},
    {"KS-08d", "reboot, with the wrong magic",
     call<SYS_reboot, 1, 2, 3, 0>, EPERM, kRootGetsFurther, kSeccomp, "reboot"},
    {"KS-08e", "swapon", call<SYS_swapon, 0, 0>, EPERM, kRootGetsFurther, kSeccomp, "swapon"},
    {"KS-08f", "acct", call<SYS_acct, 1>, EPERM, kRootGetsFurther, kSeccomp, "acct"},
    {"KS-08g", "iopl", call<SYS_iopl, 3>, EPERM, kRootGetsFurther, kSeccomp, "iopl"},
    {"KS-08h", "ioperm", call<SYS_ioperm, 0x80, 1, 1>, EPERM, kRootGetsFurther, kSeccomp, "ioperm"},
    {"KS-08i", "the kernel's log", call<SYS_syslog, 10, 0, 0>, EPERM, kRootGetsFurther, kSeccomp, "syslog"},
    {"KS-08j", "quotactl", call<SYS_quotactl, 0x800002 << 8, 0, 0, 0>, EPERM, kRootGetsFurther, kSeccomp, "quotactl"},
    {"KS-09", "vmsplice: user pages in pipes",
     call<SYS_vmsplice, -1, 0, 0, 0>, EPERM, {kDiffers, kDiffers}, kSeccomp, "vmsplice"},
    {"KS-10a", "fanotify", call<SYS_fanotify_init, 0x200, 0>, EPERM, {kDiffers, kDiffers}, kSeccomp, "fanotify_init"},
    {"KS-10b", "ustat, dead weight", call<SYS_ustat, 0, 0>, ENOSYS, kAnythingElse, {.seccomp = ENOSYS}},
    {"KS-11", "move_pages", call<SYS_move_pages, 0, 0, 0, 0, 0, 0>, EPERM, kAnythingElse, kSeccomp},
    {"KS-12", "legacy AIO", call<SYS_io_setup, 0, 0>, EPERM, kAnythingElse, kSeccomp, "io_setup"},
    {"KS-14", "a seccomp listener of its own",
     [] {
       ::prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
       return result_of(::syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 8, nullptr));
     },
     EPERM, kAnythingElse, kSeccomp, "seccomp"},
    {"KS-15a", "an unknown call, 480", call<480>, ENOSYS, {ENOSYS, ENOSYS}, {.seccomp = ENOSYS}},
    {"KS-15b", "an unknown call, 1000", call<1000>, ENOSYS, {ENOSYS, ENOSYS}, {.seccomp = ENOSYS}},
    {"KS-15c", "an unknown call, -1", call<-1>, ENOSYS, {ENOSYS, ENOSYS}, {.seccomp = ENOSYS}},
    {"KS-22a", "kcmp: compare kernel pointers",
     [] { return result_of(::syscall(SYS_kcmp, ::getpid(), ::getpid(), 0, 0, 1)); },
     EPERM, kAnythingElse, kSeccomp, "kcmp"},
    {"KS-22b", "process_madvise", call<440, -1, 0, 0, 0, 0>, EPERM, kAnythingElse, kSeccomp, "process_madvise"},
    {"CP-05a", "set the clock", call<SYS_settimeofday, 0, 0>, EPERM, kRootGetsFurther, kSeccomp, "settimeofday"},
    {"CP-05b", "clock_settime", call<SYS_clock_settime, 0, 0>, EPERM, kRootGetsFurther, kSeccomp, "clock_settime"},
    {"CP-05c", "adjust the clock", call<SYS_adjtimex, 0>, EPERM, kRootGetsFurther, kSeccomp, "adjtimex"},
    {"LK-04", "change the host name", call<SYS_sethostname, 0, 0>, EPERM, kRootGetsFurther, kSeccomp, "sethostname"},
    {"ME-04", "lock a mebibyte of memory",
     [] {
       void* at = ::mmap(nullptr, 1 << 20, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
       return result_of(::mlock(at, 1 << 20));
     },
     ENOMEM, {kDiffers, kDiffers}, {.structure = ENOMEM}},
    {"ME-03a", "pipes as large as all of the caller's may be together",
     [] {
       int ends[2];
       if (::pipe(ends) != 0) return errno;
       int got = result_of(::fcntl(ends[1], F_SETPIPE_SZ, 1 << 20));
       ::close(ends[0]);
       ::close(ends[1]);
       return got;
     },
     EPERM, {}, {.seccomp = EPERM}},
    {"ME-10", "memory that the host cannot see", call<447, 0>, EPERM, kAnythingElse, kSeccomp, "memfd_secret"},
    {"ME-11", "merged pages",
     [] {
       void* at = ::mmap(nullptr, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
       return result_of(::madvise(at, 4096, MADV_MERGEABLE));
     },
     EINVAL, {kDiffers, kDiffers}, {.seccomp = EINVAL}},
});
// clang-format on

#if defined(__x86_64__)
HOTCELL_PROGRAM(x32_call) {
  ::syscall(0x40000000 | 39);  // getpid of the x32 ABI
  return 0;
}
// i386's getpid is 20; the number means writev to a filter that forgets to look at the architecture.
HOTCELL_PROGRAM(int80_call) {
  long result = 20;
  asm volatile("int $0x80" : "+a"(result) : : "memory", "r8", "r9", "r10", "r11");
  return result > 0 ? 0 : 1;
}
#endif
HOTCELL_PROGRAM(writable_code) {
  void* at = ::mmap(nullptr, 4096, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (at == MAP_FAILED) return errno == EPERM ? 3 : 4;
  return 0;
}
HOTCELL_PROGRAM(nameless_file) { return ::memfd_create("x", 0) >= 0 ? 0 : errno == EPERM ? 3 : 4; }
HOTCELL_PROGRAM(denied_flood) {
  for (int i = 0; i < 20000; ++i) ::syscall(SYS_bpf, 0, 0, 0);
  return 0;
}
HOTCELL_PROGRAM(filter_on_children) {
  int status = 0;
  if (pid_t pid = ::fork(); pid == 0)
    ::_exit(::unshare(0x10000000) < 0 && errno == EPERM ? 0 : 1);
  else
    ::waitpid(pid, &status, 0);
  return WIFEXITED(status) ? WEXITSTATUS(status) : 9;
}

class KernelTest : public LeakCheck {};
using Observed = KernelTest;

#if defined(__x86_64__)
// KS-05, KS-06, PR-09: a second ABI is a second set of numbers around every rule.
TEST_F(KernelTest, ForeignAbisAreKilledByPolicy) {
  for (const char* name : {"x32_call", "int80_call"}) {
    Report r = run(program(name));
    EXPECT_EQ(exit_reason(r), "policy") << name << ": " << describe(r);
    EXPECT_EQ(r.verdict.signal, SIGSYS) << name;
    EXPECT_EQ(r.verdict.cli_exit_code(), 159) << name;
    EXPECT_EQ(r.verdict.status(), RunStatus::kKilled) << name;
  }
}
TEST_F(Observed, ForeignAbisRunWhereTheFilterIsOff) {
  Policy policy = test_policy();
  policy.audit["seccomp"] = AuditMode::kObserve;
  Report r = run(policy, program("x32_call"));
  EXPECT_EQ(exit_reason(r), "exited") << describe(r);
}
#endif

TEST_F(KernelTest, WritableCodeOnlyWhereThePolicyAllowsIt) {
  EXPECT_EQ(run(program("writable_code")).verdict.exit_code, 0);
  Policy strict = strict_policy();
  strict.filesystem.grants.push_back({self_path(), Access::kRead, ""});
  Report r = run(strict, program("writable_code"));
  EXPECT_EQ(r.verdict.exit_code, 3) << describe(r);
  EXPECT_TRUE(has_denial(r, "mmap")) << describe(r);
  Report m = run(strict, program("nameless_file"));
  EXPECT_EQ(m.verdict.exit_code, 3) << describe(m);
  EXPECT_TRUE(has_denial(m, "memfd_create")) << describe(m);
}

// A flood of refused calls is slowed down, its time is the cell's own, and the list of denials stays short.
TEST_F(KernelTest, FloodOfDeniedCallsIsBoundedAndCounted) {
  Policy policy = test_policy();
  policy.limits.wall = std::chrono::seconds(2);
  auto before = std::chrono::steady_clock::now();
  Report r = run(policy, program("denied_flood"));
  EXPECT_LT(std::chrono::steady_clock::now() - before, std::chrono::seconds(10));
  ASSERT_EQ(r.denials.size(), 1u) << describe(r);
  EXPECT_EQ(r.denials[0].subject, "bpf");
  EXPECT_GT(r.denials[0].count, 100u);
}

TEST_F(KernelTest, EachDenialSaysWhatAndCarriesItsFix) {
  Report r = run(program("filter_on_children"));
  EXPECT_EQ(r.verdict.exit_code, 0) << describe(r);
  ASSERT_EQ(r.denials.size(), 1u) << describe(r);
  EXPECT_EQ(r.denials[0].layer, "seccomp");
  EXPECT_EQ(r.denials[0].subject, "unshare");
  EXPECT_NE(r.denials[0].what, "");
  EXPECT_FALSE(r.denials_complete) << "Landlock and mounts make no event, so the list can never claim to be complete";
}

TEST_F(KernelTest, ATimeNamespaceIsThereWhenThePolicySaysSo) {
  std::string host = std::filesystem::read_symlink("/proc/self/ns/time").string();
  ASSERT_NE(host, "");
  Policy policy = test_policy();
  EXPECT_EQ(run(policy, shell("readlink /proc/self/ns/time")).out, host + "\n") << "the control";
  policy.time_ns = true;
  Report r = run(policy, shell("readlink /proc/self/ns/time; cat /proc/uptime"));
  EXPECT_EQ(r.verdict.exit_code, 0) << describe(r);
  EXPECT_TRUE(r.out.starts_with("time:[")) << describe(r);
  EXPECT_FALSE(r.out.starts_with(host)) << describe(r);
}

}  // namespace
}  // namespace hotcell::testing
