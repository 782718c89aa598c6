// Lists of hosts for one execution and for one cell, by REST and by MCP: they take away from what the configuration allows, and
// add nothing. Every refusal stands beside a request that succeeds.
#include <gtest/gtest.h>

#include "base/strings.h"
#include "daemon/cells_fixture.h"
#include "net/net_testing.h"
#include "server/json/json_value.h"

namespace hotcell::testing {
namespace {

// Two names for one web server of the host, both in the configuration.
class NetworkRules : public CellsRest {
 protected:
  void SetUp() override {
    config = cat("network:\n  allow: [\"localhost:", web.port(), "\", \"127.0.0.1:", web.port(), "\"]\n  private: [\"localhost\", \"127.0.0.1\"]\n  bytes: 1M\n  connections: 8\n");
    CellsRest::SetUp();
  }
  std::string fetch(const std::string& host) const {
    return cat("curl -sS --noproxy '' --max-time 20 http://", host, ":", web.port(), "/", big ? "big" : "", big ? " | wc -c" : "");
  }
  HttpAnswer execute(const std::string& host, const std::string& more) {
    return send("POST", "/api/v1/sandbox/execute", cat("{\"command\":\"sh\",\"args\":[\"-c\",", server::json_string(fetch(host)), "],\"network\":\"proxy\"", more, "}"));
  }
  // The result of a tool, as text.
  std::string tool(const std::string& name, const std::string& arguments) {
    return send("POST", "/mcp", cat(R"({"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":")", name, R"(","arguments":)", arguments, "}}"),
                {{"Content-Type", "application/json"}, {"Accept", "application/json, text/event-stream"}})
        .body;
  }

  net::testing::Server web{[](const sys::Fd& fd) {
    std::string said = net::testing::hear(fd, "\r\n\r\n");
    std::string body = said.find("/big") != said.npos ? std::string(3 << 20, 'x') : "inside";
    net::testing::say(fd, cat("HTTP/1.1 200 OK\r\nContent-Length: ", body.size(), "\r\nConnection: close\r\n\r\n", body));
  }};
  bool big = false;
};

TEST_F(NetworkRules, OfAnExecutionTakeAwayFromTheConfiguration) {
  EXPECT_TRUE(has(execute("localhost", "").body, "\"stdout\":\"inside\""));
  EXPECT_TRUE(has(execute("127.0.0.1", "").body, "\"stdout\":\"inside\""));
  const std::string only = R"(,"allow_domains":["localhost"])";
  EXPECT_TRUE(has(execute("localhost", only).body, "\"stdout\":\"inside\""));
  auto answer = execute("127.0.0.1", only);
  EXPECT_FALSE(has(answer.body, "inside")) << answer.body;
  EXPECT_TRUE(has(answer.body, "\"layer\":\"proxy\"") && has(answer.body, "it is not on the list of allowed hosts")) << answer.body;
  answer = execute("localhost", R"(,"block_domains":["localhost"])");
  EXPECT_FALSE(has(answer.body, "inside")) << answer.body;
  EXPECT_TRUE(has(execute("127.0.0.1", R"(,"block_domains":["localhost"])").body, "\"stdout\":\"inside\""));
  EXPECT_FALSE(has(execute("localhost", R"(,"allow_domains":[])").body, "inside"));
  // Nothing is added, and what makes no sense is said at once.
  answer = execute("localhost", R"(,"allow_domains":["evil.test"])");
  EXPECT_EQ(answer.status, 422) << answer.body;
  EXPECT_TRUE(has(answer.body, "evil.test is not among the hosts that this server's configuration allows")) << answer.body;
  EXPECT_EQ(execute("localhost", R"(,"allow_domains":["a b"])").status, 400);
  EXPECT_EQ(execute("localhost", R"(,"block_domains":["https://a.test"])").status, 400);
  EXPECT_EQ(send("POST", "/api/v1/sandbox/execute", R"({"command":"true","block_domains":["a.test"]})").status, 400) << "without a network there is nothing to block";
}

TEST_F(NetworkRules, OfAModelsRun) {
  auto run = [&](const std::string& host, const std::string& more) {
    return tool("run_command", cat("{\"command\":", server::json_string(fetch(host)), ",\"network\":true", more, "}"));
  };
  EXPECT_TRUE(has(run("localhost", R"(,"allow_domains":["localhost"])"), "inside"));
  auto refused = run("127.0.0.1", R"(,"allow_domains":["localhost"])");
  EXPECT_FALSE(has(refused, "inside")) << refused;
  EXPECT_TRUE(has(refused, "is refused")) << refused;
  EXPECT_FALSE(has(run("localhost", R"(,"block_domains":["localhost"])"), "inside"));
  EXPECT_TRUE(has(run("localhost", R"(,"allow_domains":["evil.test"])"), "configuration allows"));
  auto checked = tool("check_host", cat("{\"host\":\"localhost:", web.port(), "\"}"));
  EXPECT_TRUE(has(checked, "\"allowed\":true")) << checked;
  checked = tool("check_host", R"({"host":"evil.test"})");
  EXPECT_TRUE(has(checked, "\"allowed\":false") && has(checked, "it is not on the list of allowed hosts")) << checked;
}

TEST_F(NetworkRules, OfACellHoldAndAreChangedWhileItRuns) {
  const std::string id = make(R"({"network":"proxy","allow_domains":["localhost"]})");
  EXPECT_EQ(sh(id, fetch("localhost")), "inside");
  auto refused = send("POST", cell(id, "/exec"), cat("{\"shell\":", server::json_string(fetch("127.0.0.1")), "}"));
  EXPECT_FALSE(has(refused.body, "inside")) << refused.body;
  EXPECT_TRUE(has(refused.body, "\"layer\":\"proxy\"")) << "the program's result says so: " << refused.body;
  // By REST: blocked, allowed again, and one more that the configuration has.
  auto changed = send("PATCH", cell(id, "/network"), R"({"block":["localhost"]})");
  EXPECT_EQ(changed.status, 200) << changed.body;
  EXPECT_TRUE(has(changed.body, "\"block\":[\"localhost\"]")) << changed.body;
  EXPECT_NE(sh(id, fetch("localhost")), "inside");
  EXPECT_EQ(send("PATCH", cell(id, "/network"), R"({"allow":["localhost","127.0.0.1"]})").status, 200);
  EXPECT_EQ(sh(id, fetch("localhost")), "inside");
  EXPECT_EQ(sh(id, fetch("127.0.0.1")), "inside");
  auto beyond = send("PATCH", cell(id, "/network"), R"({"allow":["evil.test"]})");
  EXPECT_EQ(beyond.status, 400) << beyond.body;
  EXPECT_TRUE(has(beyond.body, "evil.test is beyond")) << beyond.body;
  EXPECT_EQ(send("PATCH", cell(id, "/network"), R"({"block":["a b"]})").status, 400);
  for (const char* nothing : {R"({"allow":[]})", R"({"block":[]})", R"({"allow":[],"block":[]})"}) {
    auto unchanged = send("PATCH", cell(id, "/network"), nothing);
    EXPECT_EQ(unchanged.status, 400) << nothing;
    EXPECT_TRUE(has(unchanged.body, "an empty list changes nothing")) << unchanged.body;
  }
  // By MCP, and what it says of what was asked.
  auto told = tool("cell_network", cat("{\"cell\":\"", id, "\",\"block\":[\"127.0.0.1\"]}"));
  EXPECT_TRUE(has(told, "\"block\":[\"127.0.0.1\"]")) << told;
  EXPECT_NE(sh(id, fetch("127.0.0.1")), "inside");
  told = tool("cell_network", cat("{\"cell\":\"", id, "\"}"));
  EXPECT_TRUE(has(told, "refused: 127.0.0.1") && has(told, "\"serving\":true")) << told;
  EXPECT_TRUE(has(tool("cell_network", cat("{\"cell\":\"", id, "\",\"allow\":[\"evil.test\"]}")), "evil.test is beyond"));
  // A cell that a model makes.
  auto made = tool("cell_create", R"({"name":"narrow","network":true,"allow_domains":["localhost"]})");
  EXPECT_TRUE(has(made, "narrow is running")) << made;
  EXPECT_EQ(sh("narrow", fetch("localhost")), "inside");
  EXPECT_NE(sh("narrow", fetch("127.0.0.1")), "inside");
  EXPECT_EQ(send("POST", "/api/v1/cells", R"({"network":"proxy","allow_domains":["evil.test"]})").status, 422);
}

// Nobody here has a command line: what is refused is told with what a request, or the owner of the daemon, can say.
TEST_F(NetworkRules, WhatWouldAllowItIsNamedAsARequestHasIt) {
  const std::string only = R"("allow_domains":["localhost"])", field = R"(allow_domains: [\"127.0.0.1\"])";
  auto is_told = [&](const std::string& text) { return has(text, field) && !has(text, "\"--allow"); };
  auto ran = execute("127.0.0.1", "," + only);
  EXPECT_TRUE(is_told(ran.body.substr(ran.body.find("\"denials\"")))) << ran.body;
  auto seen = send("GET", "/api/v1/executions/" + text_field(ran.body, "id"));
  EXPECT_TRUE(has(seen.body, cat("\"how\":\"", field))) << "of an event: " << seen.body;
  auto log = send("GET", "/api/v1/network/log?limit=1");
  EXPECT_TRUE(is_told(log.body)) << log.body;
  // Where there is no request it is the configuration.
  auto checked = send("GET", "/api/v1/network/check?host=evil.test");
  EXPECT_EQ(text_field(checked.body, "how"), R"(network.allow: ["evil.test"] in the daemon's configuration)") << checked.body;
  EXPECT_TRUE(has(tool("check_host", R"({"host":"evil.test"})"), "in the daemon's configuration"));
  auto model = tool("run_command", cat("{\"command\":", server::json_string(fetch("127.0.0.1")), ",\"network\":true,", only, "}"));
  EXPECT_TRUE(has(model, cat("\"fix\":\"", field))) << model;

  const std::string id = make(cat("{\"network\":\"proxy\",", only, "}"));
  auto refused = send("POST", cell(id, "/exec"), cat("{\"shell\":", server::json_string(fetch("127.0.0.1")), "}"));
  EXPECT_TRUE(has(refused.body, cat("\"fix\":\"", field))) << refused.body;
  auto network = send("GET", cell(id, "/network"));
  EXPECT_TRUE(is_told(network.body)) << network.body;
  EXPECT_TRUE(is_told(tool("cell_network", cat("{\"cell\":\"", id, "\"}"))));
  // The program's own words are its own.
  EXPECT_EQ(sh(id, "echo '\"how\":\"--allow-domain a\"'"), "\"how\":\"--allow-domain a\"\n");
}

TEST_F(NetworkRules, ErrorsOfCellsNameFieldsAndWhatCanBeDone) {
  auto message = [&](const HttpAnswer& answer) { return text_field(answer.body, "message"); };
  EXPECT_EQ(message(send("POST", "/api/v1/cells", cat("{\"from\":\"", project, "/none\"}"))), cat("from: ", project, "/none: No such file or directory"));
  const std::string id = make(R"({"name":"one"})");
  EXPECT_EQ(message(send("POST", cell(id, "/seal"))), "one has one phase only; a cell is made for two with network and phases");
  EXPECT_EQ(message(send("POST", cell(id, "/apply"))), "one has no project to apply to; it was made without from");
  EXPECT_EQ(send("POST", cell(id, "/stop")).status, 200);
  EXPECT_EQ(message(send("POST", cell(id, "/exec"), R"({"shell":"true"})")), "one is stopped (stopped by request); start it");
  EXPECT_TRUE(has(tool("cell_exec", R"({"cell":"one","command":"true"})"), "one is stopped (stopped by request); start it"));
}

TEST_F(NetworkRules, APathThatIsNotShownIsToldWithWhatWouldShowIt) {
  auto ran = send("POST", "/api/v1/sandbox/execute", R"({"command":"cat","args":["/etc/shadow"],"explain_denials":true})");
  const std::string fix = R"("fix":"filesystem: {read: [\"/etc/shadow\"]} in the profile, within paths.read of the daemon's configuration")";
  EXPECT_TRUE(has(ran.body, fix)) << ran.body;
  EXPECT_TRUE(has(tool("explain_denial", cat("{\"id\":\"", text_field(ran.body, "id"), "\"}")), "filesystem: {read: ")) << ran.body;
}

TEST_F(NetworkRules, LimitsOfTheConfigurationHoldForBoth) {
  big = true;
  auto answer = execute("localhost", "");
  EXPECT_EQ(answer.status, 200) << answer.body;
  EXPECT_FALSE(has(answer.body, "\"stdout\":\"3145728\\n\"")) << answer.body;
  const std::string id = make(R"({"network":"proxy"})");
  EXPECT_NE(sh(id, fetch("localhost")), "3145728\n");
  big = false;
  auto refused = send("POST", cell(id, "/exec"), cat("{\"shell\":", server::json_string(fetch("localhost")), "}"));
  EXPECT_TRUE(has(refused.body, "the cell has used up the bytes it may move")) << refused.body;
  EXPECT_TRUE(has(send("GET", cell(id, "/network")).body, "\"bytes=1048576\"")) << "as it was made";
  EXPECT_TRUE(has(send("GET", cell(id, "/network")).body, "\"connections=8\""));
}

}  // namespace
}  // namespace hotcell::testing
