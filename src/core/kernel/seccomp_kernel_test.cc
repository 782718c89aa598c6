// The filters in this machine's kernel: each attempt is made outside first (control), then under the filter, where
// the exact errno must come back.
#include <gtest/gtest.h>
#include <linux/keyctl.h>
#include <sched.h>
#include <sys/mman.h>
#include <sys/personality.h>
#include <sys/ptrace.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/xattr.h>

#include <atomic>
#include <thread>

#include "base/strings.h"
#include "core/kernel/seccomp.h"
#include "core/kernel/seccomp_testing.h"

namespace hotcell {
namespace {

using namespace testing_seccomp;

std::vector<std::uint64_t> plan(std::string base, bool notify = true) {
  SeccompRequest r;
  r.base = std::move(base), r.notify = notify;
  return plan_seccomp(r).value().insns;
}

struct Attempt {
  const char* name;
  long (*call)(const char* dir);
  int expected;          // errno under the filter
  const char* recorded;  // the listener's sentence, null: none
  bool root = false;     // only root can do it outside
};

long number(std::string_view name) { return static_cast<long>(syscall_number(name, kNativeArch).value()); }
std::string in(const char* dir, const char* name) { return std::string(dir) + "/" + name; }

const Attempt kAttempts[] = {
    {"ptrace", [](const char*) { return ptrace(PTRACE_ATTACH, -1, nullptr, nullptr); }, EPERM, "ptrace() was refused"},
    {"mount", [](const char*) { return syscall(SYS_mount, 0, 1, 0, 0, 0); }, EPERM, "mount() was refused"},
    {"io_uring", [](const char*) { return syscall(number("io_uring_setup"), 1, 0); }, EPERM,
     "io_uring_setup() was refused"},
    {"bpf", [](const char*) { return syscall(SYS_bpf, -1, 0, 0); }, EPERM, "bpf() was refused"},
    {"keyctl", [](const char*) { return syscall(SYS_keyctl, KEYCTL_GET_KEYRING_ID, KEY_SPEC_THREAD_KEYRING, 1); },
     EPERM, "keyctl() was refused"},
    {"handle", [](const char*) { return syscall(SYS_open_by_handle_at, -1, 0, 0); }, EPERM,
     "open_by_handle_at() was refused"},
    {"statmount", [](const char*) { return syscall(number("statmount"), 0, 0, 0, 0); }, EPERM,
     "statmount() was refused"},
    {"setuid file", [](const char* dir) { return long{chmod(in(dir, "f").c_str(), 04755)}; }, EPERM, nullptr},
    {"setuid open",
     [](const char* dir) { return syscall(SYS_openat, AT_FDCWD, in(dir, "s").c_str(), O_CREAT | O_WRONLY, 04755); },
     EPERM, "openat(mode 04755) was refused"},
    {"setgid mkdir", [](const char* dir) { return syscall(SYS_mkdirat, AT_FDCWD, in(dir, "d").c_str(), 02755); }, EPERM,
     "mkdirat(mode 02755) was refused"},
    {"device",
     [](const char* dir) { return syscall(SYS_mknodat, AT_FDCWD, in(dir, "n").c_str(), S_IFCHR | 0600, 0x103); }, EPERM,
     "mknodat(mode 00600) was refused", true},
    {"xattr", [](const char* dir) { return long{setxattr(in(dir, "f").c_str(), "user.x", "1", 1, 9999)}; }, EOPNOTSUPP,
     nullptr},
    {"clone3", [](const char*) { return syscall(SYS_clone3, 0, 0); }, ENOSYS, nullptr},
    {"openat2", [](const char*) { return syscall(SYS_openat2, AT_FDCWD, 0, 0, 0); }, ENOSYS, nullptr},
    {"personality", [](const char*) { return syscall(SYS_personality, ADDR_NO_RANDOMIZE); }, EPERM,
     "personality(262144) was refused"},
    {"tiocsti", [](const char*) { return syscall(SYS_ioctl, 0, 0xff00000000005412, 0); }, EPERM,
     "ioctl(TIOCSTI) was refused"},
    {"prctl", [](const char*) { return syscall(SYS_prctl, 34, 0, 0, 0, 0); }, EINVAL, nullptr},
    {"netlink", [](const char*) { return syscall(SYS_socket, 16, 3, 0); }, EAFNOSUPPORT, nullptr},
    {"raw", [](const char*) { return syscall(SYS_socket, 2, 3, 1); }, EPERM, "socket(AF_INET, SOCK_RAW) was refused",
     true},
    {"packet", [](const char*) { return syscall(SYS_socket, 17, 3, 0); }, EPERM, "socket(AF_PACKET) was refused", true},
    {"vsock", [](const char*) { return syscall(SYS_socket, 40, 0xbad, 0); }, EPERM, "socket(AF_VSOCK) was refused"},
    {"listener", [](const char*) { return syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 8, 0); }, EPERM,
     "seccomp(1) was refused"},
    {"namespace",
     [](const char*) {
       const long r = syscall(SYS_clone, CLONE_NEWUSER | SIGCHLD, 0, 0, 0, 0);
       if (r == 0) _exit(0);
       return r;
     },
     EPERM, "clone(CLONE_NEWUSER) was refused"},
    {"unshare", [](const char*) { return long{unshare(CLONE_NEWUSER)}; }, EPERM, "unshare() was refused"},
    // Last: they must still work.
    {"tcp", [](const char*) { return long{socket(AF_INET, SOCK_STREAM, 0)}; }, 0, nullptr},
    {"fork",
     [](const char*) {
       const pid_t p = fork();
       if (p == 0) _exit(0);
       return long{waitpid(p, nullptr, 0) == p ? 0 : -1};
     },
     0, nullptr},
    {"W+X",
     [](const char*) { return mmap(nullptr, 4096, 7, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0) == MAP_FAILED ? -1L : 0L; }, 0,
     nullptr},
};

class TempDir {
 public:
  TempDir() {
    char name[] = "/tmp/hotcell-seccomp-XXXXXX";
    path_ = mkdtemp(name);
    close(open((path_ + "/f").c_str(), O_CREAT | O_WRONLY | O_CLOEXEC, 0644));
  }
  ~TempDir() {
    for (const char* name : {"f", "s", "n"}) (void)unlink((path_ + "/" + name).c_str());
    (void)rmdir((path_ + "/d").c_str());
    (void)rmdir(path_.c_str());
  }
  const char* path() const { return path_.c_str(); }

 private:
  std::string path_;
};

// One "errno" per line, in the order of kAttempts.
int try_all(const char* dir) {
  for (const Attempt& a : kAttempts) {
    errno = 0;
    const long r = a.call(dir);
    const std::string line = cat(r < 0 ? errno : 0, "\n");
    if (write(1, line.data(), line.size()) < 0) return 1;
  }
  return 0;
}

std::vector<std::string_view> lines_of(const std::string& text) { return split(trim(text), '\n'); }

TEST(SeccompKernel, RefusesWithTheExactErrnoAndReportsToTheListener) {
  TempDir outside, inside;
  const std::uint64_t pass[] = {BPF_RET | BPF_K | (std::uint64_t{SECCOMP_RET_ALLOW} << 32)};
  const Outcome control = run_under(pass, false, [&] { return try_all(outside.path()); });
  const Outcome denied = run_under(plan("default"), true, [&] { return try_all(inside.path()); });
  ASSERT_EQ(denied.exit_code(), 0) << denied.output;
  const auto before = lines_of(control.output), after = lines_of(denied.output);
  ASSERT_EQ(before.size(), std::size(kAttempts));
  ASSERT_EQ(after.size(), std::size(kAttempts));
  std::size_t recorded = 0;
  for (std::size_t i = 0; i < std::size(kAttempts); ++i) {
    const Attempt& a = kAttempts[i];
    EXPECT_EQ(after[i], cat(a.expected)) << a.name;
    if (a.expected != 0 && (!a.root || geteuid() == 0)) {
      EXPECT_NE(before[i], after[i]) << a.name << ": the control outside gives the same, so this shows nothing";
    }
    if (a.recorded) {
      EXPECT_TRUE(denied.denied.count(a.recorded)) << a.recorded;
      ++recorded;
    }
  }
  // chmod() is chmod or fchmodat, depending on the architecture.
  EXPECT_EQ(denied.denied.size(), recorded + 1);
  EXPECT_EQ(denied.fixes.at("ptrace"), "syscalls: {allow: [ptrace]}");
}

TEST(SeccompKernel, WithoutAListenerTheSameCallsAnswerEperm) {
  TempDir dir;
  const Outcome out = run_under(plan("default", false), false, [&] { return try_all(dir.path()); });
  const auto lines = lines_of(out.output);
  ASSERT_EQ(lines.size(), std::size(kAttempts));
  for (std::size_t i = 0; i < lines.size(); ++i) EXPECT_EQ(lines[i], cat(kAttempts[i].expected)) << kAttempts[i].name;
}

TEST(SeccompKernel, ADeadListenerLeavesTheCallsClosed) {
  const pid_t pid = fork();
  if (pid == 0) {
    const auto code = plan("default");
    prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
    const int fd = apply_seccomp(code.data(), static_cast<unsigned>(code.size()), 1);
    if (fd < 0 || !(fcntl(fd, F_GETFD) & FD_CLOEXEC)) _exit(90);
    close(fd);
    _exit(ptrace(PTRACE_TRACEME, 0, nullptr, nullptr) == 0 ? 91 : errno);
  }
  int status = 0;
  waitpid(pid, &status, 0);
  ASSERT_TRUE(WIFEXITED(status));
  EXPECT_EQ(WEXITSTATUS(status), ENOSYS);
}

TEST(SeccompKernel, StrictRefusesWritableExecutableMemory) {
  auto body = [] {
    if (mmap(nullptr, 4096, 3, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0) == MAP_FAILED) return 1;
    if (mmap(nullptr, 4096, 7, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0) != MAP_FAILED || errno != EPERM) return 2;
    if (memfd_create("x", 0) >= 0 || errno != EPERM) return 3;
    if (socket(AF_INET, SOCK_STREAM, 0) >= 0 || errno != EPERM) return 4;
    return 0;
  };
  EXPECT_EQ(run_under(plan("default"), true, body).exit_code(), 2);
  const Outcome out = run_under(plan("strict"), true, body);
  EXPECT_EQ(out.exit_code(), 0);
  EXPECT_EQ(out.denied.count("mmap(PROT_WRITE|PROT_EXEC) was refused"), 1u);
  EXPECT_EQ(out.fixes.at("memfd_create"), "syscalls: {allow: [memfd_create]}");
}

#if defined(__x86_64__)
TEST(SeccompKernel, ForeignAbisDieWithSigsys) {
  auto i386 = [] {
    long r = 20;  // getpid
    asm volatile("int $0x80" : "+a"(r) : : "memory", "r8", "r9", "r10", "r11");
    return r > 0 ? 0 : 1;
  };
  auto x32 = [] { return syscall(0x40000000 | SYS_getpid) == getpid() || errno == ENOSYS ? 0 : 1; };
  const std::uint64_t pass[] = {BPF_RET | BPF_K | (std::uint64_t{SECCOMP_RET_ALLOW} << 32)};
  EXPECT_NE(run_under(pass, false, i386).signal(), SIGSYS);
  EXPECT_EQ(run_under(pass, false, x32).exit_code(), 0);
  EXPECT_EQ(run_under(plan("default"), true, i386).signal(), SIGSYS);
  EXPECT_EQ(run_under(plan("default"), true, x32).signal(), SIGSYS);
}
#endif

TEST(SeccompKernel, AllThreadsAtOnce) {
  const pid_t pid = fork();
  if (pid == 0) {
    std::atomic<int> stage{0}, seen{-1};
    std::thread other([&] {
      while (stage.load() == 0) sched_yield();
      seen = syscall(SYS_keyctl, KEYCTL_GET_KEYRING_ID, KEY_SPEC_THREAD_KEYRING, 1) < 0 ? errno : 0;
    });
    const auto code = plan("default", false);
    prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
    const int applied = apply_seccomp_tsync(code.data(), static_cast<unsigned>(code.size()));
    stage = 1;
    other.join();
    _exit(applied != 0 ? 90 : seen.load());
  }
  int status = 0;
  waitpid(pid, &status, 0);
  ASSERT_TRUE(WIFEXITED(status));
  EXPECT_EQ(WEXITSTATUS(status), EPERM);
}

TEST(SeccompKernel, ABadProgramIsAnErrorAndNotAFilter) {
  const std::uint64_t nonsense[] = {0xffff};
  const auto* none = nonsense;
  EXPECT_EQ(apply_seccomp(none, 0, 0), -EINVAL);
  EXPECT_EQ(apply_seccomp(none, 5000, 0), -EINVAL);
  const pid_t pid = fork();
  if (pid == 0) {
    prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
    _exit(-apply_seccomp(nonsense, 1, 1));
  }
  int status = 0;
  waitpid(pid, &status, 0);
  EXPECT_EQ(WEXITSTATUS(status), EINVAL);
}

}  // namespace
}  // namespace hotcell
