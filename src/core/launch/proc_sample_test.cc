#include "core/launch/proc_sample.h"

#include <gtest/gtest.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

namespace hotcell {
namespace {

using std::chrono::milliseconds;

void burn(milliseconds time) {
  timespec now{};
  do ::clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
  while (now.tv_sec * 1000 + now.tv_nsec / 1'000'000 < time.count());
}

// Stands for init: starts `children` one after the other, each using 100 ms; reaps them, or ignores their end.
pid_t start_tree(int children, bool ignore) {
  pid_t init = ::fork();
  if (init != 0) return init;
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (::fork() == 0) {
    ::prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (ignore) ::signal(SIGCHLD, SIG_IGN);
    for (int i = 0; i < children; ++i) {
      if (::fork() == 0) {
        burn(milliseconds(100));
        ::_exit(0);
      }
      while (::wait(nullptr) < 0 && errno == EINTR) {
      }
    }
    for (;;) ::pause();
  }
  for (;;) ::pause();
}

// For `time`, and on a loaded machine until the children have had most of their share.
Nanoseconds watch(pid_t init, TreeSampler& sampler, milliseconds time, Nanoseconds share) {
  Nanoseconds seen{0};
  const auto begun = std::chrono::steady_clock::now();
  auto going = [&] {
    auto passed = std::chrono::steady_clock::now() - begun;
    return passed < time || (seen < share && passed < 10 * time);
  };
  while (going()) {
    seen = sampler.sample(init).cpu;
    ::usleep(5'000);
  }
  ::kill(init, SIGKILL);
  ::waitpid(init, nullptr, 0);
  return seen;
}

TEST(TreeSampler, ChildrenThatNobodyReapsStayInTheAccount) {
  TreeSampler sampler;
  Nanoseconds cpu = watch(start_tree(5, true), sampler, milliseconds(1500), milliseconds(350));
  EXPECT_GE(cpu, milliseconds(350)) << "5 children used 100 ms each";
  EXPECT_LE(cpu, milliseconds(700));
}

TEST(TreeSampler, ChildrenThatAreReapedAreCountedOnce) {
  TreeSampler sampler;
  Nanoseconds cpu = watch(start_tree(5, false), sampler, milliseconds(1500), milliseconds(450));
  EXPECT_GE(cpu, milliseconds(450));
  EXPECT_LE(cpu, milliseconds(700));
}

}  // namespace
}  // namespace hotcell
