// The whole command in a child process, with real cells.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <pty.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <csignal>
#include <functional>
#include <string>

#include "cli/commands.h"
#include "sys/fd.h"

namespace hotcell {
namespace {

using Clock = std::chrono::steady_clock;
using std::chrono::milliseconds;

struct Outcome {
  int code = -1;
  std::string out, err;
  milliseconds took{0};
};

struct Started {
  pid_t pid = -1;
  sys::Fd in, out, err;
  Clock::time_point at = Clock::now();
};

Started start(std::vector<std::string_view> args, int status_fd = -1) {
  auto in = sys::make_pipe(0), out = sys::make_pipe(0), err = sys::make_pipe(0);
  if (!in.ok() || !out.ok() || !err.ok()) return {};
  pid_t pid = ::fork();
  if (pid == 0) {
    ::dup2(in.value().read.get(), 0);
    ::dup2(out.value().write.get(), 1);
    ::dup2(err.value().write.get(), 2);
    if (status_fd >= 0) ::fcntl(status_fd, F_SETFD, 0);
    // Only what a shell would leave open: an inherited end of our own pipes would keep them from ending.
    for (int fd = 3; fd < 256; ++fd) {
      if (fd != status_fd) ::close(fd);
    }
    ::_exit(cmd_run(args));
  }
  return {pid, std::move(in.value().write), std::move(out.value().read), std::move(err.value().read), Clock::now()};
}

Outcome finish(Started s) {
  Outcome o;
  struct pollfd fds[2] = {{s.out.get(), POLLIN, 0}, {s.err.get(), POLLIN, 0}};
  while (fds[0].fd >= 0 || fds[1].fd >= 0) {
    ::poll(fds, 2, -1);
    for (int i = 0; i < 2; ++i) {
      if (fds[i].fd < 0 || fds[i].revents == 0) continue;
      char buffer[65536];
      ssize_t n = ::read(fds[i].fd, buffer, sizeof buffer);
      if (n <= 0) fds[i].fd = -1;
      else (i == 0 ? o.out : o.err).append(buffer, static_cast<std::size_t>(n));
    }
  }
  int status = 0;
  ::waitpid(s.pid, &status, 0);
  o.code = WIFEXITED(status) ? WEXITSTATUS(status) : 1000 + WTERMSIG(status);
  o.took = std::chrono::duration_cast<milliseconds>(Clock::now() - s.at);
  return o;
}

Outcome run(std::vector<std::string_view> args, std::string_view input = {}) {
  auto s = start(std::move(args));
  EXPECT_EQ(::write(s.in.get(), input.data(), input.size()), static_cast<ssize_t>(input.size()));
  s.in.reset();
  return finish(std::move(s));
}

TEST(Run, PassesOnOutputInputAndTheExitCode) {
  auto o = run({"--", "sh", "-c", "cat; echo bad >&2; exit 7"}, "hello");
  EXPECT_EQ(o.code, 7);
  EXPECT_EQ(o.out, "hello");
  EXPECT_EQ(o.err, "bad\n");
}

TEST(Run, EachEndHasItsExitCodeAndSentence) {
  EXPECT_EQ(run({"--", "/bin/true"}).err, "");
  EXPECT_EQ(run({"--", "no-such-program"}).code, 127);
  EXPECT_EQ(run({"--", "/etc/passwd"}).code, 126);
  EXPECT_EQ(run({"--memory", "12Q", "--", "true"}).code, 125);
  auto segv = run({"--", "sh", "-c", "kill -SEGV $$"});
  EXPECT_EQ(segv.code, 139);
  EXPECT_EQ(segv.err, "hotcell: ended by signal 11 (SIGSEGV)\n");
  auto late = run({"--timeout", "300ms", "--", "sleep", "30"});
  EXPECT_EQ(late.code, 124);
  EXPECT_LT(late.took, milliseconds(5000));
  EXPECT_EQ(late.err, "hotcell: stopped: ran longer than 300ms (raise with --timeout)\n");
  auto flood = run({"--output", "10K", "--", "yes"});
  EXPECT_EQ(flood.code, 137);
  EXPECT_EQ(flood.out.size(), 10240U);
}

TEST(Run, JsonHoldsTheOutputAndExitsTheSame) {
  auto o = run({"--json", "--", "sh", "-c", "echo out; echo err >&2; exit 3"});
  EXPECT_EQ(o.code, 3);
  EXPECT_EQ(o.err, "");
  EXPECT_NE(
      o.out.find(
          R"("status":"failed","exit_code":3,"signal":null,"exit_reason":"exited","stdout":"out\n","stderr":"err\n")"),
      std::string::npos)
      << o.out;
  EXPECT_EQ(o.out.find('\n'), o.out.size() - 1);
  auto refused = run({"--json", "--memory", "0", "--", "true"});
  EXPECT_EQ(refused.code, 125);
  EXPECT_NE(refused.out.find(R"("exit_reason":"sandbox_error")"), std::string::npos);
}

TEST(Run, ASignalEndsTheWholeTreeAndIsTheExitCode) {
  for (int number : {SIGINT, SIGTERM, SIGHUP}) {
    auto s = start({"--", "sh", "-c", "setsid sleep 60 & echo up; wait"});
    char c = 0;
    ASSERT_EQ(::read(s.out.get(), &c, 1), 1);
    ::kill(s.pid, number);
    // End of file on the pipes: whoever held them is gone, the double-forked child too.
    auto o = finish(std::move(s));
    EXPECT_EQ(o.code, 128 + number);
    EXPECT_LT(o.took, milliseconds(20000));
  }
}

TEST(Run, AReaderThatGoesAwayEndsTheRunQuietly) {
  auto s = start({"--output", "1G", "--", "yes"});
  char c = 0;
  ASSERT_EQ(::read(s.out.get(), &c, 1), 1);
  s.out.reset();
  s.out = sys::Fd(::open("/dev/null", O_RDONLY | O_CLOEXEC));
  auto o = finish(std::move(s));
  EXPECT_EQ(o.code, 141);
  EXPECT_EQ(o.err, "");
}

TEST(Run, AReaderThatDoesNotReadDoesNotStretchTheTimeout) {
  auto events = sys::make_pipe(0);
  ASSERT_TRUE(events.ok());
  auto s = start(
      {"--timeout", "700ms", "--output", "1G", "--status-fd", std::to_string(events.value().write.get()), "--", "yes"},
      events.value().write.get());
  events.value().write.reset();
  std::string said;
  auto before = Clock::now();
  while (said.find("execution.killed") == std::string::npos && Clock::now() - before < milliseconds(20000)) {
    char buffer[4096];
    ssize_t n = ::read(events.value().read.get(), buffer, sizeof buffer);
    if (n <= 0) break;
    said.append(buffer, static_cast<std::size_t>(n));
  }
  EXPECT_NE(said.find("execution.killed"), std::string::npos) << said;
  EXPECT_LT(Clock::now() - before, milliseconds(6000));
  EXPECT_EQ(finish(std::move(s)).code, 124);
}

TEST(Run, ATerminalSeesAProgressLineThatLeavesNoTraceAndNoForeignEscapes) {
  int primary = -1;
  pid_t pid = ::forkpty(&primary, nullptr, nullptr, nullptr);
  if (pid == 0) {
    std::vector<std::string_view> args = {"--", "sh", "-c", "printf 'a\\033]0;x\\007\\n'; sleep 1.6; echo end"};
    ::_exit(cmd_run(args));
  }
  sys::Fd terminal(primary);
  std::string text;
  char buffer[4096];
  for (ssize_t n; (n = ::read(primary, buffer, sizeof buffer)) > 0;) text.append(buffer, static_cast<std::size_t>(n));
  int status = 0;
  ::waitpid(pid, &status, 0);
  EXPECT_EQ(WEXITSTATUS(status), 0);
  EXPECT_NE(text.find("a\\x1b]0;x\\x07\r\n"), std::string::npos) << text;
  EXPECT_NE(text.find("hotcell: running 1."), std::string::npos) << text;
  EXPECT_TRUE(text.ends_with("\r\x1b[Kend\r\n")) << text;
}

}  // namespace
}  // namespace hotcell
