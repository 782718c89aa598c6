// Terminals of lasting cells over WebSocket: a client of somebody else's, and clients that mean harm.
#include <gtest/gtest.h>
#include <poll.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <cstdio>
#include <thread>

#include "base/source_folder_testing.h"
#include "base/strings.h"
#include "daemon/cells_fixture.h"

namespace hotcell::testing {
namespace {

class CellsTerminal : public CellsRest {
 protected:
  std::string target(const std::string& id, const std::string& shell = "main") const { return cell(id, cat("/shells/", shell, "/attach?rows=30&columns=100")); }
  // Node's own client; what it has to say when it fails.
  std::string node(const std::string& id, const std::vector<std::string>& steps, const std::string& shell = "main") {
    std::string line = cat("node --no-warnings --experimental-websocket ", kSourceFolder, "/tests/daemon/terminal_client.mjs 'ws://127.0.0.1:", port, target(id, shell), "'");
    for (const auto& step : steps) line += cat(" '", step, "'");
    FILE* pipe = ::popen(cat(line, " 2>&1").c_str(), "r");
    std::string said;
    char buffer[4096];
    while (std::fgets(buffer, sizeof buffer, pipe) != nullptr) said += buffer;
    const int status = ::pclose(pipe);
    return WIFEXITED(status) && WEXITSTATUS(status) == 0 ? said : cat("FAILED ", said);
  }
  static HttpHeaders handshake(HttpHeaders more = {}) {
    HttpHeaders all = {{"Upgrade", "websocket"}, {"Sec-WebSocket-Version", "13"}, {"Sec-WebSocket-Key", "dGhlIHNhbXBsZSBub25jZQ=="}};
    for (auto& h : more) all.push_back(h);
    return all;
  }
  static std::string read_for(int fd, int ms) {
    std::string said;
    char buffer[65536];
    pollfd p{fd, POLLIN, 0};
    while (::poll(&p, 1, ms) > 0) {
      ssize_t n = ::read(fd, buffer, sizeof buffer);
      if (n <= 0) break;
      said.append(buffer, static_cast<std::size_t>(n));
    }
    return said;
  }
};

TEST_F(CellsTerminal, AreUsedLeftAndFoundAgain) {
  const std::string id = make(R"({"name":"t"})");
  EXPECT_EQ(node(id, {"type:X=kept; echo mark$((40+2))", "expect:mark42", "type:stty size", "expect:30 100", "resize:20,70", "type:sleep 0.3; stty size", "expect:20 70", "close"}),
            "protocol hotcell-terminal\n");
  EXPECT_TRUE(has(send("GET", cell(id, "/shells")).body, "main")) << "the shell goes on";
  // What was shown is shown again, and the shell is the same.
  EXPECT_EQ(node(id, {"expect:mark42", "type:echo still $X", "expect:still kept"}), "protocol hotcell-terminal\n");
  EXPECT_EQ(node(id, {"type:exit", "closed:1000"}, "short"), "protocol hotcell-terminal\n");
}

TEST_F(CellsTerminal, BreakingTheProtocolEndsTheConnectionNotTheShell) {
  const std::string id = make();
  EXPECT_EQ(node(id, {"type:echo here", "expect:here", "text:not an order", "closed:1008"}), "protocol hotcell-terminal\n");
  EXPECT_EQ(node(id, {"text:{\"resize\":[0,5]}", "closed:1008"}), "protocol hotcell-terminal\n");
  EXPECT_EQ(node(id, {"binary:70000", "closed:1009"}), "protocol hotcell-terminal\n");
  // Not masked.
  int fd = send_only("GET", target(id), "", handshake());
  ASSERT_TRUE(has(read_for(fd, 1000), "101 Switching Protocols"));
  ::send(fd, "\x82\x02hi", 4, MSG_NOSIGNAL);
  std::string end = read_for(fd, 3000);
  EXPECT_TRUE(has(end, std::string("\x03\xea", 2))) << "1002";
  ::close(fd);
  EXPECT_EQ(node(id, {"expect:here", "type:echo alive$((1+1))", "expect:alive2"}), "protocol hotcell-terminal\n");
}

TEST_F(CellsTerminal, WhoMayNotComeInDoesNot) {
  const std::string id = make();
  auto answer = [&](const HttpHeaders& headers, const std::string& at) {
    int fd = send_only("GET", at, "", headers);
    // The head comes in one piece; an open terminal stays open after it.
    std::string said;
    while (said.size() < 12) {
      char byte;
      if (::read(fd, &byte, 1) != 1) break;
      said += byte;
    }
    ::close(fd);
    return said.size() < 12 ? said : said.substr(9, 3);
  };
  EXPECT_EQ(answer(handshake({{"Origin", cat("http://127.0.0.1:", port)}}), target(id)), "101") << "the control: our own page";
  EXPECT_EQ(answer(handshake({{"Origin", "https://evil.example"}}), target(id)), "403");
  EXPECT_EQ(answer({{"Upgrade", "websocket"}, {"Sec-WebSocket-Version", "8"}, {"Sec-WebSocket-Key", "dGhlIHNhbXBsZSBub25jZQ=="}}, target(id)), "426");
  EXPECT_EQ(answer({{"Upgrade", "websocket"}, {"Sec-WebSocket-Version", "13"}, {"Sec-WebSocket-Key", "short"}}, target(id)), "400");
  EXPECT_EQ(answer({}, target(id)), "426");
  EXPECT_EQ(answer(handshake(), target("nobody")), "404");
  EXPECT_EQ(answer(handshake(), cell(id, "/shells/main/attach?rows=0")), "400");
  send("POST", cell(id, "/stop"));
  EXPECT_EQ(answer(handshake(), target(id)), "409");
}

TEST_F(CellsTerminal, ASlowReaderHoldsNobodyUp) {
  const std::string id = make();
  int slow = send_only("GET", target(id), "", handshake());
  ASSERT_TRUE(has(read_for(slow, 1000), "101 Switching Protocols"));
  // "yes\n", masked with zeros; then never read again.
  ::send(slow, "\x82\x84\0\0\0\0yes\n", 10, MSG_NOSIGNAL);
  std::this_thread::sleep_for(std::chrono::milliseconds(500));
  EXPECT_EQ(sh(id, "echo quick"), "quick\n");
  EXPECT_EQ(node(id, {"type:echo other$((1+1))", "expect:other2"}, "second"), "protocol hotcell-terminal\n");
  ::close(slow);
}

class CellsTerminalWithKey : public CellsTerminal {
 protected:
  void SetUp() override {
    CellsTerminal::SetUp();
    key = text_field(send("POST", "/api/v1/keys", R"({"name":"me","scopes":["admin","run","read"]})").body, "key");
    other = text_field(send("POST", "/api/v1/keys", R"({"name":"you","scopes":["read"]})").body, "key");
  }
  std::string key, other;
};

TEST_F(CellsTerminalWithKey, ABrowserShowsItsKeyAmongTheProtocols) {
  auto made = send("POST", "/api/v1/cells", "{}", {{"Authorization", "Bearer " + key}});
  const std::string id = text_field(made.body, "id");
  EXPECT_EQ(node(id, {"key:" + key, "type:echo in$((1+1))", "expect:in2"}), "protocol hotcell-terminal\n");
  EXPECT_TRUE(has(node(id, {"key:hc_wrong", "type:x"}), "FAILED"));
  EXPECT_TRUE(has(node(id, {"key:" + other, "type:x"}), "FAILED")) << "may only read";
}

}  // namespace
}  // namespace hotcell::testing
