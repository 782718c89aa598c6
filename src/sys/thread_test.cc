#include "sys/thread.h"

#include <gtest/gtest.h>
#include <signal.h>

namespace hotcell::sys {
namespace {

TEST(QuietThread, HasEverySignalBlockedAndTheCallerHasItsOwn) {
  sigset_t before, inside, after;
  ::pthread_sigmask(SIG_SETMASK, nullptr, &before);
  quiet_thread([&] { ::pthread_sigmask(SIG_SETMASK, nullptr, &inside); }).join();
  ::pthread_sigmask(SIG_SETMASK, nullptr, &after);
  for (int s : {SIGINT, SIGTERM, SIGCHLD, SIGUSR1, SIGALRM}) {
    EXPECT_EQ(::sigismember(&inside, s), 1) << s;
    EXPECT_EQ(::sigismember(&after, s), ::sigismember(&before, s)) << s;
  }
}

}  // namespace
}  // namespace hotcell::sys
