// hotcell-inspect that somebody has taken over. Each attack is tried twice in a process of its own: as things are, where
// it must work (or the test would show nothing), and behind confine_inspect, where it must not.
#include "inspect/program/confine_inspect.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <functional>
#include <thread>

namespace hotcell::inspect {
namespace {

constexpr int kStopped = 1000 + SIGSYS;

// 0: it worked; 1000 and more: killed by that signal.
int in_child(bool confined, const std::function<int()>& attack) {
  const pid_t child = ::fork();
  if (child == 0) {
    if (confined) {
      auto done = confine_inspect(64);
      if (!done.ok()) ::_exit(255);
    }
    ::_exit(attack());
  }
  int status = 0;
  if (child < 0 || ::waitpid(child, &status, 0) != child) return 255;
  return WIFEXITED(status) ? WEXITSTATUS(status) : 1000 + WTERMSIG(status);
}

void expect_stopped(const char* what, const std::function<int()>& attack, int how = kStopped) {
  EXPECT_EQ(in_child(false, attack), 0) << what << ": the control";
  EXPECT_EQ(in_child(true, attack), how) << what;
}

int result(long r) { return r < 0 ? 1 : 0; }

TEST(InspectConfinement, OpensNoFile) {
  expect_stopped("read", [] { return result(::open("/etc/passwd", O_RDONLY | O_CLOEXEC)); });
  expect_stopped("write", [] { return result(::open("/tmp", O_TMPFILE | O_WRONLY | O_CLOEXEC, 0600)); });
  expect_stopped("list", [] { return result(::open("/", O_RDONLY | O_DIRECTORY | O_CLOEXEC)); });
}

TEST(InspectConfinement, StartsNothing) {
  expect_stopped("fork", [] {
    pid_t child = ::fork();
    if (child == 0) ::_exit(0);
    return result(child);
  });
  expect_stopped("exec", [] {
    ::execl("/bin/true", "true", nullptr);
    return 1;
  });
  expect_stopped("thread", [] {
    std::thread([] {}).join();
    return 0;
  });
}

TEST(InspectConfinement, ConnectsNowhere) {
  expect_stopped("socket", [] { return result(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)); });
  expect_stopped("local socket", [] { return result(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0)); });
  expect_stopped("pair", [] {
    int fds[2];
    return result(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, fds));
  });
}

TEST(InspectConfinement, TouchesNoOtherProcess) {
  expect_stopped("signal", [] { return result(::kill(::getppid(), 0)); });
  expect_stopped("prctl", [] { return result(::prctl(PR_SET_DUMPABLE, 1)); });
}

TEST(InspectConfinement, MakesNothingExecutable) {
  expect_stopped("mmap", [] { return ::mmap(nullptr, 4096, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0) == MAP_FAILED ? 1 : 0; });
}

TEST(InspectConfinement, MemoryEnds) {
  expect_stopped("four gigabytes", [] {
    return ::mmap(nullptr, std::size_t{4} << 30, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0) == MAP_FAILED ? 1 : 0;
  }, 1);
}

TEST(InspectConfinement, ReadsAndWritesWhatIsOpen) {
  int fds[2];
  ASSERT_EQ(::pipe2(fds, O_CLOEXEC), 0);
  ASSERT_EQ(in_child(true, [&] {
    char c = 0;
    return ::write(fds[1], "x", 1) == 1 && ::read(fds[0], &c, 1) == 1 && c == 'x' ? 0 : 1;
  }), 0);
  ::close(fds[0]);
  ::close(fds[1]);
}

TEST(ConfineInspect, AnOlderLandlockIsEnoughAndNoneIsNot) {
  auto with = [](Layer layer, LayerStatus status) {
    Enforcement done;
    done.layers = {{Layer::kCapabilities, LayerStatus::kFull, ""}, {Layer::kNoNewPrivs, LayerStatus::kFull, ""}, {Layer::kLandlock, LayerStatus::kFull, ""}};
    for (auto& l : done.layers)
      if (l.layer == layer) l.status = status;
    return done;
  };
  EXPECT_TRUE(is_enough(with(Layer::kLandlock, LayerStatus::kFull)));
  EXPECT_TRUE(is_enough(with(Layer::kLandlock, LayerStatus::kPartial)));
  EXPECT_FALSE(is_enough(with(Layer::kLandlock, LayerStatus::kNone)));
  EXPECT_FALSE(is_enough(with(Layer::kCapabilities, LayerStatus::kPartial)));
}

}  // namespace
}  // namespace hotcell::inspect
