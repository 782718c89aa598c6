// What a cell is given by REST and by MCP: a network that ends, a disk that is held.
#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <thread>

#include "base/strings.h"
#include "daemon/cells_fixture.h"

namespace hotcell::testing {
namespace {

// A web server on the loopback, which the daemon's configuration allows programs to reach.
class CellsPhases : public CellsRest {
 protected:
  void SetUp() override {
    listening_ = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    sockaddr_in at{};
    at.sin_family = AF_INET;
    at.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t size = sizeof at;
    ASSERT_EQ(::bind(listening_, reinterpret_cast<sockaddr*>(&at), size), 0);
    ASSERT_EQ(::listen(listening_, 16), 0);
    ::getsockname(listening_, reinterpret_cast<sockaddr*>(&at), &size);
    web_port_ = ntohs(at.sin_port);
    server_ = std::thread([this] {
      for (int client; (client = ::accept(listening_, nullptr, nullptr)) >= 0; ::close(client)) {
        char buffer[4096];
        if (::recv(client, buffer, sizeof buffer, 0) <= 0) continue;
        std::string_view answer = "HTTP/1.1 200 OK\r\nContent-Length: 6\r\nConnection: close\r\n\r\ninside";
        ::send(client, answer.data(), answer.size(), MSG_NOSIGNAL);
      }
    });
    config = cat("network:\n  allow: [\"localhost:", web_port_, "\"]\n  private: [\"localhost\"]\n");
    CellsRest::SetUp();
  }
  void TearDown() override {
    CellsRest::TearDown();
    ::shutdown(listening_, SHUT_RDWR);
    if (server_.joinable()) server_.join();
    ::close(listening_);
  }
  // Local names go to no proxy unless curl is told.
  std::string fetch() const { return cat("curl -sS --max-time 20 --noproxy '' http://localhost:", web_port_, "/; echo \" $?\""); }

 private:
  int listening_ = -1, web_port_ = 0;
  std::thread server_;
};

TEST_F(CellsPhases, ByRestTheNetworkIsThereUntilItIsSealedAndThenNeverAgain) {
  for (const char* none : {R"({"phases":true})", R"({"phases":true,"network":"none"})"}) {
    auto refused = send("POST", "/api/v1/cells", none);
    EXPECT_EQ(refused.status, 400) << refused.body;
    EXPECT_TRUE(has(refused.body, "phases")) << refused.body;
  }
  const std::string id = make(R"({"network":"proxy","phases":true})");
  EXPECT_EQ(text_field(send("GET", cell(id)).body, "network_phase"), "setup");
  EXPECT_EQ(sh(id, fetch()), "inside 0\n");
  auto sealed = send("POST", cell(id, "/seal"));
  EXPECT_EQ(sealed.status, 200) << sealed.body;
  EXPECT_EQ(text_field(sealed.body, "phase"), "agent");
  EXPECT_EQ(text_field(sealed.body, "mode"), "none");
  EXPECT_EQ(sh(id, fetch()), " 7\n");
  EXPECT_EQ(text_field(send("GET", cell(id)).body, "network_phase"), "agent");
  auto again = send("POST", cell(id, "/seal"));
  EXPECT_EQ(again.status, 409) << "once";
  EXPECT_TRUE(has(again.body, "is sealed already") && has(again.body, "\"state\"")) << again.body;
  EXPECT_EQ(send("PATCH", cell(id, "/network"), R"({"allow":["localhost"]})").status, 400);
  EXPECT_EQ(send("POST", cell(id, "/stop")).status, 200);
  EXPECT_EQ(send("POST", cell(id, "/start")).status, 200);
  EXPECT_EQ(sh(id, fetch()), " 7\n") << "a start does not bring it back";
  const std::string one = make(R"({"network":"proxy"})");
  EXPECT_EQ(send("POST", cell(one, "/seal")).status, 400) << "it was made for one phase";
  EXPECT_EQ(sh(one, fetch()), "inside 0\n");
  expect_as_promised();
}

TEST_F(CellsPhases, ByMcpToo) {
  auto refused = mcp("cell_create", R"({"phases":true})");
  EXPECT_TRUE(refused.boolean_or("isError", false));
  auto made = mcp("cell_create", R"({"name":"two","network":true,"phases":true})");
  ASSERT_FALSE(made.boolean_or("isError", true)) << server::json_text(made);
  EXPECT_EQ(made.find("structuredContent")->text("network_phase"), "setup");
  const std::string run = cat(R"({"cell":"two","command":)", server::json_string(fetch()), "}");
  EXPECT_EQ(mcp("cell_exec", run).find("structuredContent")->text("stdout"), "inside 0\n");
  auto sealed = mcp("cell_control", R"({"cell":"two","action":"seal"})");
  ASSERT_FALSE(sealed.boolean_or("isError", true)) << server::json_text(sealed);
  EXPECT_EQ(sealed.find("structuredContent")->text("network_phase"), "agent");
  EXPECT_EQ(mcp("cell_exec", run).find("structuredContent")->text("stdout"), " 7\n");
  EXPECT_TRUE(mcp("cell_control", R"({"cell":"two","action":"seal"})").boolean_or("isError", false));
  auto network = mcp("cell_inspect", R"({"cell":"two","what":"network"})");
  EXPECT_EQ(network.find("structuredContent")->text("mode"), "none") << server::json_text(network);
}

TEST_F(CellsRest, ADiskThatARequestNamesIsAFileSystemOfThatSizeWhereThatCanBe) {
  const bool root = ::geteuid() == 0;
  make(R"({"name":"rest","limits":{"disk":"20M"}})");
  auto made = mcp("cell_create", R"({"name":"mcp","limits":{"disk":"20M"}})");
  ASSERT_FALSE(made.boolean_or("isError", true)) << server::json_text(made);
  for (const char* name : {"rest", "mcp"}) {
    auto shown = send("GET", cell(name));
    EXPECT_EQ(layer_status(shown.body, "disk"), root ? "full" : "partial") << shown.body;
    auto usage = send("GET", cell(name, "/usage"));
    EXPECT_EQ(text_field(usage.body, "disk_held_by"), root ? "a file system of that size" : "samples") << usage.body;
    if (!root) continue;
    EXPECT_EQ(sh(name, "for i in 1 2 3 4 5 6 7 8 9; do head -c 5000000 /dev/zero > f$i || break; done 2>/tmp/said; grep -o 'No space left on device' /tmp/said"),
              "No space left on device\n");
    EXPECT_EQ(sh(name, "rm -f f* && echo room > g && cat g"), "room\n") << "and the cell goes on";
  }
  // Whoever names no size gets the profile's, sampled.
  EXPECT_EQ(layer_status(send("GET", cell(make())).body, "disk"), "partial");
}

}  // namespace
}  // namespace hotcell::testing
