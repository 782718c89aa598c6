// limits.max_timeout holds at every door, whatever is asked for there and where nothing is.
#include <gtest/gtest.h>

#include <chrono>
#include <cstdio>
#include <iostream>

#include "base/strings.h"
#include "daemon/cells_fixture.h"

namespace hotcell::testing {
namespace {

using Clock = std::chrono::steady_clock;
using namespace std::chrono_literals;

class MaxTimeout : public CellsRest {
 protected:
  void SetUp() override {
    record = false;
    config = "limits:\n  timeout: 1s\n  max_timeout: 1s\n";
    CellsRest::SetUp();
  }
  // What it is about sleeps for 50 seconds: far from that, it was cut off.
  template <typename Ask>
  std::string cut_off(const std::string& door, Ask ask) {
    const auto began = Clock::now();
    auto answer = ask();
    const auto took = std::chrono::duration_cast<std::chrono::milliseconds>(Clock::now() - began);
    EXPECT_LT(took, 25s) << door;
    EXPECT_GE(took, 900ms) << door << ": " << answer;
    return answer;
  }
  std::string post(const std::string& path, const std::string& body) {
    auto answer = send("POST", path, body);
    EXPECT_EQ(answer.status, 200) << path << " " << answer.body;
    return answer.body;
  }
  std::string tool(const std::string& name, const std::string& arguments) {
    return post("/mcp", cat(R"({"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":")", name, R"(","arguments":)", arguments, "}}"));
  }
};

TEST_F(MaxTimeout, HoldsForExecutions) {
  for (const char* said : {"", R"(,"timeout_secs":50)", R"(,"timeout_secs":0)", R"(,"timeout_secs":1e8)"}) {
    auto command = cut_off(said, [&] { return post("/api/v1/sandbox/execute", cat(R"({"command":"sleep","args":["50"])", said, "}")); });
    EXPECT_EQ(field(command, "status"), "timeout") << command;
  }
  auto code = cut_off("code", [&] { return post("/api/v1/sandbox/execute", R"j({"language":"python","code":"import time; time.sleep(50)","timeout_secs":50})j"); });
  EXPECT_EQ(field(code, "status"), "timeout") << code;
  auto more = send("POST", "/api/v1/sandbox/execute", R"({"command":"true","limits":{"wall":2}})");
  EXPECT_EQ(more.status, 400) << "limits may not ask for more: " << more.body;
  auto founders = cut_off("code-sandbox", [&] { return post("/execute", R"({"code":"while True: pass","timeout":30})"); });
  EXPECT_TRUE(has(founders, "\"timed_out\":true")) << founders;
  for (const char* body : {R"({"command":"sleep 50","timeout_ms":50000})", R"({"command":"sleep 50"})"}) {
    auto mcp = cut_off("run_command", [&] { return tool("run_command", body); });
    EXPECT_TRUE(has(mcp, "timeout")) << mcp;
  }
  auto mcp_code = cut_off("run_code", [&] { return tool("run_code", R"j({"language":"python","code":"import time; time.sleep(50)","timeout_ms":50000})j"); });
  EXPECT_TRUE(has(mcp_code, "timeout")) << mcp_code;
  auto run = [&](const std::string& words) {
    FILE* pipe = ::popen(cat("HOTCELL_LISTEN=127.0.0.1:", port, " ", program_path(), " run --daemon ", words, " </dev/null 2>&1").c_str(), "r");
    std::string out;
    char buffer[4096];
    while (std::size_t n = std::fread(buffer, 1, sizeof buffer, pipe)) out.append(buffer, n);
    ::pclose(pipe);
    return out;
  };
  auto shell = cut_off("hotcell run --daemon", [&] { return run("-- sleep 50"); });
  EXPECT_TRUE(has(shell, "timeout_wall")) << shell;
  EXPECT_TRUE(has(run("--timeout 50s -- sleep 50"), "limits.wall: 50s is more than this server's 1s")) << "a limit that was asked for is refused";
}

TEST_F(MaxTimeout, HoldsInLastingCells) {
  const std::string id = make(R"({"name":"c"})");
  for (const char* said : {"", R"(,"timeout_secs":50)", R"(,"timeout_secs":0)"}) {
    auto ran = cut_off(cat("exec", said), [&] { return post(cell(id, "/exec"), cat(R"({"command":"sleep","args":["50"])", said, "}")); });
    EXPECT_EQ(field(ran, "status"), "timeout") << ran;
  }
  auto streamed = cut_off("exec, streamed", [&] {
    return send("POST", cell(id, "/exec"), R"({"command":"sleep","args":["50"],"timeout_secs":0})", {{"Accept", "text/event-stream"}}).body;
  });
  EXPECT_TRUE(has(streamed, "timeout_wall")) << streamed;
  EXPECT_EQ(send("POST", cell(id, "/shells"), R"({"name":"a"})").status, 201);
  for (const char* said : {"", R"(,"timeout_secs":50)", R"(,"timeout_secs":0)"}) {
    auto ran = cut_off(cat("shell", said), [&] { return post(cell(id, "/shells/a/run"), cat(R"({"command":"sleep 50")", said, "}")); });
    EXPECT_EQ(field(ran, "state"), "timeout") << ran;
  }
  EXPECT_EQ(send("POST", cell(id, "/contexts"), R"({"language":"python"})").status, 201);
  for (const char* said : {"", R"(,"timeout_secs":50)", R"(,"timeout_secs":0)"}) {
    auto ran = cut_off(cat("context", said), [&] { return post(cell(id, "/contexts/python/run"), cat(R"j({"code":"import time; time.sleep(50)")j", said, "}")); });
    EXPECT_EQ(field(ran, "state"), "timeout") << ran;
  }
  auto mcp = cut_off("cell_exec", [&] { return tool("cell_exec", R"({"cell":"c","command":"sleep 50","timeout_ms":50000})"); });
  EXPECT_TRUE(has(mcp, "timeout")) << mcp;
  mcp = cut_off("cell_shell", [&] { return tool("cell_shell", R"({"cell":"c","command":"sleep 50","timeout_ms":50000})"); });
  EXPECT_TRUE(has(mcp, "timeout")) << mcp;
  mcp = cut_off("cell_run_code", [&] { return tool("cell_run_code", R"j({"cell":"c","code":"import time; time.sleep(50)","timeout_ms":50000})j"); });
  EXPECT_TRUE(has(mcp, "timeout")) << mcp;
  // What nobody waits for may last: a server in the cell. It ends with the cell, or when it is killed.
  auto left = send("POST", cell(id, "/exec?wait=false"), R"({"command":"sleep","args":["50"],"timeout_secs":0})");
  EXPECT_EQ(left.status, 202) << left.body;
}

}  // namespace
}  // namespace hotcell::testing
