#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <string>

#include "base/strings.h"
#include "core/kernel/cgroup_files.h"

namespace hotcell {
namespace {

// Whoever inherits orphans may be in no hurry to bury them: until then the name of a killed launcher's groups is not a living one's.
TEST(CgroupNames, OneWhoWaitsToBeBuriedIsDead) {
  int pipe[2];
  ASSERT_EQ(::pipe(pipe), 0);
  const pid_t pid = ::fork();
  if (pid == 0) {
    const std::string mine = own_prefix();
    if (::write(pipe[1], mine.data(), mine.size()) < 0) ::_exit(1);
    for (;;) ::pause();
  }
  ::close(pipe[1]);
  char text[200];
  ssize_t n = ::read(pipe[0], text, sizeof text);
  ::close(pipe[0]);
  ASSERT_GT(n, 0);
  const std::string name = cat(std::string(text, static_cast<std::size_t>(n)), "1");
  EXPECT_FALSE(is_of_the_dead(name)) << name;
  ASSERT_EQ(::kill(pid, SIGKILL), 0);
  siginfo_t ended{};
  ASSERT_EQ(::waitid(P_PID, static_cast<id_t>(pid), &ended, WEXITED | WNOWAIT), 0);   // it stays as it is
  EXPECT_TRUE(is_of_the_dead(name)) << name;
  ASSERT_EQ(::waitpid(pid, nullptr, 0), pid);
  EXPECT_TRUE(is_of_the_dead(name)) << name;
  EXPECT_FALSE(is_of_the_dead(own_prefix() + "1"));
}

}  // namespace
}  // namespace hotcell
