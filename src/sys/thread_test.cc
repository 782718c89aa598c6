#include "sys/thread.h"

#include <gtest/gtest.h>
#include <pthread.h>
#include <signal.h>

#include <cerrno>

namespace hotcell::sys {
namespace {

TEST(QuietThread, HasEverySignalBlockedAndTheCallerHasItsOwn) {
  sigset_t before, inside, after;
  ::pthread_sigmask(SIG_SETMASK, nullptr, &before);
  auto thread = quiet_thread([&] { ::pthread_sigmask(SIG_SETMASK, nullptr, &inside); });
  ASSERT_TRUE(thread.ok());
  thread.value().join();
  ::pthread_sigmask(SIG_SETMASK, nullptr, &after);
  for (int s : {SIGINT, SIGTERM, SIGCHLD, SIGUSR1, SIGALRM}) {
    EXPECT_EQ(::sigismember(&inside, s), 1) << s;
    EXPECT_EQ(::sigismember(&after, s), ::sigismember(&before, s)) << s;
  }
}

TEST(QuietThread, ThatCannotBeHadIsAnErrorAndTheSignalsAreAsBefore) {
  sigset_t before, after;
  ::pthread_sigmask(SIG_SETMASK, nullptr, &before);
  // Its stack would be larger than all addresses there are.
  pthread_attr_t usual, huge;
  ASSERT_EQ(::pthread_getattr_default_np(&usual), 0);
  ASSERT_EQ(::pthread_attr_init(&huge), 0);
  ASSERT_EQ(::pthread_attr_setstacksize(&huge, std::size_t{1} << 60), 0);
  ASSERT_EQ(::pthread_setattr_default_np(&huge), 0);
  bool ran = false;
  auto thread = quiet_thread([&] { ran = true; });
  ASSERT_EQ(::pthread_setattr_default_np(&usual), 0);
  ASSERT_FALSE(thread.ok());
  EXPECT_EQ(thread.error().code, ErrorCode::kLimit);
  EXPECT_EQ(thread.error().err, EAGAIN);
  EXPECT_FALSE(ran);
  ::pthread_sigmask(SIG_SETMASK, nullptr, &after);
  EXPECT_EQ(::sigismember(&after, SIGINT), ::sigismember(&before, SIGINT));
  ::pthread_attr_destroy(&huge);
  ::pthread_attr_destroy(&usual);
}

}  // namespace
}  // namespace hotcell::sys
