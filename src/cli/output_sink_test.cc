#include "cli/output_sink.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <pty.h>
#include <unistd.h>

#include <csignal>
#include <thread>

#include "cli/event_writer.h"
#include "sys/fd.h"

namespace hotcell {
namespace {

using std::chrono::milliseconds;
using Clock = OutputSink::Clock;

std::string read_all(int fd) {
  std::string out;
  char buffer[65536];
  for (ssize_t n; (n = ::read(fd, buffer, sizeof buffer)) > 0;) out.append(buffer, static_cast<std::size_t>(n));
  return out;
}

std::string pattern(std::size_t size) {
  std::string out(size, '\0');
  for (std::size_t i = 0; i < size; ++i) out[i] = static_cast<char>('a' + (i * 7 + i / 251) % 26);
  return out;
}

TEST(OutputSink, ASlowReaderDoesNotMakeASmallWriterWait) {
  auto pipe = sys::make_pipe(0);
  ASSERT_TRUE(pipe.ok());
  OutputSink sink(pipe.value().write.get());
  std::string text = pattern(900 << 10);
  auto before = Clock::now();
  for (std::size_t at = 0; at < text.size(); at += 65536)
    sink.push(std::string_view(text).substr(at, 65536), before + milliseconds(60000));
  EXPECT_LT(Clock::now() - before, milliseconds(5000));
  EXPECT_TRUE(sink.waiting());
  std::string got;
  std::thread reader([&] { got = read_all(pipe.value().read.get()); });
  sink.finish();
  pipe.value().write.reset();
  reader.join();
  EXPECT_TRUE(got == text);
}

TEST(OutputSink, AStoppedReaderHoldsALargeWriterOnlyUntilTheDeadline) {
  auto pipe = sys::make_pipe(0);
  ASSERT_TRUE(pipe.ok());
  OutputSink sink(pipe.value().write.get());
  auto before = Clock::now();
  sink.push(std::string(3 << 20, 'x'), before + milliseconds(200));
  EXPECT_GE(Clock::now() - before, milliseconds(190));
  EXPECT_LT(Clock::now() - before, milliseconds(5000));
}

TEST(OutputSink, NothingIsLostOrReorderedUnderBackpressure) {
  auto pipe = sys::make_pipe(0);
  ASSERT_TRUE(pipe.ok());
  std::string text = pattern(5 << 20), got;
  std::thread reader([&] { got = read_all(pipe.value().read.get()); });
  OutputSink sink(pipe.value().write.get());
  for (std::size_t at = 0; at < text.size(); at += 40000)
    sink.push(std::string_view(text).substr(at, 40000), Clock::now() + milliseconds(60000));
  sink.finish();
  pipe.value().write.reset();
  reader.join();
  EXPECT_TRUE(got == text);
}

TEST(OutputSink, AReaderThatWentAwayIsRememberedAsEpipe) {
  std::signal(SIGPIPE, SIG_IGN);
  auto pipe = sys::make_pipe(0);
  ASSERT_TRUE(pipe.ok());
  pipe.value().read.reset();
  OutputSink sink(pipe.value().write.get());
  sink.push("x", Clock::now() + milliseconds(1000));
  EXPECT_EQ(sink.failed(), EPIPE);
  sink.push(std::string(3 << 20, 'x'), Clock::now() + milliseconds(60000));
  EXPECT_FALSE(sink.waiting());
  std::signal(SIGPIPE, SIG_DFL);
}

TEST(OutputSink, TheDescriptorKeepsItsFlagsForOthersWhoShareIt) {
  auto pipe = sys::make_pipe(0);
  ASSERT_TRUE(pipe.ok());
  OutputSink sink(pipe.value().write.get());
  sink.push(std::string(200000, 'x'), Clock::now() + milliseconds(1000));
  EXPECT_EQ(::fcntl(pipe.value().write.get(), F_GETFL) & O_NONBLOCK, 0);
}

TEST(OutputSink, ATerminalIsFilteredAndAPipeIsNot) {
  int primary = -1, secondary = -1;
  ASSERT_EQ(::openpty(&primary, &secondary, nullptr, nullptr, nullptr), 0);
  sys::Fd a(primary), b(secondary);
  OutputSink sink(secondary);
  EXPECT_TRUE(sink.tty());
  sink.push("\x1b]0;owned\x07ok", Clock::now() + milliseconds(1000));
  sink.finish();
  EXPECT_FALSE(sink.at_line_start());
  char buffer[256];
  ssize_t n = ::read(primary, buffer, sizeof buffer);
  ASSERT_GT(n, 0);
  EXPECT_EQ(std::string(buffer, static_cast<std::size_t>(n)), "\\x1b]0;owned\\x07ok");

  auto pipe = sys::make_pipe(0);
  ASSERT_TRUE(pipe.ok());
  OutputSink plain(pipe.value().write.get());
  plain.push("\x1b]0;raw\x07\n", Clock::now() + milliseconds(1000));
  pipe.value().write.reset();
  EXPECT_EQ(read_all(pipe.value().read.get()), "\x1b]0;raw\x07\n");
  EXPECT_TRUE(plain.at_line_start());
}

TEST(EventWriter, RefusesWhatIsNoOpenWritableDescriptor) {
  EXPECT_FALSE(EventWriter::create("x").ok());
  EXPECT_FALSE(EventWriter::create("-1").ok());
  EXPECT_FALSE(EventWriter::create("99999999999").ok());
  EXPECT_FALSE(EventWriter::create("987").ok());
  auto pipe = sys::make_pipe(0);
  ASSERT_TRUE(pipe.ok());
  EXPECT_FALSE(EventWriter::create(std::to_string(pipe.value().read.get())).ok());
  EXPECT_TRUE(EventWriter::create(std::to_string(pipe.value().write.get())).ok());
}

TEST(EventWriter, AReaderThatDoesNotReadCannotBlockUsAndGetsWholeLines) {
  auto pipe = sys::make_pipe(0);
  ASSERT_TRUE(pipe.ok());
  auto writer = EventWriter::create(std::to_string(pipe.value().write.get()));
  ASSERT_TRUE(writer.ok());
  auto before = Clock::now();
  for (int i = 0; i < 5000; ++i) writer.value().write({"limit.warning", "c1", {}, {{"limit_type", "memory"}}});
  writer.value().finish();
  EXPECT_LT(Clock::now() - before, milliseconds(10000));
  pipe.value().write.reset();
  auto text = read_all(pipe.value().read.get());
  EXPECT_GT(text.size(), 60000U);
}

}  // namespace
}  // namespace hotcell
