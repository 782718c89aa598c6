#include "core/launch/proc_sample.h"

#include <gtest/gtest.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/mman.h>
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

constexpr std::size_t kMuch = 32 << 20;

// Stands for init, too: `children` that have touched so much of a file, and of memory of their own (a page is touched at a time).
pid_t start_mappers(int children, int file, bool shared, std::size_t much, int ready) {
  pid_t init = ::fork();
  if (init != 0) return init;
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  for (int i = 0; i < children; ++i) {
    if (::fork() != 0) continue;
    ::prctl(PR_SET_PDEATHSIG, SIGKILL);
    ::prctl(PR_SET_NAME, "\nRssAnon: 9999");
    int flags = file >= 0 ? MAP_SHARED : MAP_ANONYMOUS | (shared ? MAP_SHARED : MAP_PRIVATE);
    auto* p = static_cast<volatile char*>(::mmap(nullptr, kMuch, file >= 0 ? PROT_READ : PROT_READ | PROT_WRITE, flags, file, 0));
    if (p == MAP_FAILED) ::_exit(1);
    for (std::size_t at = 0; at < much; at += 4096) {
      if (file >= 0) (void)p[at];
      else p[at] = 1;
    }
    if (::write(ready, "r", 1) != 1) ::_exit(1);
    for (;;) ::pause();
  }
  for (;;) ::pause();
}

std::uint64_t memory_of(int children, int file, bool shared = false, std::size_t much = kMuch) {
  int ready[2];
  if (::pipe(ready) < 0) return 0;
  pid_t init = start_mappers(children, file, shared, much, ready[1]);
  char byte;
  for (int i = 0; i < children; ++i)
    if (::read(ready[0], &byte, 1) != 1) ADD_FAILURE() << "a child did not come up";
  std::uint64_t used = TreeSampler().sample(init).anonymous.n;
  ::kill(init, SIGKILL);
  ::waitpid(init, nullptr, 0);
  ::close(ready[0]);
  ::close(ready[1]);
  return used;
}

// Ten that sleep share one library, and were counted ten.
TEST(TreeSampler, PagesOfFilesAreThereOnce) {
  char name[] = "/var/tmp/hc-sample-XXXXXX";
  int file = ::mkstemp(name);
  ASSERT_GE(file, 0);
  ::unlink(name);
  const std::string block(1 << 20, 'x');
  for (std::size_t at = 0; at < kMuch; at += block.size()) ASSERT_EQ(::write(file, block.data(), block.size()), static_cast<ssize_t>(block.size()));
  const std::uint64_t without = memory_of(3, -1, false, 0);  // much, where sanitizers keep their own books
  const std::uint64_t used = memory_of(3, file) - without;
  EXPECT_GE(used, kMuch / 8 * 7);
  EXPECT_LT(used, 2 * kMuch);
  ::close(file);
  EXPECT_GE(memory_of(3, -1), 3 * kMuch) << "what is its own counts";
  EXPECT_GE(memory_of(1, -1, true), kMuch) << "and so does shared memory";
}

}  // namespace
}  // namespace hotcell
