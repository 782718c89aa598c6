// How many lasting cells there may be, which of them are removed by age and by count, and what a command may need.
#include <gtest/gtest.h>

#include <fstream>

#include "base/strings.h"
#include "daemon/cells_fixture.h"
#include "support/cells.h"

namespace hotcell::testing {
namespace {

class CellsCount : public CellsRest {
 protected:
  void SetUp() override {
    CellsRest::SetUp();
    end_daemon();
    config += "  max: 3\n";   // of `cells:`
    start_daemon();
  }
};

TEST_F(CellsCount, NoMoreAreMadeThanTheConfigurationSays) {
  for (const char* name : {"a", "b", "c"}) make(cat(R"({"stopped":true,"name":")", name, "\"}"));
  auto more = send("POST", "/api/v1/cells", R"({"name":"d"})");
  EXPECT_EQ(more.status, 429) << more.body;
  EXPECT_TRUE(has(more.body, "maximum cell limit (3) reached")) << more.body;
  EXPECT_EQ(send("POST", cell("a", "/fork"), R"({"name":"d"})").status, 429);
  EXPECT_TRUE(has(send("GET", "/api/v1/sandbox/info").body, "\"max_cells\":3"));
  // The control: another number, for the same keeper.
  end_daemon();
  config.replace(config.rfind("max: 3"), 6, "max: 4");
  start_daemon();
  make(R"({"name":"d"})");
  EXPECT_EQ(send("POST", "/api/v1/cells", R"({"name":"e"})").status, 429);
}

TEST_F(CellsRest, AreRemovedByAgeAndByCountAndNeverWhileTheyRun) {
  for (const char* name : {"a", "b", "c"}) make(cat(R"({"stopped":true,"name":")", name, "\"}"));
  make(R"({"name":"runs"})");
  EXPECT_EQ(send("POST", "/api/v1/cells/clean").body, R"({"removed":[],"left":[]})") << "nothing is a day old";
  auto two = send("POST", "/api/v1/cells/clean", R"({"keep":2})");
  EXPECT_EQ(two.status, 200);
  EXPECT_TRUE(has(two.body, "\"name\":\"b\"") && has(two.body, "\"name\":\"a\"") && !has(two.body, "\"name\":\"c\"")) << two.body;
  EXPECT_EQ(send("GET", cell("a")).status, 404);
  EXPECT_EQ(send("GET", cell("c")).status, 200);
  EXPECT_EQ(send("POST", "/api/v1/cells/clean", R"({"older_than_secs":3600})").body, R"({"removed":[],"left":[]})");
  auto rest = send("POST", "/api/v1/cells/clean", R"({"older_than_secs":0})");
  EXPECT_TRUE(has(rest.body, "\"name\":\"c\"") && !has(rest.body, "runs")) << rest.body;
  EXPECT_EQ(text_field(send("GET", cell("runs")).body, "status"), "running");
  EXPECT_EQ(send("POST", "/api/v1/cells/clean", R"({"keep":-1})").status, 400);
  EXPECT_EQ(send("POST", "/api/v1/cells/clean", R"({"all":true})").status, 400);
  EXPECT_TRUE(has(send("GET", "/api/v1/audit").body, "cleaned up"));
}

TEST_F(CellsRest, ByMcpTooAreRemovedByAgeAndByCountAndNeverWhileTheyRun) {
  for (const char* name : {"a", "b", "c"}) make(cat(R"({"stopped":true,"name":")", name, "\"}"));
  make(R"({"name":"runs"})");
  auto said = [this](const std::string& arguments) {
    auto told = mcp("cell_clean", arguments);
    EXPECT_FALSE(told.boolean_or("isError", false)) << server::json_text(told);
    std::string names;
    const auto* cleaned = told.find("structuredContent");
    if (cleaned == nullptr) return server::json_text(told);
    for (const auto& one : cleaned->items("removed")) names += one.text("name");
    EXPECT_TRUE(cleaned->items("left").empty());
    return names;
  };
  EXPECT_EQ(said("{}"), "") << "nothing is a day old";
  EXPECT_EQ(said(R"({"keep":2})"), "ba");
  EXPECT_EQ(send("GET", cell("a")).status, 404);
  EXPECT_EQ(said(R"({"older_than_s":3600})"), "");
  EXPECT_EQ(said(R"({"older_than_s":0})"), "c");
  EXPECT_EQ(text_field(send("GET", cell("runs")).body, "status"), "running");
}

class CellsKeys : public CellsRest {
 protected:
  void SetUp() override {
    CellsRest::SetUp();
    for (const char* name : {"one", "two", "looks"}) {
      auto made = send("POST", "/api/v1/keys", cat(R"({"name":")", name, R"(","scopes":["read")", keys.size() < 2 ? R"(,"run")" : "", "]}"));
      ASSERT_EQ(made.status, 201) << made.body;
      keys.push_back({{"Authorization", cat("Bearer ", text_field(made.body, "key"))}});
    }
  }
  std::string clean_by_mcp(std::size_t who) {
    return send("POST", "/mcp", R"({"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"cell_clean","arguments":{"keep":0}}})", keys[who]).body;
  }
  std::vector<HttpHeaders> keys;   // the last may only look
};

TEST_F(CellsKeys, WhoeverCleansTakesNobodyElsesCells) {
  for (int i = 0; i < 2; ++i) EXPECT_EQ(send("POST", "/api/v1/cells", cat(R"({"stopped":true,"name":"of-)", i, "\"}"), keys[static_cast<std::size_t>(i)]).status, 201);
  auto cleaned = send("POST", "/api/v1/cells/clean", R"({"keep":0})", keys[1]);
  EXPECT_TRUE(has(cleaned.body, "of-1") && !has(cleaned.body, "of-0")) << cleaned.body;
  EXPECT_EQ(send("GET", cell("of-0")).status, 200);
  EXPECT_EQ(send("GET", cell("of-1")).status, 404);

  EXPECT_EQ(send("POST", "/api/v1/cells", R"({"stopped":true,"name":"of-1"})", keys[1]).status, 201);
  auto may_not = clean_by_mcp(2);
  EXPECT_TRUE(has(may_not, "may not run")) << may_not;
  EXPECT_EQ(send("GET", cell("of-1")).status, 200);
  auto by_mcp = clean_by_mcp(1);
  EXPECT_TRUE(has(by_mcp, "of-1") && !has(by_mcp, "of-0")) << by_mcp;
  EXPECT_EQ(send("GET", cell("of-0")).status, 200);
  EXPECT_EQ(send("GET", cell("of-1")).status, 404);
}

TEST_F(CellsRest, WhatACommandMayNeedIsGuessedByItsName) {
  auto guess = send("GET", "/api/v1/estimate?command=env%20A%3D1%20cargo%20build");
  EXPECT_EQ(guess.status, 200);
  EXPECT_EQ(guess.body, R"({"memory_bytes":1073741824,"cpu_time_ns":60000000000,"timeout_ns":120000000000,"because":"cargo, build"})");
  EXPECT_EQ(send("GET", "/api/v1/estimate").status, 400);
}

}  // namespace
}  // namespace hotcell::testing
