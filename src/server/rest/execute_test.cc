#include <gtest/gtest.h>

#include "base/strings.h"
#include "server/rest/rest_testing.h"

namespace hotcell::server::testing {
namespace {

constexpr const char* kExecute = "/api/v1/sandbox/execute";
constexpr const char* kId = R"({"command":"id"})";
using Headers = std::vector<std::pair<std::string, std::string>>;

TEST(Execute, WaitsForTheEndAndAnswersWithTheResultObject) {
  RestWorld world;
  auto x = world.send("POST", kExecute, kId);
  EXPECT_EQ(status_of(x), 0);
  world.history.all["id-1"].result = R"({"id":"id-1","status":"completed"})";
  world.executions.end("id-1", "exited", 0);
  EXPECT_EQ(status_of(x), 200);
  EXPECT_EQ(x->answer->body, R"({"id":"id-1","status":"completed"})");
  EXPECT_EQ(world.executions.specs[0].door, "rest");
  EXPECT_EQ(world.executions.specs[0].client, "local");
  EXPECT_TRUE(world.executions.killed.empty());
}

TEST(Execute, AClientThatGoesAwayKillsWhatNobodyCanAskForAgain) {
  RestWorld world;
  world.send("POST", kExecute, kId)->close();
  EXPECT_EQ(world.executions.killed, std::vector<std::string>{"id-1"});
  world.send("POST", kExecute, kId, Headers{{"idempotency-key", "k"}})->close();
  world.send("POST", cat(kExecute, "?wait=false"), kId)->close();
  EXPECT_EQ(world.executions.killed.size(), 1U);
  world.executions.end("id-1", "cancelled", std::nullopt);   // nobody is there any more; nothing happens
}

TEST(Execute, WithoutWaitingItIsAcceptedWithItsPlace) {
  RestWorld world;
  auto x = world.send("POST", cat(kExecute, "?wait=false"), kId);
  EXPECT_EQ(status_of(x), 202);
  EXPECT_EQ(x->answer->body, R"({"id":"id-1","status":"pending"})");
  EXPECT_EQ(x->header("Location"), "/api/v1/executions/id-1");
  EXPECT_EQ(status_of(world.send("POST", cat(kExecute, "?wait=maybe"), kId)), 400);
}

TEST(Execute, TheSameIdempotencyKeyIsTheSameExecution) {
  RestWorld world;
  Headers key = {{"idempotency-key", "k1"}};
  world.send("POST", cat(kExecute, "?wait=false"), kId, key);
  auto again = world.send("POST", cat(kExecute, "?wait=false"), kId, key);
  EXPECT_EQ(text_at(json_of(again), "id"), "id-1");
  EXPECT_EQ(world.executions.specs.size(), 1U);
  EXPECT_EQ(status_of(world.send("POST", kExecute, kId, Headers{{"idempotency-key", std::string(201, 'x')}})), 400);
}

TEST(Execute, ARefusalHasItsStatus) {
  struct Row {
    ErrorCode code;
    bool draining, launcher_up;
    int status;
  };
  for (const Row& row : {Row{ErrorCode::kInvalid, false, true, 400}, Row{ErrorCode::kNotFound, false, true, 404},
                         Row{ErrorCode::kUnsupported, false, true, 422}, Row{ErrorCode::kLimit, false, true, 429},
                         Row{ErrorCode::kLimit, true, true, 503}, Row{ErrorCode::kLimit, false, false, 503},
                         Row{ErrorCode::kIo, false, true, 500}}) {
    RestWorld world;
    world.executions.refuse = make_error(row.code, "a sentence");
    world.executions.now.draining = row.draining;
    world.executions.now.launcher_up = row.launcher_up;
    auto x = world.send("POST", kExecute, kId);
    EXPECT_EQ(status_of(x), row.status);
    EXPECT_EQ(message_of(x), "a sentence");
    EXPECT_EQ(x->header("Retry-After").empty(), row.status != 429 && row.status != 503);
  }
}

TEST(Execute, ServerSentEventsUntilItIsDone) {
  RestWorld world;
  auto x = world.send("POST", kExecute, kId, Headers{{"accept", "text/event-stream"}});
  EXPECT_EQ(x->answer->content_type, "text/event-stream");
  world.executions.tell("id-1", {1, "state", R"({"status":"running"})"});
  world.executions.tell("id-1", {2, "done", "{\"id\":\n\"id-1\"}\n"});
  EXPECT_EQ(x->streamed,
            "id: 1\nevent: state\ndata: {\"status\":\"running\"}\n\nid: 2\nevent: done\ndata: {\"id\": \"id-1\"}\n\n");
  EXPECT_TRUE(x->finished);
  world.run_posted();
  EXPECT_TRUE(world.executions.watching.empty());
  x->close();
  EXPECT_TRUE(world.executions.killed.empty());
}

TEST(Execute, LinesOfJson) {
  RestWorld world;
  auto x = world.send("POST", kExecute, kId, Headers{{"accept", "application/x-ndjson"}});
  world.executions.tell("id-1", {1, "stdout", "{\"text\":\"a\"}"});
  world.executions.tell("id-1", {2, "done", "{}\n"});
  EXPECT_EQ(x->streamed, "{\"seq\":1,\"type\":\"stdout\",\"data\":{\"text\":\"a\"}}\n{\"seq\":2,\"type\":\"done\",\"data\":{}}\n");
}

TEST(Execute, AReaderThatIsTooSlowIsDropped) {
  RestWorld world;
  auto x = world.send("POST", kExecute, kId, Headers{{"accept", "text/event-stream"}});
  x->reads = false;
  world.executions.tell("id-1", {1, "stdout", "{}"});
  EXPECT_EQ(world.executions.killed, std::vector<std::string>{"id-1"});
  world.run_posted();
  EXPECT_TRUE(world.executions.watching.empty());
}

TEST(Events, ResumeAfterTheIdThatWasSeenLast) {
  RestWorld world;
  world.send("POST", cat(kExecute, "?wait=false"), kId);
  auto x = world.send("GET", "/api/v1/executions/id-1/events", "", Headers{{"last-event-id", "17"}});
  EXPECT_EQ(status_of(x), 200);
  EXPECT_EQ(world.executions.watched_after["id-1"], 17U);
  world.send("GET", "/api/v1/executions/id-1/events?after=5");
  EXPECT_EQ(world.executions.watched_after["id-1"], 5U);
  EXPECT_EQ(status_of(world.send("GET", "/api/v1/executions/id-1/events?after=x")), 400);
  EXPECT_EQ(status_of(world.send("GET", "/api/v1/executions/nope/events")), 404);
  x->close();
  EXPECT_TRUE(world.executions.killed.empty());
}

// What the history has of it is how it ended, and no result.
TEST(Events, WhatACrashEndedIsToldAsItsStatusIs) {
  for (const char* format : {"text/event-stream", "application/x-ndjson"}) {
    RestWorld world;
    world.send("POST", cat(kExecute, "?wait=false"), kId);
    world.executions.end("id-1", "sandbox_error", std::nullopt);
    world.executions.records["id-1"].error = "daemon stopped";
    auto x = world.send("GET", "/api/v1/executions/id-1/events", "", Headers{{"accept", format}});
    world.executions.tell("id-1", {18, "done", "{}"});
    EXPECT_TRUE(x->finished);
    EXPECT_NE(x->streamed.find(R"("status":"failed")"), std::string::npos) << x->streamed;
    EXPECT_NE(x->streamed.find(R"("error":"daemon stopped")"), std::string::npos) << x->streamed;
  }
}

TEST(Events, AHeartbeatGoesToWhoeverWaits) {
  RestWorld world;
  world.send("POST", cat(kExecute, "?wait=false"), kId);
  auto x = world.send("GET", "/api/v1/executions/id-1/events");
  ASSERT_EQ(world.timers.size(), 1U);
  world.timers[0]();
  EXPECT_EQ(x->streamed, ": still here\n\n");
  x->close();
  world.run_posted();
  EXPECT_EQ(world.timers[0], nullptr);
}

TEST(Events, AllExecutionsAndTheCounters) {
  RestWorld world;
  auto x = world.send("GET", "/api/v1/events");
  EXPECT_TRUE(x->streamed.starts_with("event: stats\ndata: {\"queued\":0"));
  ExecutionRecord record;
  record.id = "abc";
  world.executions.on_change(record);
  EXPECT_NE(x->streamed.find("event: execution\ndata: {\"number\":0,\"id\":\"abc\""), std::string::npos);
  x->close();
  world.run_posted();
  EXPECT_EQ(world.executions.on_change, nullptr);
}

TEST(Events, WhoIsNoAdminSeesTheirOwn) {
  RestWorld world;
  world.caller = {"alice", true, true, false, std::nullopt};
  auto x = world.send("GET", "/api/v1/events");
  ExecutionRecord record;
  record.id = "secret";
  record.client = "bob";
  world.executions.on_change(record);
  EXPECT_EQ(x->streamed.find("secret"), std::string::npos);
  record.client = "alice";
  world.executions.on_change(record);
  EXPECT_NE(x->streamed.find("secret"), std::string::npos);
  x->close();
  world.run_posted();
}

}  // namespace
}  // namespace hotcell::server::testing
