// The daemon as a service: what systemd is told by its socket, and sockets that it hands over, with real ones.
#include <arpa/inet.h>
#include <fcntl.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <poll.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <thread>

#include "base/strings.h"
#include "daemon/processes.h"
#include "daemon/rest_client.h"
#include "sys/fd.h"

namespace hotcell::testing {
namespace {

namespace fs = std::filesystem;
using namespace std::chrono_literals;
using Clock = std::chrono::steady_clock;

// As the service manager does it: descriptors from 3 on, and variables with the pid that they are for.
class Systemd : public DaemonFixture {
 protected:
  void SetUp() override {
    LeakCheck::SetUp();   // the daemon is started by each test
    std::string folder = (fs::temp_directory_path() / "hotcell-systemd-XXXXXX").string();
    ASSERT_NE(::mkdtemp(folder.data()), nullptr);
    state = folder;
    std::ofstream(state + "/config.yaml") << "# nothing\n";
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    const std::string path = folder + "/notify";
    std::memcpy(address.sun_path, path.c_str(), path.size() + 1);
    notify_ = sys::Fd(::socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0));
    ASSERT_EQ(::bind(notify_.get(), reinterpret_cast<sockaddr*>(&address), sizeof address), 0);
    listener_ = sys::Fd(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
    sockaddr_in here{};
    here.sin_family = AF_INET;
    here.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t size = sizeof here;
    ASSERT_EQ(::bind(listener_.get(), reinterpret_cast<sockaddr*>(&here), sizeof here), 0);
    ASSERT_EQ(::listen(listener_.get(), 16), 0);
    ASSERT_EQ(::getsockname(listener_.get(), reinterpret_cast<sockaddr*>(&here), &size), 0);
    port = ntohs(here.sin_port);
  }
  void TearDown() override {
    if (service_ > 0) {
      ::kill(service_, SIGKILL);
      ::waitpid(service_, nullptr, 0);
    }
    notify_.reset();
    listener_.reset();
    DaemonFixture::TearDown();
  }

  void start(const char* watchdog_usec, bool pid_is_its_own = true) {
    service_ = ::fork();
    if (service_ == 0) {
      const int said = ::open((state + ".said").c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
      ::dup2(said, STDERR_FILENO);
      // Two steps: the listener itself may be 3, and must lose its close-on-exec there.
      const int copy = ::fcntl(listener_.get(), F_DUPFD, 10);
      ::dup2(copy, 3);
      ::close(copy);
      const std::string pid = std::to_string(pid_is_its_own ? ::getpid() : ::getppid()), program = program_path();
      ::setenv("NOTIFY_SOCKET", (state + "/notify").c_str(), 1);
      ::setenv("LISTEN_FDS", "1", 1);
      ::setenv("LISTEN_PID", pid.c_str(), 1);
      ::setenv("WATCHDOG_USEC", watchdog_usec, 1);
      ::setenv("WATCHDOG_PID", std::to_string(::getpid()).c_str(), 1);
      ::setenv("HOTCELL_STATE_DIR", (state + "/state").c_str(), 1);
      // Another port than the one that is handed over; nobody may listen there.
      ::setenv("HOTCELL_LISTEN", "127.0.0.1:0", 1);
      ::execl(program.c_str(), program.c_str(), "serve", "--config", (state + "/config.yaml").c_str(), nullptr);
      ::_exit(127);
    }
  }

  // The next message, or nothing.
  std::string told(std::chrono::milliseconds within) {
    pollfd p{notify_.get(), POLLIN, 0};
    char text[4096];
    if (::poll(&p, 1, static_cast<int>(within.count())) <= 0) return {};
    ssize_t n = ::recv(notify_.get(), text, sizeof text, 0);
    return n > 0 ? std::string(text, static_cast<std::size_t>(n)) : std::string();
  }
  bool is_told(const std::string& wanted, std::chrono::milliseconds within) {
    for (auto until = Clock::now() + within; Clock::now() < until;)
      if (told(200ms).starts_with(wanted)) return true;
    return false;
  }
  // As systemd does, all the time: a queue that is full would hold the daemon up.
  void listen_for(std::chrono::milliseconds time) {
    for (auto until = Clock::now() + time; Clock::now() < until;) told(100ms);
  }
  int wait_for_end() {
    int status = 0;
    for (int i = 0; i < 400; ++i, std::this_thread::sleep_for(50ms))
      if (::waitpid(service_, &status, WNOHANG) == service_) {
        service_ = 0;
        return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
      }
    return -2;
  }

  sys::Fd notify_, listener_;
  pid_t service_ = 0;
};

TEST_F(Systemd, IsToldWhenItIsReadyThatItLivesAndWhenItStops) {
  start("1000000");
  std::string first;
  for (int i = 0; i < 150 && first.empty(); ++i) first = told(200ms);
  EXPECT_TRUE(first.starts_with("READY=1\nSTATUS=")) << first;
  EXPECT_NE(first.find(cat("127.0.0.1:", port)), std::string::npos) << "it serves what it was handed: " << first;
  EXPECT_EQ(send("GET", "/health").status, 200);
  auto ran = send("POST", "/api/v1/sandbox/execute", R"({"command":"true"})");
  EXPECT_EQ(field(ran.body, "status"), "completed") << ran.body;
  for (int i = 0; i < 3; ++i) EXPECT_TRUE(is_told("WATCHDOG=1", 5s)) << i;
  ASSERT_EQ(::kill(service_, SIGTERM), 0);
  EXPECT_TRUE(is_told("STOPPING=1", 10s));
  EXPECT_EQ(wait_for_end(), 0);
}

TEST_F(Systemd, IsNotToldThatItLivesWhileTheFrontOrTheLauncherStandsStill) {
  start("1000000");
  ASSERT_TRUE(is_told("READY=1", 30s));
  for (const char* name : {"hotcell-launch", "hotcell-front"}) {
    ASSERT_TRUE(is_told("WATCHDOG=1", 10s)) << "the control, before " << name;
    const pid_t child = child_named(service_, name);
    ASSERT_GT(child, 0) << name;
    ASSERT_EQ(::kill(child, SIGSTOP), 0);
    // Both are heard of every five seconds; a little more than two of them is patience enough.
    listen_for(14s);
    EXPECT_FALSE(is_told("WATCHDOG=1", 3s)) << name << " stands still";
    ASSERT_EQ(::kill(child, SIGCONT), 0);
    EXPECT_TRUE(is_told("WATCHDOG=1", 15s)) << name << " goes on";
  }
  ASSERT_EQ(::kill(service_, SIGTERM), 0);
  EXPECT_EQ(wait_for_end(), 0);
}

TEST_F(Systemd, SocketsThatAreForAnotherProcessAreLeftAlone) {
  start("0", false);
  const std::string first = told(30s);
  EXPECT_TRUE(first.starts_with("READY=1")) << first;
  EXPECT_EQ(first.find(cat("127.0.0.1:", port, "\n")), std::string::npos);
  EXPECT_FALSE(first.ends_with(cat(":", port))) << first;
  EXPECT_EQ(told(2s), "") << "no watchdog was asked for";
  ASSERT_EQ(::kill(service_, SIGTERM), 0);
  EXPECT_TRUE(is_told("STOPPING=1", 10s));
  EXPECT_EQ(wait_for_end(), 0);
}

}  // namespace
}  // namespace hotcell::testing
