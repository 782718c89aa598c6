// PR: how cells live and end.
// g++ 12 takes the other alternative of a variant for an unset variable.
#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC diagnostic ignored "-Wmaybe-uninitialized"
#endif
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <filesystem>
#include <thread>

#include "escape/escape.h"
#include "sys/file.h"

namespace hotcell::testing {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

HOTCELL_PROGRAM(abort) { ::abort(); }
HOTCELL_PROGRAM(term_self) {
  ::kill(::getpid(), SIGTERM);
  return 0;
}
// What the kernel sends when CPU time is used up, sent by the program itself.
HOTCELL_PROGRAM(feign_cpu_limit) {
  ::kill(::getpid(), SIGXCPU);
  return 0;
}
HOTCELL_PROGRAM(pids) {
  ::dprintf(1, "%d %d %d\n", ::getpid(), ::getppid(), ::getsid(0));
  return 0;
}
// Far more orphans than the process limit: they only fit if pid 1 reaps each.
HOTCELL_PROGRAM(orphans) {
  for (int i = 0; i < 200; ++i) {
    pid_t pid = ::fork();
    if (pid < 0) return 2;
    if (pid == 0) {
      if (::fork() == 0) ::_exit(0);
      ::_exit(0);
    }
    ::waitpid(pid, nullptr, 0);
    ::usleep(1000);
  }
  return 0;
}
// A daemon that outlives the program, and says so by a heartbeat.
HOTCELL_PROGRAM(daemon) {
  if (::fork() == 0) {
    ::setsid();
    if (::fork() != 0) ::_exit(0);
    for (int fd = 0; fd < 3; ++fd) ::close(fd);
    int beat = ::open(scene_path("rw/beat").c_str(), O_WRONLY | O_CREAT | O_APPEND, 0644);
    for (;;) {
      if (::write(beat, "x", 1) != 1) ::_exit(1);
      ::usleep(5000);
    }
  }
  struct stat st;
  while (::stat(scene_path("rw/beat").c_str(), &st) != 0 || st.st_size == 0) ::usleep(1000);
  return 0;
}
HOTCELL_PROGRAM(orphan_holds_stdout) {
  if (::fork() == 0) {
    ::setsid();
    for (;;) ::pause();
  }
  ::dprintf(1, "done\n");
  return 5;
}
HOTCELL_PROGRAM(stop_group) {
  ::kill(0, SIGSTOP);
  for (;;) ::pause();
}
HOTCELL_PROGRAM(kill_everybody) {
  pid_t child = ::fork();
  if (child == 0)
    for (;;) ::pause();
  ::kill(-1, SIGKILL);
  int status = 0;
  ::waitpid(child, &status, 0);
  return WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL ? 0 : 1;
}
HOTCELL_PROGRAM(ignore_signals) {
  for (int s = 1; s < 32; ++s) ::signal(s, SIG_IGN);
  ::dprintf(1, "ready\n");
  for (;;) ::pause();
}
HOTCELL_PROGRAM(endless_forks) {
  for (;;) {
    pid_t pid = ::fork();
    if (pid > 0) ::_exit(0);  // the child goes on: a new pid all the time
    if (pid == 0) ::setsid();
  }
}
HOTCELL_PROGRAM(vfork_hang) {
  if (::vfork() == 0)
    for (;;) ::pause();
  return 0;
}
HOTCELL_PROGRAM(forged_status) { return 137; }
HOTCELL_PROGRAM(signal_state) {
  sigset_t mask;
  ::sigprocmask(SIG_BLOCK, nullptr, &mask);
  for (int s = 1; s <= SIGRTMAX; ++s) {
    struct sigaction now {};
    if (s == SIGKILL || s == SIGSTOP || ::sigaction(s, nullptr, &now) != 0) continue;
    if (now.sa_handler != SIG_DFL) ::dprintf(1, "disposition %d\n", s);
    if (::sigismember(&mask, s)) ::dprintf(1, "blocked %d\n", s);
  }
  mode_t mode = ::umask(0);
  ::dprintf(1, "umask %o\n", mode);
  return 0;
}

Nanoseconds timed(const Policy& policy, Request request, Report& report) {
  auto before = std::chrono::steady_clock::now();
  report = run(policy, std::move(request));
  return std::chrono::steady_clock::now() - before;
}

class Lifetime : public SceneTest {};

TEST_F(Lifetime, AbortIsSignalSixAndExit134) {
  Report r = run(program("abort"));
  EXPECT_EQ(exit_reason(r), "signal") << describe(r);
  EXPECT_EQ(r.verdict.signal, SIGABRT);
  EXPECT_EQ(r.verdict.exit_code, std::nullopt);
  EXPECT_EQ(r.verdict.cli_exit_code(), 134);
  EXPECT_EQ(r.verdict.status(), RunStatus::kFailed);
}

TEST_F(Lifetime, SigtermToOneselfIs143) {
  Report r = run(program("term_self"));
  EXPECT_EQ(r.verdict.signal, SIGTERM) << describe(r);
  EXPECT_EQ(r.verdict.cli_exit_code(), 143);
}

TEST_F(Lifetime, TheProgramIsNeverPidOneAndLeadsItsSession) {
  Report r = run(program("pids"));
  EXPECT_EQ(r.out, "2 1 2\n") << describe(r);
}

TEST_F(Lifetime, OrphansAreReaped) {
  Report r = run(program("orphans"));
  EXPECT_EQ(r.verdict.exit_code, 0) << describe(r);
}

TEST_F(Lifetime, ADoubleForkedDaemonDiesWithTheProgram) {
  Report r = run(scene_->policy(), program("daemon", scene_->env("/work")));
  EXPECT_EQ(r.verdict.exit_code, 0) << describe(r);
  EXPECT_EQ(alive("daemon"), 0u);
  auto size = read_text(scene_->path("rw/beat")).size();
  EXPECT_GT(size, 0u) << "the daemon never ran";
  std::this_thread::sleep_for(milliseconds(100));
  EXPECT_EQ(read_text(scene_->path("rw/beat")).size(), size) << "it still writes";
}

TEST_F(Lifetime, AnOrphanHoldingStdoutDoesNotDelayTheResult) {
  Report r;
  EXPECT_LT(timed(test_policy(), program("orphan_holds_stdout"), r), seconds(10));
  EXPECT_EQ(r.verdict.exit_code, 5) << describe(r);
  EXPECT_EQ(r.out, "done\n");
  EXPECT_EQ(alive("orphan_holds_stdout"), 0u);
}

TEST_F(Lifetime, StoppingItsOwnGroupDoesNotStopTheClock) {
  Policy policy = test_policy();
  policy.limits.wall = seconds(1);
  Report r;
  Nanoseconds took = timed(policy, program("stop_group"), r);
  EXPECT_EQ(exit_reason(r), "timeout_wall") << describe(r);
  EXPECT_GE(took, seconds(1));
  EXPECT_LT(took, seconds(5));
  EXPECT_EQ(alive("stop_group"), 0u);
}

TEST_F(Lifetime, KillingEverybodyReachesNobodyOutside) {
  Report r = run(program("kill_everybody"));
  EXPECT_EQ(r.verdict.exit_code, 0) << describe(r);
  auto env = scene_->env("");
  EXPECT_EQ(::kill(std::stoi(env["S_PID"]), 0), 0) << "the host's process is gone";
}

TEST_F(Lifetime, CancelEndsAProgramThatIgnoresEverySignal) {
  Request request = program("ignore_signals");
  RunId id = 0;
  bool ready = false;
  std::optional<Report> report;
  request.on_output = [&](Stream, std::string_view) { ready = true; };
  auto started = launcher().start(test_policy(), std::move(request), [&](RunId, Result<Report> r) {
    ASSERT_TRUE(r.ok());
    report = std::move(r).value();
  });
  ASSERT_TRUE(started.ok());
  id = started.value();
  for (int i = 0; i < 1000 && !ready; ++i) ASSERT_TRUE(launcher().step(milliseconds(10)).ok());
  EXPECT_TRUE(ready);
  EXPECT_GT(alive("ignore_signals"), 0u) << "the control: it would be seen";
  launcher().cancel(id);
  for (int i = 0; i < 500 && !report; ++i) ASSERT_TRUE(launcher().step(milliseconds(10)).ok());
  ASSERT_TRUE(report) << "it is still running";
  EXPECT_EQ(exit_reason(*report), "cancelled");
  EXPECT_EQ(report->verdict.status(), RunStatus::kKilled);
  EXPECT_EQ(alive("ignore_signals"), 0u);
}

TEST_F(Lifetime, ForkingFasterThanTheKillerDoesNotHelp) {
  Policy policy = test_policy();
  policy.limits.wall = seconds(1);
  Report r = run(policy, program("endless_forks"));
  // Its first process is over at once; what it left behind must be too.
  EXPECT_EQ(alive("endless_forks"), 0u) << describe(r);
}

TEST_F(Lifetime, AHangingVforkStillTimesOut) {
  Policy policy = test_policy();
  policy.limits.wall = seconds(1);
  Report r;
  EXPECT_LT(timed(policy, program("vfork_hang"), r), seconds(5));
  EXPECT_EQ(exit_reason(r), "timeout_wall") << describe(r);
}

TEST_F(Lifetime, AForgedStatusIsOnlyAnExitCode) {
  Report r = run(program("forged_status"));
  EXPECT_EQ(exit_reason(r), "exited") << describe(r);
  EXPECT_EQ(r.verdict.exit_code, 137);
  EXPECT_EQ(r.verdict.signal, std::nullopt);
}

TEST_F(Lifetime, ALimitThatWasNotReachedIsNotTheReason) {
  Report r = run(program("feign_cpu_limit"));
  EXPECT_EQ(exit_reason(r), "signal") << describe(r);
  EXPECT_EQ(r.verdict.cli_exit_code(), 128 + SIGXCPU);
}

TEST_F(Lifetime, SignalStateAndUmaskOfTheCallerAreNotInherited) {
  struct sigaction old {};
  struct sigaction ignore {};
  ignore.sa_handler = SIG_IGN;
  ::sigaction(SIGUSR2, &ignore, &old);
  sigset_t block, mask;
  ::sigemptyset(&block);
  ::sigaddset(&block, SIGUSR1);
  ::sigprocmask(SIG_BLOCK, &block, &mask);
  mode_t was = ::umask(0);
  Report r = run(program("signal_state"));
  ::umask(was);
  ::sigprocmask(SIG_SETMASK, &mask, nullptr);
  ::sigaction(SIGUSR2, &old, nullptr);
  EXPECT_EQ(r.out, "umask 22\n") << describe(r);
}

TEST_F(Lifetime, AFrozenCellStandsStillAndGoesOn) {
  Request request = shell("i=0; while [ $i -lt 400 ]; do echo tick; sleep 0.01; i=$((i+1)); done & wait");
  std::size_t ticks = 0;
  request.on_output = [&](Stream, std::string_view text) { ticks += text.size() / 5; };
  bool over = false;
  auto id = launcher().start(default_policy(), std::move(request), [&](RunId, Result<Report>) { over = true; });
  ASSERT_TRUE(id.ok()) << id.error().message;
  auto steps = [&](int ms) {
    for (auto until = std::chrono::steady_clock::now() + std::chrono::milliseconds(ms); std::chrono::steady_clock::now() < until;)
      launcher().step(std::chrono::milliseconds(5)).ignore("the ticks tell");
  };
  for (int i = 0; i < 200 && ticks < 3; ++i) steps(10);
  ASSERT_GE(ticks, 3u);
  auto frozen = launcher().freeze(id.value(), true);
  if (!has_cgroups()) {
    EXPECT_FALSE(frozen.ok());
    EXPECT_NE(frozen.error().message.find("cgroup"), std::string::npos) << frozen.error().message;
  } else {
    ASSERT_TRUE(frozen.ok()) << frozen.error().message;
    steps(50);  // what was in the pipe
    std::size_t before = ticks;
    steps(300);
    EXPECT_EQ(ticks, before);
    ASSERT_TRUE(launcher().freeze(id.value(), false).ok());
    steps(300);
    EXPECT_GT(ticks, before + 3);
    ASSERT_TRUE(launcher().freeze(id.value(), true).ok());
  }
  launcher().cancel(id.value());  // frozen, and dies all the same
  for (int i = 0; i < 200 && !over; ++i) steps(10);
  EXPECT_TRUE(over);
}

// The kernel's word for the cell of this launcher: FROZEN or THAWED, and FREEZING while somebody has yet to get there.
std::string freezer_state() {
  const std::string ours = std::to_string(::getpid()) + "-";
  std::error_code ignored;
  for (auto it = std::filesystem::recursive_directory_iterator("/sys/fs/cgroup", std::filesystem::directory_options::skip_permission_denied, ignored);
       it != std::filesystem::recursive_directory_iterator(); it.increment(ignored)) {
    if (!it->path().filename().string().starts_with(ours)) continue;
    if (auto state = sys::read_file((it->path() / "freezer.state").c_str()); state.ok()) return state.value();
    if (auto events = sys::read_file((it->path() / "cgroup.events").c_str()); events.ok())
      return events.value().find("frozen 1") != std::string::npos ? "FROZEN\n" : "FREEZING\n";
  }
  return "no freezer";
}

// What is looked at while a cell stands still (a snapshot, a diff, an apply) stays as it is from the first look on: nobody in it is in the
// middle of a system call any more when the launcher says that it is frozen.
TEST_F(Lifetime, ACellIsFrozenWhenThatIsSaid) {
  bool over = false;
  // More than there are processors for: some are always about to go on.
  auto id = launcher().start(default_policy(), shell("for i in 1 2 3 4 5 6; do while :; do echo x > $i; done & done; echo begun; wait"), [&](RunId, Result<Report>) { over = true; });
  ASSERT_TRUE(id.ok()) << id.error().message;
  for (int i = 0; i < 20; ++i) launcher().step(std::chrono::milliseconds(20)).ignore("it begins meanwhile");
  int frozen = 0;
  for (int i = 0; i < 40 && has_cgroups(); ++i) {
    ASSERT_TRUE(launcher().freeze(id.value(), true).ok());
    frozen += freezer_state() == "FROZEN\n";
    ASSERT_TRUE(launcher().freeze(id.value(), false).ok());
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
  }
  // Beside many others it may take longer than the launcher, which has other cells, waits.
  if (has_cgroups()) {
    EXPECT_GE(frozen, 20);
  }
  EXPECT_EQ(launcher().freeze(id.value(), true).ok(), has_cgroups());
  launcher().cancel(id.value());
  for (int i = 0; i < 200 && !over; ++i) launcher().step(std::chrono::milliseconds(10)).ignore("its end is waited for");
  EXPECT_TRUE(over);
}

}  // namespace
}  // namespace hotcell::testing
