// confine_self with `alone`, in a child of its own: what it takes away, and what it leaves. src/server has the attacks.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <functional>
#include <thread>

#include "hotcell/launcher.h"

namespace hotcell {
namespace {

// With the thread sanitizer a forked child has a thread of the sanitizer's, which confine_self can end only where there was one
// before the fork.
pid_t fork_quietly() {
  std::thread([] {}).join();
  return ::fork();
}

int alone(const std::function<int()>& work) {
  const pid_t child = fork_quietly();
  if (child == 0) {
    ConfineOptions options;
    options.alone = true;
    options.read_only = {"/usr"};
    auto done = confine_self(options);
    if (!done.ok()) ::_exit(200);
    for (Layer layer : {Layer::kCapabilities, Layer::kNoNewPrivs, Layer::kLandlock, Layer::kSeccomp})
      if (done.value().find(layer) == nullptr) ::_exit(201);
    ::_exit(work());
  }
  int status = 0;
  if (::waitpid(child, &status, 0) != child) return -1;
  return WIFEXITED(status) ? WEXITSTATUS(status) : 1000 + WTERMSIG(status);
}

TEST(ConfineAlone, StartsNothingAndReadsOnlyWhatWasNamed) {
  EXPECT_EQ(alone([] {
              char* const argv[] = {const_cast<char*>("true"), nullptr};
              ::execv("/usr/bin/true", argv);
              return errno;
            }),
            EPERM);
  EXPECT_EQ(alone([] {
              const pid_t child = ::fork();
              if (child == 0) ::_exit(0);
              return child < 0 ? errno : 0;
            }),
            EPERM);
  EXPECT_EQ(alone([] { return ::open("/etc/passwd", O_RDONLY | O_CLOEXEC) < 0 ? errno : 0; }), EACCES);
  EXPECT_EQ(alone([] { return ::open("/usr/bin/true", O_RDONLY | O_CLOEXEC) < 0 ? errno : 0; }), 0);
  EXPECT_EQ(alone([] { return ::kill(::getppid(), 0) < 0 ? errno : 0; }), EPERM);
}

TEST(ConfineAlone, EveryPathHasARuleOfItsOwn) {
  // Names of one length, as if made in the same place: none stands for another.
  const pid_t child = fork_quietly();
  if (child == 0) {
    ConfineOptions options;
    options.alone = true;
    options.read_only = {"/etc/hosts", "/etc/group", "/usr/share"};
    options.read_write = {"/dev/shm"};
    if (!confine_self(options).ok()) ::_exit(200);
    if (::open("/etc/hosts", O_RDONLY | O_CLOEXEC) < 0) ::_exit(1);
    if (::open("/etc/group", O_RDONLY | O_CLOEXEC) < 0) ::_exit(2);
    if (::open("/usr/share", O_RDONLY | O_DIRECTORY | O_CLOEXEC) < 0) ::_exit(3);
    if (::open("/dev/shm", O_RDONLY | O_DIRECTORY | O_CLOEXEC) < 0) ::_exit(4);
    if (::open("/etc/passwd", O_RDONLY | O_CLOEXEC) >= 0 || errno != EACCES) ::_exit(5);
    ::_exit(0);
  }
  int status = 0;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  ASSERT_TRUE(WIFEXITED(status));
  EXPECT_EQ(WEXITSTATUS(status), 0);
}

TEST(ConfineAlone, LeavesThreadsAndAborting) {
  EXPECT_EQ(alone([] {
              int seen = 1;
              std::thread([&] { seen = 0; }).join();
              return seen;
            }),
            0);
  EXPECT_EQ(alone([] {
              ::signal(SIGABRT, SIG_DFL);
              ::abort();
              return 0;
            }),
            1000 + SIGABRT);
}

}  // namespace
}  // namespace hotcell
