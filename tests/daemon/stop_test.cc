// SIGTERM while something runs: it may end, whoever comes is told, and nobody waits for longer than the configuration says.
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>

#include <chrono>
#include <future>
#include <thread>

#include "base/strings.h"
#include "daemon/cells_fixture.h"

namespace hotcell::testing {
namespace {

using namespace std::chrono_literals;
using Clock = std::chrono::steady_clock;

class Stop : public CellsRest {
 protected:
  void SetUp() override {
    record = false;
    CellsRest::SetUp();
  }
  std::future<HttpAnswer> later(const std::string& path, const std::string& body) {
    return std::async(std::launch::async, [this, path, body] { return send("POST", path, body); });
  }
  bool runs(int count) {
    const std::string wanted = cat("\"running\":", count);
    for (int i = 0; i < 200; ++i, std::this_thread::sleep_for(25ms))
      if (has(send("GET", "/api/v1/stats").body, wanted)) return true;
    return false;
  }
};

TEST_F(Stop, WhatRunsMayEndAndWhoeverComesIsTold) {
  variables = {{"HOTCELL_QUEUE_DRAIN", "30s"}};
  end_daemon();
  start_daemon();
  const std::string id = make();
  auto plain = later("/api/v1/sandbox/execute", R"({"command":"sh","args":["-c","sleep 3; echo ended"]})");
  auto in_cell = later(cell(id, "/exec"), R"({"shell":"touch begun; sleep 3; echo ended"})");
  ASSERT_TRUE(runs(1));
  for (int i = 0; i < 200 && send("GET", cell(id, "/files?path=begun")).status != 200; ++i) std::this_thread::sleep_for(25ms);
  ASSERT_EQ(::kill(daemon_pid(), SIGTERM), 0);
  // It takes a moment to reach the front.
  HttpAnswer refused;
  for (int i = 0; i < 40 && refused.status != 503; ++i) {
    refused = send("POST", "/api/v1/sandbox/execute", R"({"command":"true"})");
    if (refused.status != 503) std::this_thread::sleep_for(25ms);
  }
  EXPECT_EQ(refused.status, 503) << refused.body;
  EXPECT_TRUE(has(refused.body, "shutting down")) << refused.body;
  EXPECT_EQ(send("GET", "/ready").status, 503);
  EXPECT_EQ(plain.wait_for(0s), std::future_status::timeout) << "it should still run";
  auto ended = plain.get();
  EXPECT_EQ(ended.status, 200) << ended.body;
  EXPECT_EQ(field(ended.body, "status"), "completed");
  EXPECT_EQ(field(ended.body, "stdout"), "ended\\n");
  auto cells_too = in_cell.get();
  EXPECT_EQ(cells_too.status, 200) << cells_too.body;
  EXPECT_EQ(field(cells_too.body, "stdout"), "ended\\n");
  const auto began = Clock::now();
  end_daemon();
  EXPECT_LT(Clock::now() - began, 10s) << "nothing ran any more";
  start_daemon();   // the cell is removed by the next one
}

TEST_F(Stop, WhatDoesNotEndInTimeIsKilledAndSaysSo) {
  variables = {{"HOTCELL_QUEUE_DRAIN", "1s"}};
  end_daemon();
  start_daemon();
  auto long_one = later("/api/v1/sandbox/execute", R"({"command":"sleep","args":["55"]})");
  ASSERT_TRUE(runs(1));
  const auto began = Clock::now();
  end_daemon();
  EXPECT_LT(Clock::now() - began, 10s);
  auto ended = long_one.get();
  EXPECT_EQ(ended.status, 200) << ended.body;
  EXPECT_EQ(field(ended.body, "status"), "killed") << ended.body;
  start_daemon();
  auto page = send("GET", "/api/v1/executions?limit=5").body;
  EXPECT_EQ(field(page, "status"), "killed") << page;
}

}  // namespace
}  // namespace hotcell::testing
