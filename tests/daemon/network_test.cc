// What `network_enabled` gives a program of the daemon: a proxy, within the daemon's configuration, and nothing past it.
#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <fstream>
#include <thread>

#include "base/strings.h"
#include "daemon/rest_client.h"
#include "net/door/order.h"
#include "sys/framed_child.h"
#include "sys/socket_child.h"

namespace hotcell::testing {
namespace {

struct Listening {
  int fd = -1;
  int port = 0;
  explicit Listening(int type = SOCK_STREAM) : fd(::socket(AF_INET, type | SOCK_CLOEXEC, 0)) {
    sockaddr_in at{};
    at.sin_family = AF_INET;
    at.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t size = sizeof at;
    if (::bind(fd, reinterpret_cast<sockaddr*>(&at), size) != 0) return;
    if (type == SOCK_STREAM) ::listen(fd, 16);
    ::getsockname(fd, reinterpret_cast<sockaddr*>(&at), &size);
    port = ntohs(at.sin_port);
  }
  ~Listening() {
    if (fd >= 0) ::close(fd);
  }
};

std::string say_and_hear(int fd, std::string_view request) {
  ::send(fd, request.data(), request.size(), MSG_NOSIGNAL);
  std::string out;
  char buffer[4096];
  for (ssize_t n; (n = ::recv(fd, buffer, sizeof buffer, 0)) > 0;) out.append(buffer, static_cast<std::size_t>(n));
  return out;
}

// A web server of two ports: one the configuration allows, one it does not.
class DaemonNetwork : public DaemonFixture {
 protected:
  void SetUp() override {
    config = cat("network:\n  allow: [\"localhost:", allowed.port, "\"]\n  private: [\"localhost\"]\n");
    for (Listening* from : {&allowed, &other})
      servers.emplace_back([fd = from->fd] {
        for (int client; (client = ::accept(fd, nullptr, nullptr)) >= 0; ::close(client)) {
          char buffer[4096];
          if (::recv(client, buffer, sizeof buffer, 0) <= 0) continue;
          std::string_view answer = "HTTP/1.1 200 OK\r\nContent-Length: 6\r\nConnection: close\r\n\r\ninside";
          ::send(client, answer.data(), answer.size(), MSG_NOSIGNAL);
        }
      });
    DaemonFixture::SetUp();
  }
  void TearDown() override {
    DaemonFixture::TearDown();
    for (Listening* from : {&allowed, &other}) ::shutdown(from->fd, SHUT_RDWR);
    for (auto& s : servers) s.join();
  }
  // curl leaves local names to no proxy unless it is told.
  HttpAnswer curl(int to, std::string_view more, std::string_view flags = "--noproxy ''") {
    return send("POST", "/api/v1/sandbox/execute",
                cat(R"({"command":"sh","args":["-c","curl -sS -w '%{http_code}' )", flags, " http://localhost:", to, R"(/"])", more, "}"));
  }

  Listening allowed, other;
  std::vector<std::thread> servers;
};

TEST_F(DaemonNetwork, LeadsThroughAProxyToWhatTheConfigurationAllows) {
  auto answer = curl(allowed.port, R"(,"network_enabled":true)");
  EXPECT_NE(answer.body.find("\"stdout\":\"inside200\""), std::string::npos) << answer.body;
  EXPECT_NE(answer.body.find("\"denials\":[]"), std::string::npos) << answer.body;
  // Code gets it, too.
  answer = send("POST", "/api/v1/sandbox/execute",
                cat(R"j({"network_enabled":true,"env":{"no_proxy":"","NO_PROXY":""},"language":"python","code":"import urllib.request as u; print(u.urlopen('http://localhost:)j",
                    allowed.port, R"j(/').read())"})j"));
  EXPECT_NE(answer.body.find("b'inside'"), std::string::npos) << answer.body;
  // What was asked for is kept, by execution.
  auto log = send("GET", "/api/v1/network/log?limit=1");
  EXPECT_NE(log.body.find("\"host\":\"localhost\""), std::string::npos) << log.body;
  EXPECT_NE(send("GET", "/api/v1/network/stats").body.find("\"allowed\":2"), std::string::npos);
  EXPECT_NE(send("GET", cat("/api/v1/network/check?host=localhost:", allowed.port)).body.find("\"allowed\":true"), std::string::npos);
  EXPECT_NE(send("GET", cat("/api/v1/network/check?host=localhost:", other.port)).body.find("\"allowed\":false"), std::string::npos);
  EXPECT_EQ(send("GET", "/api/v1/network/check").status, 400);
}

TEST_F(DaemonNetwork, WhatIsAskedForIsInTheLogWhileTheProgramRuns) {
  auto begun = send("POST", "/api/v1/sandbox/execute?wait=false",
                    cat(R"({"network_enabled":true,"command":"sh","args":["-c","curl -sS --noproxy '' http://localhost:)", allowed.port, R"(/; sleep 50"]})"));
  ASSERT_EQ(begun.status, 202) << begun.body;
  const std::string id = field(begun.body, "id");
  auto until = [&](const std::string& target, const std::string& text) {
    std::string body;
    for (int i = 0; i < 400 && body.find(text) == body.npos; ++i) {
      if (i > 0) std::this_thread::sleep_for(std::chrono::milliseconds(50));
      body = send("GET", target).body;
    }
    return body;
  };
  EXPECT_NE(until("/api/v1/network/log?limit=1", "\"host\":\"localhost\"").find("\"host\":\"localhost\""), std::string::npos);
  EXPECT_EQ(field(send("GET", "/api/v1/sandbox/status/" + id).body, "status"), "running");
  send("POST", "/api/v1/sandbox/kill/" + id);
  EXPECT_NE(until("/api/v1/sandbox/status/" + id, "\"status\":\"killed\"").find("killed"), std::string::npos);
  EXPECT_NE(send("GET", "/api/v1/network/stats").body.find("\"allowed\":1"), std::string::npos) << "and not once more at its end";
}

TEST_F(DaemonNetwork, RefusesTheRestAndSaysWhy) {
  auto answer = curl(other.port, R"(,"network_enabled":true)");
  EXPECT_NE(answer.body.find("403"), std::string::npos) << answer.body;
  EXPECT_NE(answer.body.find("by the daemon's configuration"), std::string::npos) << answer.body;
  EXPECT_NE(answer.body.find("\"layer\":\"proxy\""), std::string::npos) << answer.body;
  // Past the proxy there is nothing, and without asking there is no proxy.
  answer = curl(allowed.port, R"(,"network_enabled":true)", "--noproxy '*'");
  EXPECT_EQ(answer.body.find("inside"), std::string::npos) << answer.body;
  answer = curl(allowed.port, "");
  EXPECT_EQ(answer.body.find("inside"), std::string::npos) << answer.body;
  answer = curl(allowed.port, "", "-x http://127.0.0.1:3128 --noproxy ''");
  EXPECT_EQ(answer.body.find("inside"), std::string::npos) << answer.body;
}

TEST_F(DaemonNetwork, ByNameItIsThatNetworkOrNone) {
  EXPECT_NE(curl(allowed.port, R"(,"network":"proxy")").body.find("inside200"), std::string::npos);
  EXPECT_EQ(curl(allowed.port, R"(,"network":"none")").body.find("inside"), std::string::npos);
  auto host = curl(allowed.port, R"(,"network":"host")");
  EXPECT_EQ(host.status, 422) << host.body;
  EXPECT_NE(host.body.find("network.host"), std::string::npos) << host.body;
  EXPECT_EQ(curl(allowed.port, R"(,"network":"proxy","network_enabled":false)").status, 400);
  EXPECT_EQ(curl(allowed.port, R"(,"network":"all")").status, 400);
}

TEST_F(DaemonNetwork, CanBeSwitchedOnForEverybodyAndIsKept) {
  auto changed = send("PATCH", "/api/v1/sandbox/config", R"({"network_enabled":true})");
  EXPECT_EQ(changed.status, 200) << changed.body;
  EXPECT_NE(curl(allowed.port, "").body.find("inside200"), std::string::npos);
  EXPECT_EQ(curl(allowed.port, R"(,"network_enabled":false)").body.find("inside"), std::string::npos);
}

// What a front that somebody has taken over could say to it.
TEST(HotcellProxy, GivesNoMoreThanItsCommandLineWhateverIsOrdered) {
  Listening door, names(SOCK_DGRAM), web;
  const std::string program = cat(program_path().substr(0, program_path().rfind('/')), "/hotcell-proxy");
  auto child = sys::start_socket_child(program, {"hotcell-proxy", cat("allow=localhost:", web.port), "private=localhost"});
  ASSERT_TRUE(child.ok());
  const int pid = child.value().child.pid;
  sys::FramedChild proxy;
  proxy.start(std::move(child.value().socket), [&](int grace) { return sys::end_socket_child(child.value(), grace); });
  const int fds[] = {door.fd, names.fd};
  net::DoorOrder order;
  order.mode = RuleMode::kOpen;
  auto answer = proxy.ask(sys::frame(pack(order)), std::chrono::seconds(5), net::kLongestDoorOrder, fds);
  ASSERT_EQ(answer.how, sys::FramedChild::How::kAnswered);
  EXPECT_EQ(answer.payload, "");
  std::ifstream status(cat("/proc/", pid, "/status"));
  std::string text((std::istreambuf_iterator<char>(status)), {});
  EXPECT_NE(text.find("Seccomp:\t2"), std::string::npos) << text;
  EXPECT_NE(text.find("NoNewPrivs:\t1"), std::string::npos) << text;
  EXPECT_NE(text.find("CapEff:\t0000000000000000"), std::string::npos) << text;
  auto ask = [&](int port) {
    int fd = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    sockaddr_in to{};
    to.sin_family = AF_INET;
    to.sin_port = htons(static_cast<std::uint16_t>(door.port));
    to.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    if (::connect(fd, reinterpret_cast<sockaddr*>(&to), sizeof to) != 0) return std::string();
    std::string said = say_and_hear(fd, cat("GET http://localhost:", port, "/ HTTP/1.1\r\nHost: localhost:", port, "\r\nConnection: close\r\n\r\n"));
    ::close(fd);
    return said;
  };
  std::thread server([&] {
    int client = ::accept(web.fd, nullptr, nullptr);
    char buffer[1024];
    if (::recv(client, buffer, sizeof buffer, 0) > 0) ::send(client, "HTTP/1.0 200 OK\r\n\r\nyes", 22, MSG_NOSIGNAL);
    ::close(client);
  });
  EXPECT_NE(ask(web.port).find("yes"), std::string::npos);
  server.join();
  EXPECT_NE(ask(door.port).find("403"), std::string::npos);
  auto last = proxy.ask(sys::frame({}), std::chrono::seconds(5), net::kLongestDoorAccount);
  ASSERT_EQ(last.how, sys::FramedChild::How::kAnswered);
  auto account = net::unpack_door_account(last.payload);
  ASSERT_TRUE(account);
  ASSERT_EQ(account->entries.size(), 2u);
  EXPECT_TRUE(account->entries[0].allowed);
  EXPECT_FALSE(account->entries[1].allowed);
}

}  // namespace
}  // namespace hotcell::testing
