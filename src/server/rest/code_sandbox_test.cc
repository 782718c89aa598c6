#include <gtest/gtest.h>

#include "base/strings.h"
#include "server/rest/rest_testing.h"

namespace hotcell::server::testing {
namespace {

MemoryExchangePtr ended(RestWorld& world, const char* body, std::string result, const char* reason, std::optional<int> code) {
  auto x = world.send("POST", "/execute", body);
  const std::string id = cat("id-", world.executions.specs.size());
  world.history.all[id].result = std::move(result);
  world.executions.end(id, reason, code);
  return x;
}

TEST(CodeSandbox, RunsPythonUnderItsProfileWithItsLimits) {
  RestWorld world;
  auto x = ended(world, R"j({"code":"print(1)"})j", R"({"stdout":"1\n","stderr":""})", "exited", 0);
  EXPECT_EQ(status_of(x), 200);
  EXPECT_EQ(x->answer->body, R"({"stdout":"1\n","stderr":"","exit_code":0,"timed_out":false})");
  const JobSpec& spec = world.executions.specs[0];
  EXPECT_EQ(spec.language, "python");
  EXPECT_EQ(spec.profile, "minimal");
  EXPECT_EQ(spec.door, "code-sandbox");
  EXPECT_EQ(spec.timeout, std::chrono::seconds(10));
  EXPECT_EQ(spec.limits.output, 50_KiB);
  EXPECT_EQ(spec.on_output, OnOutput::kTruncate);
}

TEST(CodeSandbox, ATimeoutOutsideItsBoundsIs422) {
  RestWorld world;
  for (const char* bad : {"0", "-1", "30.1", "1e9", "\"5\"", "NaN"})
    EXPECT_EQ(status_of(world.send("POST", "/execute", cat("{\"code\":\"1\",\"timeout\":", bad, "}"))), 422) << bad;
  EXPECT_EQ(status_of(world.send("POST", "/execute", "{}")), 422);
  EXPECT_EQ(status_of(world.send("POST", "/execute", "{\"code\":5}")), 422);
  EXPECT_EQ(status_of(world.send("POST", "/execute", R"({"code":"1","timeout":30})")), 0);   // it runs
}

TEST(CodeSandbox, BlankCodeIs400) {
  RestWorld world;
  auto x = world.send("POST", "/execute", R"({"code":" \n\t"})");
  EXPECT_EQ(status_of(x), 400);
  EXPECT_EQ(x->answer->body, R"({"error":"No code provided"})");
}

TEST(CodeSandbox, RefusedCodeIs400WithItsLines) {
  RestWorld world;
  auto x = ended(world, R"({"code":"import os"})",
                 R"j({"stdout":"","stderr":"","findings":[{"severity":"error","line":3,"message":"import of os"},
                 {"severity":"warning","line":4,"message":"no"},{"severity":"error","line":0,"message":"SyntaxError: x (line 1)"}]})j",
                 "verification", std::nullopt);
  EXPECT_EQ(status_of(x), 400);
  EXPECT_EQ(x->answer->body,
            R"j({"error":"Code validation failed","violations":["Line 3: import of os","SyntaxError: x (line 1)"]})j");
}

TEST(CodeSandbox, ATimedOutRunSaysSoInStderr) {
  RestWorld world;
  auto x = ended(world, R"({"code":"1","timeout":2.5})", R"({"stdout":"a","stderr":"b"})", "timeout_wall", std::nullopt);
  EXPECT_EQ(x->answer->body,
            R"({"stdout":"a","stderr":"Execution timed out after 2.5s","exit_code":-9,"timed_out":true})");
  x = ended(world, R"({"code":"1"})", R"({"stdout":"","stderr":""})", "timeout_cpu", std::nullopt);
  EXPECT_EQ(text_at(json_of(x), "stderr"), "Execution timed out after 10.0s");
}

TEST(CodeSandbox, LongOutputIsCutWithTheNote) {
  RestWorld world;
  auto x = ended(world, R"({"code":"1"})", R"({"stdout":"aaa","stdout_truncated":true,"stderr_base64":"/w=="})", "exited", 1);
  EXPECT_EQ(text_at(json_of(x), "stdout"), "aaa\n[output truncated at 50 KB]");
  EXPECT_EQ(text_at(json_of(x), "stderr"), "\xef\xbf\xbd");
  EXPECT_EQ(number_at(json_of(x), "exit_code"), 1);
}

TEST(CodeSandbox, AFullQueueSaysWhenToComeBack) {
  RestWorld world;
  world.executions.refuse = make_error(ErrorCode::kLimit, "the queue is full");
  auto x = world.send("POST", "/execute", R"({"code":"1"})");
  EXPECT_EQ(status_of(x), 429);
  EXPECT_EQ(x->answer->body, R"({"error":"the queue is full"})");
  EXPECT_EQ(x->header("Retry-After"), "1");
}

TEST(CodeSandbox, ItsProfileAndItsHealth) {
  RestWorld world;
  auto profile = json_of(world.send("GET", "/profile"));
  EXPECT_EQ(text_at(profile, "name"), "minimal");
  ASSERT_EQ(items_at(profile, "allowed_imports").size(), 16U);
  EXPECT_EQ(std::get<std::string>(items_at(profile, "allowed_imports").front().v), "collections");
  EXPECT_EQ(number_at(profile, "blocklist_entries"), 0);
  EXPECT_EQ(world.send("GET", "/healthz")->answer->body, R"({"status":"ok"})");
}

}  // namespace
}  // namespace hotcell::server::testing
