// When a front can first be reached: not before it is behind its walls, whoever made the sockets.
#include <arpa/inet.h>
#include <fcntl.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <poll.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/stat.h>
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
#include "daemon/control.h"
#include "daemon/processes.h"
#include "daemon/rest_client.h"
#include "e2e/cli.h"
#include "sys/file.h"
#include "sys/socket.h"
#include "sys/spawn.h"

namespace hotcell::testing {
namespace {

namespace fs = std::filesystem;
using namespace std::chrono_literals;
using Clock = std::chrono::steady_clock;

std::string status_of(pid_t pid, std::string_view name) {
  const std::string text = sys::read_file(cat("/proc/", pid, "/status").c_str()).value_or("");
  for (auto line : split(text, '\n'))
    if (line.starts_with(name) && line.substr(name.size()).starts_with(':')) return std::string(trim(line.substr(name.size() + 1)));
  return {};
}
int filters_of(pid_t pid) { return std::atoi(status_of(pid, "Seccomp_filters").c_str()); }
// Whoever runs this test may have a filter already.
void expect_walls(pid_t front) {
  EXPECT_EQ(filters_of(front), filters_of(::getpid()) + 1);
  EXPECT_EQ(status_of(front, "Seccomp"), "2");
  EXPECT_EQ(status_of(front, "NoNewPrivs"), "1");
  for (const char* set : {"CapInh", "CapPrm", "CapEff", "CapAmb"}) EXPECT_EQ(status_of(front, set), "0000000000000000") << set;
}

bool listens(int fd) {
  int on = 0;
  socklen_t size = sizeof on;
  EXPECT_EQ(::getsockopt(fd, SOL_SOCKET, SO_ACCEPTCONN, &on, &size), 0);
  return on != 0;
}

sys::Fd bound(std::uint32_t host, bool listening) {
  sys::Fd fd(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  sockaddr_in here{};
  here.sin_family = AF_INET;
  here.sin_addr.s_addr = htonl(host);
  EXPECT_EQ(::bind(fd.get(), reinterpret_cast<sockaddr*>(&here), sizeof here), 0);
  if (listening) {
    EXPECT_TRUE(sys::listen(fd.get()).ok());
  }
  return fd;
}

int connect_to(int family, const void* address, socklen_t size, sys::Fd& out) {
  out = sys::Fd(::socket(family, SOCK_STREAM | SOCK_CLOEXEC, 0));
  return ::connect(out.get(), static_cast<const sockaddr*>(address), size) == 0 ? 0 : errno;
}
int connect_to(const std::string& path) {
  sockaddr_un there{};
  there.sun_family = AF_UNIX;
  std::memcpy(there.sun_path, path.c_str(), path.size() + 1);
  sys::Fd fd;
  return connect_to(AF_UNIX, &there, sizeof there, fd);
}
int connect_to(const sys::Fd& server, sys::Fd& out) {
  sockaddr_in there{};
  socklen_t size = sizeof there;
  EXPECT_EQ(::getsockname(server.get(), reinterpret_cast<sockaddr*>(&there), &size), 0);
  return connect_to(AF_INET, &there, size, out);
}
void ask(const sys::Fd& client) {
  const std::string_view question = "GET /health HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n";
  EXPECT_EQ(::send(client.get(), question.data(), question.size(), MSG_NOSIGNAL), static_cast<ssize_t>(question.size()));
}
std::string answer(const sys::Fd& client) {
  std::string out;
  char buffer[4096];
  pollfd p{client.get(), POLLIN, 0};
  for (ssize_t n = 1; n > 0 && ::poll(&p, 1, 20'000) > 0;) {
    n = ::recv(client.get(), buffer, sizeof buffer, 0);
    if (n > 0) out.append(buffer, static_cast<std::size_t>(n));
  }
  return out;
}

class FrontSockets : public LeakCheck {
 protected:
  void SetUp() override {
    LeakCheck::SetUp();
    folder = (fs::temp_directory_path() / "hotcell-doors-XXXXXX").string();
    ASSERT_NE(::mkdtemp(folder.data()), nullptr);
    fs::create_directory(folder + "/state");
    ::chmod((folder + "/state").c_str(), 0700);
  }
  void TearDown() override {
    end_front();
    fs::remove_all(folder);
    LeakCheck::TearDown();
  }

  // A front of its own, with this test in the supervisor's place.
  void start_front(std::vector<std::string> words) {
    auto pair = sys::seqpacket_pair();
    auto config = sys::memfd("config", cat("state_dir: ", folder, "/state\nlisten: [\"127.0.0.1:0\"]\n"), false, true);
    auto null = sys::open("/dev/null", O_RDWR);
    ASSERT_TRUE(pair.ok() && config.ok() && null.ok());
    sys::Spawn what;
    what.program = (fs::path(program_path()).parent_path() / "hotcell-front").string();
    what.argv = {"hotcell-front"};
    what.argv.insert(what.argv.end(), words.begin(), words.end());
    what.fds = {null.value().get(), null.value().get(), STDERR_FILENO, pair.value().theirs.get(), config.value().get()};
    auto child = sys::spawn(what);
    ASSERT_TRUE(child.ok()) << child.error().message;
    front = std::move(child).value();
    control = std::move(pair.value().ours);
  }
  // Its exit code, by itself within a while.
  int end_of_front() {
    pollfd p{front.pidfd.get(), POLLIN, 0};
    if (::poll(&p, 1, 20'000) <= 0) ::kill(front.pid, SIGKILL);
    int status = 0;
    ::waitpid(front.pid, &status, 0);
    front = {};
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
  }
  void end_front() {
    control.reset();
    if (front.pid > 0) {
      EXPECT_EQ(end_of_front(), 0);
    }
  }

  struct Said {
    char what = 0;
    std::string text;
    std::vector<sys::Fd> fds;
  };
  // The next thing it says, but that it lives.
  Said next() {
    for (;;) {
      pollfd p{control.get(), POLLIN, 0};
      char buffer[4096];
      if (::poll(&p, 1, 20'000) <= 0) return {};
      auto message = sys::receive(control.get(), buffer, 0);
      if (!message.ok() || message.value().size == 0) return {};
      if (buffer[0] != daemon::kAlive) return {buffer[0], std::string(buffer + 1, message.value().size - 1), std::move(message.value().fds)};
    }
  }
  void hand_over(const sys::Fd& fd) {
    const int number = fd.get();
    EXPECT_TRUE(sys::send(control.get(), std::string_view(&daemon::kListening, 1), std::span<const int>(&number, 1)).ok());
    EXPECT_TRUE(sys::send(control.get(), cat(daemon::kListening, 1)).ok());
  }

  std::string folder;
  sys::Child front;       // or whatever is waited for
  sys::Fd control;
};

TEST_F(FrontSockets, AreListenedOnWhenItSaysThatItIsConfinedAndIs) {
  start_front({});
  Said first = next();
  ASSERT_EQ(first.what, daemon::kBound);
  ASSERT_EQ(first.fds.size(), 1u);
  EXPECT_FALSE(listens(first.fds[0].get()));
  Said then = next();
  ASSERT_EQ(then.what, daemon::kConfined) << then.what;
  expect_walls(front.pid);
  EXPECT_FALSE(listens(first.fds[0].get())) << "that is not the front's to do";
  sys::Fd client;
  EXPECT_EQ(connect_to(first.fds[0], client), ECONNREFUSED);

  ASSERT_TRUE(sys::listen(first.fds[0].get()).ok());
  hand_over(first.fds[0]);
  Said ready = next();
  EXPECT_EQ(ready.what, daemon::kReady);
  EXPECT_TRUE(ready.text.starts_with("http://127.0.0.1:")) << ready.text;
  ASSERT_EQ(connect_to(first.fds[0], client), 0);
  ask(client);
  EXPECT_TRUE(answer(client).starts_with("HTTP/1.1 200 "));
}

// systemd's, or those of a front that died: somebody may be waiting at them.
TEST_F(FrontSockets, ThatListenAlreadyAreGivenToItWhenItIsConfined) {
  sys::Fd given = bound(INADDR_LOOPBACK, true), client;
  ASSERT_EQ(connect_to(given, client), 0);
  ask(client);
  start_front({"bound"});
  Said first = next();
  ASSERT_EQ(first.what, daemon::kConfined) << "it binds nothing of its own: " << first.what;
  expect_walls(front.pid);
  hand_over(given);
  EXPECT_EQ(next().what, daemon::kReady);
  EXPECT_TRUE(answer(client).starts_with("HTTP/1.1 200 "));
}

TEST_F(FrontSockets, ThatItMayNotServeEndItBeforeItServesAny) {
  sys::Fd open_to_all = bound(INADDR_ANY, true), client;
  ASSERT_EQ(connect_to(open_to_all, client), 0);
  ask(client);
  start_front({"bound"});
  ASSERT_EQ(next().what, daemon::kConfined);
  hand_over(open_to_all);
  EXPECT_EQ(end_of_front(), 125) << "no key, no TLS";
  open_to_all.reset();
  EXPECT_EQ(answer(client), "");

  sys::Fd deaf = bound(INADDR_LOOPBACK, false);
  start_front({"bound"});
  ASSERT_EQ(next().what, daemon::kConfined);
  hand_over(deaf);
  EXPECT_EQ(end_of_front(), 125) << "nobody can connect to it";
}

// The whole daemon, its front held up by a file that it reads before it is confined.
TEST_F(FrontSockets, NobodyConnectsToADaemonWhoseFrontHasNoWallsYet) {
  const std::string rules = folder + "/rules", door = folder + "/door";
  ASSERT_EQ(::mkfifo(rules.c_str(), 0600), 0);
  std::ofstream(folder + "/config.yaml") << "inspect:\n  rules: " << rules << "\n";
  Call daemon({"serve", "--listen", "127.0.0.1:0", "--unix", door, "--state", folder + "/state", "--config", folder + "/config.yaml"});
  for (auto until = Clock::now() + 20s; !fs::exists(door) && Clock::now() < until;) std::this_thread::sleep_for(10ms);
  ASSERT_TRUE(fs::exists(door)) << "it is bound before the walls";
  const pid_t held = child_named(daemon.pid(), "hotcell-front");
  ASSERT_GT(held, 0);
  EXPECT_EQ(filters_of(held), filters_of(::getpid())) << "the control: it has none yet";
  EXPECT_EQ(connect_to(door), ECONNREFUSED);

  std::ofstream(rules) << "rules: []\n";
  int error = ECONNREFUSED;
  for (auto until = Clock::now() + 20s; error != 0 && Clock::now() < until; std::this_thread::sleep_for(1ms)) error = connect_to(door);
  EXPECT_EQ(error, 0);
  expect_walls(held);
  daemon.send(SIGTERM);
  auto ended = daemon.finish();
  EXPECT_EQ(ended.code, 0) << ended.describe();
}

TEST_F(FrontSockets, TheDashboardIsOpenedOnceItIsThere) {
  const std::string opened = folder + "/opened";
  const std::string said = folder + "/said";
  auto serve = [&](const std::string& path, std::vector<std::string> more) {
    auto out = sys::open(said.c_str(), O_RDWR | O_CREAT | O_TRUNC, 0600);
    sys::Spawn what;
    what.program = "/usr/bin/env";
    what.argv = {"env", "PATH=" + path, program_path(), "serve", "--open", "--listen", "127.0.0.1:0", "--state", folder + "/state"};
    what.argv.insert(what.argv.end(), more.begin(), more.end());
    what.fds = {out.value().get(), out.value().get(), out.value().get()};
    front = sys::spawn(what).value();
  };
  auto words = [&] { return sys::read_file(said.c_str()).value_or(""); };
  auto seen = [&] {
    std::string text;
    for (auto until = Clock::now() + 20s; text.empty() && Clock::now() < until; std::this_thread::sleep_for(10ms)) text = sys::read_file(opened.c_str()).value_or("");
    return text;
  };
  fs::create_directory(folder + "/bin");
  std::ofstream(folder + "/bin/xdg-open") << "#!/bin/sh\necho \"$1\" >" << opened << ".new && mv " << opened << ".new " << opened << "\n";
  fs::permissions(folder + "/bin/xdg-open", fs::perms::owner_all);
  serve(folder + "/bin:/usr/bin:/bin", {});
  const std::string url = seen();
  EXPECT_TRUE(url.starts_with("http://127.0.0.1:")) << url;
  sys::signal_pidfd(front.pidfd.get(), SIGTERM).ignore("its end is looked at");
  EXPECT_EQ(end_of_front(), 0);

  fs::remove(opened);
  serve(folder + "/bin:/usr/bin:/bin", {"--ready-fd", "1"});
  EXPECT_EQ(end_of_front(), 125);
  EXPECT_EQ(words(), "hotcell: --open and --ready-fd: one of them, please\n");
  std::ofstream(folder + "/config.yaml") << "dashboard: false\n";
  serve(folder + "/bin:/usr/bin:/bin", {"--config", folder + "/config.yaml"});
  EXPECT_EQ(end_of_front(), 125);
  EXPECT_EQ(words(), "hotcell: --open: the dashboard is switched off\n");

  // No opener: that is said, and the daemon serves.
  serve(folder + "/nothing", {});
  for (auto until = Clock::now() + 20s; words().find("--open") == std::string::npos && Clock::now() < until;) std::this_thread::sleep_for(10ms);
  sys::signal_pidfd(front.pidfd.get(), SIGTERM).ignore("its end is looked at");
  EXPECT_EQ(end_of_front(), 0);
  EXPECT_NE(words().find("hotcell: --open: xdg-open is not there (package xdg-utils); the dashboard is at http://127.0.0.1:"), std::string::npos) << words();
  EXPECT_FALSE(fs::exists(opened));
}

TEST_F(FrontSockets, ThatCannotBeListenedOnEndTheDaemonWithTheReason) {
  const std::string said = folder + "/said";
  auto out = sys::open(said.c_str(), O_RDWR | O_CREAT, 0600);
  ASSERT_TRUE(out.ok());
  sys::Spawn what;
  what.program = "/usr/bin/env";
  what.argv = {"env", cat("HOTCELL_FAULT=listen:", EADDRINUSE), program_path(), "serve", "--listen", "127.0.0.1:0", "--state", folder + "/state"};
  what.fds = {out.value().get(), out.value().get(), out.value().get()};
  auto daemon = sys::spawn(what);
  ASSERT_TRUE(daemon.ok());
  front = std::move(daemon).value();
  EXPECT_EQ(end_of_front(), 125);
  EXPECT_NE(sys::read_file(said.c_str()).value_or("").find("hotcell: listen: Address already in use"), std::string::npos) << sys::read_file(said.c_str()).value_or("");
}

}  // namespace
}  // namespace hotcell::testing
