#include "server/http/loop.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <unistd.h>

namespace hotcell::server {
namespace {

struct Pipe {
  Pipe() { (void)!::pipe2(ends, O_CLOEXEC | O_NONBLOCK); }
  ~Pipe() {
    ::close(ends[0]);
    ::close(ends[1]);
  }
  int ends[2] = {-1, -1};
};

// A reader that is held and let go again asks anew before its old watch is gone; it must not wait for ever.
TEST(Loop, ASecondWatchOfADescriptorOutlivesTheFirst) {
  Loop loop;
  Pipe pipe;
  int first = 0, second = 0;
  Loop::Handle old = loop.when_readable(pipe.ends[0], [&] { ++first; });
  Loop::Handle now = loop.when_readable(pipe.ends[0], [&] {
    ++second;
    loop.stop();
  });
  ASSERT_TRUE(now);
  loop.post([&] {
    old.reset();
    (void)!::write(pipe.ends[1], "x", 1);
  });
  auto late = loop.after(std::chrono::seconds(20), [&] { loop.stop(); });
  loop.run();
  EXPECT_EQ(first, 0);
  EXPECT_EQ(second, 1);
}

TEST(Loop, AWatchThatDropsItselfIsNotCalledAgain) {
  Loop loop;
  Pipe pipe;
  int called = 0;
  Loop::Handle watch, later;
  watch = loop.when_readable(pipe.ends[0], [&] {
    ++called;
    later = loop.after(std::chrono::milliseconds(20), [&] { loop.stop(); });
    watch.reset();
  });
  (void)!::write(pipe.ends[1], "x", 1);
  loop.run();
  EXPECT_EQ(called, 1);
}

TEST(Loop, ADescriptorIsClosedByItsOwnerAlone) {
  Loop loop;
  Pipe pipe;
  loop.when_readable(pipe.ends[0], [] {}).reset();
  loop.when_writable(pipe.ends[1], [] {}).reset();
  EXPECT_EQ(::fcntl(pipe.ends[0], F_GETFD), FD_CLOEXEC);
  EXPECT_EQ(::fcntl(pipe.ends[1], F_GETFD), FD_CLOEXEC);
}

}  // namespace
}  // namespace hotcell::server
