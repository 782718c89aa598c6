// IO: what flows in and out.
#include <fcntl.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <cstring>

#include "escape/escape.h"

namespace hotcell::testing {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

HOTCELL_PROGRAM(flood) {
  static char block[64 << 10];
  std::memset(block, 'x', sizeof block);
  for (;;) (void)!::write(1, block, sizeof block);
}
HOTCELL_PROGRAM(flood_lines) {
  static char block[64 << 10];
  std::memset(block, '\n', sizeof block);
  for (;;) (void)!::write(2, block, sizeof block);
}
HOTCELL_PROGRAM(three_mebibytes) {
  std::string block(1 << 20, 'y');
  for (int i = 0; i < 3; ++i)
    for (std::size_t at = 0; at < block.size();)
      at += static_cast<std::size_t>(::write(1, block.data() + at, block.size() - at));
  return 4;
}
HOTCELL_PROGRAM(stderr_first) {
  std::string block(512 << 10, 'e');
  for (int fd : {2, 1})
    for (std::size_t at = 0; at < block.size();)
      at += static_cast<std::size_t>(::write(fd, block.data() + at, block.size() - at));
  return 0;
}
HOTCELL_PROGRAM(close_and_go_on) {
  for (int fd : {0, 1, 2}) ::close(fd);
  ::usleep(300000);
  return 7;
}
HOTCELL_PROGRAM(never_reads) {
  ::usleep(100000);
  return 0;
}
HOTCELL_PROGRAM(closes_stdin) {
  char c;
  (void)!::read(0, &c, 1);
  ::close(0);
  ::usleep(200000);
  return 0;
}
HOTCELL_PROGRAM(copy_stdin) {
  char block[8192];
  for (ssize_t n; (n = ::read(0, block, sizeof block)) > 0;)
    if (::write(1, block, static_cast<std::size_t>(n)) != n) return 1;
  return 0;
}
HOTCELL_PROGRAM(classify_descriptors) {
  for (int fd = 0; fd < 1024; ++fd) {
    char path[64], target[256] = {};
    std::snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
    if (::readlink(path, target, sizeof target - 1) < 0) continue;
    if (char* bracket = std::strchr(target, '[')) *bracket = 0;  // the number of the pipe
    ::dprintf(1, "%d %s\n", fd, target);
  }
  return 0;
}

std::size_t resident_kib() {
  std::string text = read_text("/proc/self/status");
  auto at = text.find("VmHWM:");
  return at == std::string::npos ? 0 : static_cast<std::size_t>(std::atol(text.c_str() + at + 6));
}
std::string pattern(std::size_t size) {
  std::string out(size, '\0');
  std::uint32_t x = 1;
  for (char& c : out) c = static_cast<char>((x = x * 1664525 + 1013904223) >> 24);
  return out;
}

class Streams : public LeakCheck {
 protected:
  Policy policy_ = test_policy();
};

TEST_F(Streams, AnEndlessFloodIsCutAndTheCellKilled) {
  std::size_t before = resident_kib();
  for (const char* name : {"flood", "flood_lines"}) {
    Report r = run(policy_, program(name));
    EXPECT_EQ(exit_reason(r), "output") << name;
    EXPECT_EQ(r.verdict.cli_exit_code(), 137);
    bool out = std::string_view(name) == "flood";
    EXPECT_EQ((out ? r.out : r.err).size(), policy_.limits.output.n) << name;
    EXPECT_TRUE(out ? r.out_truncated : r.err_truncated) << name;
    EXPECT_FALSE(out ? r.err_truncated : r.out_truncated) << name;
    EXPECT_GT(out ? r.out_bytes : r.err_bytes, policy_.limits.output.n) << name;
  }
  EXPECT_LT(resident_kib() - before, 32u << 10) << "KiB more than before";
}

// With `truncate` the program goes on; a flood for two seconds must not show in our memory either.
TEST_F(Streams, TruncateGoesOnCountsAndDrops) {
  policy_.on_output = OnOutput::kTruncate;
  Report r = run(policy_, program("three_mebibytes"));
  EXPECT_EQ(r.verdict.exit_code, 4) << exit_reason(r);
  EXPECT_EQ(r.out.size(), 1u << 20);
  EXPECT_EQ(r.out_bytes, 3u << 20);
  EXPECT_TRUE(r.out_truncated);

  std::size_t before = resident_kib();
  policy_.limits.wall = seconds(2);
  Report flood = run(policy_, program("flood"));
  EXPECT_EQ(exit_reason(flood), "timeout_wall");
  EXPECT_GT(flood.out_bytes, 16u << 20);
  EXPECT_LT(resident_kib() - before, 32u << 10) << "KiB more than before";
}

TEST_F(Streams, BothStreamsAreDrainedAtOnce) {
  policy_.limits.wall = seconds(10);
  Report r = run(policy_, program("stderr_first"));
  EXPECT_EQ(r.verdict.exit_code, 0) << exit_reason(r);
  EXPECT_EQ(r.err.size(), 512u << 10);
  EXPECT_EQ(r.out.size(), 512u << 10);
}

TEST_F(Streams, ClosingItsStreamsIsNotTheEnd) {
  Report r = run(policy_, program("close_and_go_on"));
  EXPECT_EQ(r.verdict.exit_code, 7) << describe(r);
  EXPECT_GE(r.duration, milliseconds(300));
}

TEST_F(Streams, StdinThatIsNeverReadDoesNotBlock) {
  Request request = program("never_reads");
  request.stdin_source = StdinBytes{std::string(10 << 20, 'x')};
  Report r = run(policy_, std::move(request));
  EXPECT_EQ(r.verdict.exit_code, 0) << describe(r);
}

// SIGPIPE has its default action in this program: the library must not let it happen.
TEST_F(Streams, StdinClosedEarlyNeitherEndsUsNorTheRun) {
  struct sigaction now {};
  ASSERT_EQ(::sigaction(SIGPIPE, nullptr, &now), 0);
  ASSERT_EQ(now.sa_handler, SIG_DFL);
  Request request = program("closes_stdin");
  request.stdin_source = StdinBytes{std::string(10 << 20, 'x')};
  Report r = run(policy_, std::move(request));
  EXPECT_EQ(r.verdict.exit_code, 0) << describe(r);
}

TEST_F(Streams, BytesPassUnchangedBothWays) {
  std::string bytes = pattern(5 << 20);
  policy_.limits.output = 8_MiB;
  Request request = program("copy_stdin");
  request.stdin_source = StdinBytes{bytes};
  Report r = run(policy_, std::move(request));
  EXPECT_EQ(r.verdict.exit_code, 0);
  EXPECT_TRUE(r.out == bytes) << r.out.size() << " bytes came back";
}

TEST_F(Streams, StdinFromADescriptorIsLeftOpenForTheCaller) {
  int fds[2];
  ASSERT_EQ(::pipe2(fds, O_CLOEXEC), 0);
  std::string bytes = pattern(32 << 10);
  ASSERT_EQ(::write(fds[1], bytes.data(), bytes.size()), static_cast<ssize_t>(bytes.size()));
  ::close(fds[1]);
  Request request = program("copy_stdin");
  request.stdin_source = StdinFd{fds[0]};
  Report r = run(policy_, std::move(request));
  EXPECT_TRUE(r.out == bytes) << describe(r);
  EXPECT_EQ(::fcntl(fds[0], F_GETFD), FD_CLOEXEC);
  ::close(fds[0]);
}

// A source that never says anything must cost neither the clock nor the processor.
TEST_F(Streams, ASilentSourceDoesNotStopTheClock) {
  int fds[2];
  ASSERT_EQ(::pipe2(fds, O_CLOEXEC), 0);
  policy_.limits.wall = seconds(1);
  Request request = program("copy_stdin");
  request.stdin_source = StdinFd{fds[0]};
  rusage before{}, after{};
  ::getrusage(RUSAGE_SELF, &before);
  Report r = run(policy_, std::move(request));
  ::getrusage(RUSAGE_SELF, &after);
  EXPECT_EQ(exit_reason(r), "timeout_wall");
  auto spent = [](const rusage& u) {
    return (u.ru_utime.tv_sec + u.ru_stime.tv_sec) * 1000 + (u.ru_utime.tv_usec + u.ru_stime.tv_usec) / 1000;
  };
  EXPECT_LT(spent(after) - spent(before), 500) << "ms of CPU while waiting for a second";
  ::close(fds[0]);
  ::close(fds[1]);
}

// What is left of the caller's input after the program closed its own is the caller's.
TEST_F(Streams, AClosedStdinDoesNotSwallowTheCallersInput) {
  int fds[2];
  ASSERT_EQ(::pipe2(fds, O_CLOEXEC), 0);
  ASSERT_EQ(::write(fds[1], "x", 1), 1);
  Request request = program("closes_stdin");
  request.stdin_source = StdinFd{fds[0]};
  Report r = run(policy_, std::move(request));
  EXPECT_EQ(r.verdict.exit_code, 0) << describe(r);
  ASSERT_EQ(::write(fds[1], "later", 5), 5);
  EXPECT_EQ(run(policy_, program("never_reads")).verdict.exit_code, 0);
  char text[16] = {};
  EXPECT_EQ(::read(fds[0], text, sizeof text), 5);
  EXPECT_STREQ(text, "later");
  ::close(fds[0]);
  ::close(fds[1]);
}

TEST_F(Streams, OutputFlowsToTheCallbackNeverMoreThanTheLimit) {
  policy_.on_output = OnOutput::kTruncate;
  std::size_t seen = 0;
  Request request = program("three_mebibytes");
  request.collect_output = false;
  request.on_output = [&](Stream stream, std::string_view bytes) {
    EXPECT_EQ(stream, Stream::kStdout);
    seen += bytes.size();
  };
  Report r = run(policy_, std::move(request));
  EXPECT_EQ(seen, 1u << 20);
  EXPECT_EQ(r.out, "");
  EXPECT_EQ(r.out_bytes, 3u << 20);
}

TEST_F(Streams, TheProgramHasThreePipesAndNothingElse) {
  int forgotten[] = {::open("/etc/passwd", O_RDONLY), ::dup(2), ::open("/", O_RDONLY | O_DIRECTORY)};
  ASSERT_EQ(::fcntl(forgotten[0], F_GETFD), 0) << "not close-on-exec, as careless callers leave it";
  Report r = run(policy_, program("classify_descriptors"));
  for (int fd : forgotten) ::close(fd);
  EXPECT_EQ(r.out, "0 pipe:\n1 pipe:\n2 pipe:\n") << describe(r);
}

}  // namespace
}  // namespace hotcell::testing
