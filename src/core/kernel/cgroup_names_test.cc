#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <string>

#include "base/strings.h"
#include "core/kernel/cgroup_files.h"
#include "sys/fault.h"

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

// What cannot be read is no proof of a death: a sweep by it would end the living cells of others.
TEST(CgroupNames, OneThatCannotBeLookedAtIsNotDead) {
  const std::string prefix = own_prefix();
  const std::string mine = cat(prefix, "1"), gone = cat("4194304", prefix.substr(prefix.find('-')), "1");
  EXPECT_TRUE(is_of_the_dead(gone)) << "the control";
  for (int error : {EMFILE, ENFILE, ENOMEM, EACCES, EIO}) {
    sys::arm_fault("open", error);
    EXPECT_FALSE(is_of_the_dead(mine)) << error;
    sys::arm_fault("open", error);
    EXPECT_FALSE(is_of_the_dead(gone)) << error;
  }
  sys::arm_fault(nullptr, 0);
  EXPECT_FALSE(is_of_the_dead(mine));
  EXPECT_TRUE(is_of_the_dead(gone));
}

TEST(CgroupNames, OneThatDoesNotSaySinceWhenIsAliveAsLongAsItsNumberIs) {
  const std::string prefix = own_prefix();
  const std::string rest = cat("-", prefix.substr(prefix.find('.')), "1");
  EXPECT_FALSE(is_of_the_dead(cat(::getpid(), rest))) << rest;
  EXPECT_TRUE(is_of_the_dead(cat(4194304, rest))) << rest;
}

}  // namespace
}  // namespace hotcell
