// hotcell-tls that somebody has taken over: each attack works as things are, and fails behind confine_tls.
#include "net/tls/confine_tls.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <functional>
#include <thread>

namespace hotcell::net {
namespace {

class TlsConfinement : public ::testing::Test {
 protected:
  void SetUp() override {
    std::string pattern = (std::filesystem::temp_directory_path() / "hotcell-tls-XXXXXX").string();
    ASSERT_NE(::mkdtemp(pattern.data()), nullptr);
    root_ = pattern;
    std::ofstream(root_ / "authorities.pem") << "x";
    std::ofstream(root_ / "other") << "x";
  }
  void TearDown() override { std::filesystem::remove_all(root_); }

  // 0: it worked; its errno otherwise.
  int in_child(bool confined, const std::function<int()>& attack) {
    const pid_t child = ::fork();
    if (child == 0) {
      if (confined && !confine_tls({root_ / "authorities.pem", root_ / "missing"}).ok()) ::_exit(255);
      ::_exit(attack());
    }
    int status = 0;
    if (child < 0 || ::waitpid(child, &status, 0) != child) return 255;
    return WIFEXITED(status) ? WEXITSTATUS(status) : 1000 + WTERMSIG(status);
  }
  void expect_stopped(const char* what, const std::function<int()>& attack, int error) {
    EXPECT_EQ(in_child(false, attack), 0) << what << ": the control";
    EXPECT_EQ(in_child(true, attack), error) << what;
  }
  static int result(long r) { return r < 0 ? errno : 0; }
  std::filesystem::path root_;
};

TEST_F(TlsConfinement, ReadsItsAuthoritiesAndNoOtherFile) {
  std::string mine = root_ / "authorities.pem", other = root_ / "other", fresh = root_ / "new";
  EXPECT_EQ(in_child(true, [&] { return result(::open(mine.c_str(), O_RDONLY | O_CLOEXEC)); }), 0);
  expect_stopped("another file", [&] { return result(::open(other.c_str(), O_RDONLY | O_CLOEXEC)); }, EACCES);
  expect_stopped("writing", [&] { return result(::open(mine.c_str(), O_WRONLY | O_CLOEXEC)); }, EACCES);
  expect_stopped("a new file", [&] {
    int fd = ::open(fresh.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    int error = result(fd);
    ::unlink(fresh.c_str());
    return error;
  }, EACCES);
}

TEST_F(TlsConfinement, StartsNothingAndConnectsNowhere) {
  expect_stopped("a process", [] {
    pid_t child = ::fork();
    if (child == 0) ::_exit(0);
    return result(child);
  }, EPERM);
  expect_stopped("a program", [] {
    ::execl("/bin/true", "true", nullptr);
    return errno;
  }, EPERM);
  expect_stopped("a socket", [] { return result(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)); }, EPERM);
  expect_stopped("a signal", [] { return result(::kill(::getppid(), 0)); }, EPERM);
  EXPECT_EQ(in_child(true, [] {
    int done = 1;
    std::thread([&] { done = 0; }).join();
    return done;
  }), 0) << "threads are what it serves by";
}

TEST_F(TlsConfinement, LeavesNoCoreAndFewDescriptors) {
  auto limit = [](decltype(RLIMIT_AS) what, rlim_t most) {
    return [=] {
      rlimit have{};
      return ::getrlimit(what, &have) == 0 && have.rlim_max <= most ? 0 : 1;
    };
  };
  EXPECT_EQ(in_child(true, limit(RLIMIT_CORE, 0)), 0);
  EXPECT_EQ(in_child(true, limit(RLIMIT_NOFILE, 1100)), 0);
  EXPECT_EQ(in_child(false, limit(RLIMIT_NOFILE, 1100)), 1);
  EXPECT_EQ(in_child(true, limit(RLIMIT_AS, rlim_t{16} << 30)), 0);
}

}  // namespace
}  // namespace hotcell::net
