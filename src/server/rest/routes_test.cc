#include <gtest/gtest.h>

#include <fstream>
#include <set>

#include "base/strings.h"
#include "server/rest/openapi.h"
#include "server/rest/query_names.h"
#include "server/rest/rest_testing.h"

namespace hotcell::server::testing {
namespace {

std::string submit(RestWorld& world, std::string client = "local") {
  Caller before = world.caller;
  world.caller.name = std::move(client);
  auto x = world.send("POST", "/api/v1/sandbox/execute?wait=false", R"({"command":"id"})");
  world.caller = before;
  return text_at(json_of(x), "id");
}

TEST(Sandbox, StatusAndKillSayWhatTheFoundersSay) {
  RestWorld world;
  const std::string id = submit(world);
  EXPECT_EQ(text_at(json_of(world.send("GET", "/api/v1/sandbox/status/" + id)), "status"), "pending");
  auto missing = world.send("GET", "/api/v1/sandbox/status/nope");
  EXPECT_EQ(status_of(missing), 404);
  EXPECT_EQ(message_of(missing), "execution not found");
  EXPECT_EQ(status_of(world.send("GET", "/api/v1/sandbox/status/")), 400);
  EXPECT_EQ(status_of(world.send("POST", "/api/v1/sandbox/kill/")), 400);
  auto killed = world.send("POST", "/api/v1/sandbox/kill/" + id);
  EXPECT_EQ(killed->answer->body, R"({"status":"killed","message":"execution killed successfully"})");
  world.executions.end(id, "cancelled", std::nullopt);
  EXPECT_EQ(status_of(world.send("POST", "/api/v1/sandbox/kill/" + id)), 409);
  EXPECT_EQ(status_of(world.send("POST", "/api/v1/executions/nope/kill")), 404);
  EXPECT_EQ(status_of(world.send("GET", "/api/v1/sandbox/status/..%2f..%2fetc%2fpasswd")), 404);
}

TEST(Sandbox, AnExecutionOfSomebodyElseDoesNotExist) {
  RestWorld world;
  const std::string id = submit(world, "bob");
  world.caller = {"alice", true, true, false, std::nullopt};
  for (std::string path : {"/api/v1/sandbox/status/", "/api/v1/executions/"})
    EXPECT_EQ(status_of(world.send("GET", path + id)), 404) << path;
  EXPECT_EQ(status_of(world.send("GET", cat("/api/v1/executions/", id, "/output"))), 404);
  EXPECT_EQ(status_of(world.send("GET", cat("/api/v1/executions/", id, "/events"))), 404);
  EXPECT_EQ(status_of(world.send("POST", "/api/v1/sandbox/kill/" + id)), 404);
  world.send("GET", "/api/v1/executions?client=bob");
  EXPECT_EQ(world.history.asked.client, "alice");
}

TEST(Sandbox, InfoHasTheFoundersFields) {
  RestWorld world;
  auto info = json_of(world.send("GET", "/api/v1/sandbox/info"));
  EXPECT_EQ(text_at(info, "default_timeout"), "5m0s");
  EXPECT_EQ(text_at(info, "max_timeout"), "5m0s");
  EXPECT_EQ(number_at(info, "memory_limit"), 256 << 20);
  EXPECT_EQ(number_at(info, "process_limit"), 10);
  EXPECT_EQ(info.find("network_enabled"), nullptr);
  EXPECT_EQ(info.find("support_reason"), nullptr);
  world.executions.now.launcher_up = false;
  EXPECT_NE(text_at(json_of(world.send("GET", "/api/v1/sandbox/info")), "support_reason"), "");
}

TEST(Sandbox, ConfigPersistsAndHoldsAtOnceOrIsRefused) {
  RestWorld world;
  auto patch = [&](const char* body) { return world.send("PATCH", "/api/v1/sandbox/config", body); };
  EXPECT_EQ(message_of(patch(R"({"network_enabled":true})")), "network_enabled is not supported on this platform");
  world.executions.rules_.host_network = true;
  EXPECT_EQ(message_of(patch("{}")), "network_enabled is required");
  EXPECT_TRUE(message_of(patch("{")).starts_with("invalid request body"));
  EXPECT_EQ(status_of(patch(R"({"network_enabled":"yes"})")), 400);
  EXPECT_TRUE(world.saved.empty());
  auto info = json_of(patch(R"({"network_enabled":true})"));
  EXPECT_TRUE(std::get<bool>(at(info, "network_enabled").v));
  EXPECT_TRUE(world.executions.rules_.network_enabled);
  EXPECT_EQ(world.saved["security"], R"({"network_enabled":true})");
  ASSERT_EQ(world.notes.size(), 1U);
  EXPECT_EQ(world.notes[0].action, "config.changed");

  RestWorld next;
  next.saved = world.saved;
  EXPECT_TRUE(restore_config(next.services).ok());
  EXPECT_FALSE(next.executions.rules_.network_enabled);   // this one cannot
  next.executions.rules_.host_network = true;
  EXPECT_TRUE(restore_config(next.services).ok());
  EXPECT_TRUE(next.executions.rules_.network_enabled);
}

TEST(Sandbox, ANetworkThatTheBackendCannotHoldIsNotSwitchedOn) {
  RestWorld world;
  world.executions.rules_.proxy = true;
  world.config.backend = "landlock";
  auto x = world.send("PATCH", "/api/v1/sandbox/config", R"({"network_enabled":true})");
  EXPECT_EQ(status_of(x), 400);
  EXPECT_TRUE(message_of(x).starts_with("network_enabled is not supported on this platform: the landlock backend")) << message_of(x);
  EXPECT_TRUE(world.saved.empty());
  EXPECT_FALSE(world.executions.rules_.network_enabled);
  EXPECT_FALSE(std::get<bool>(at(json_of(world.send("GET", "/api/v1/sandbox/info")), "network_toggle_supported").v));
  world.saved["security"] = R"({"network_enabled":true})";   // by a daemon with another backend
  EXPECT_TRUE(restore_config(world.services).ok());
  EXPECT_FALSE(world.executions.rules_.network_enabled);
  world.config.backend = "native";
  EXPECT_EQ(status_of(world.send("PATCH", "/api/v1/sandbox/config", R"({"network_enabled":true})")), 200);
}

TEST(ExecutionList, FiltersAndPages) {
  RestWorld world;
  world.history.rows.resize(2);
  world.history.rows[0].number = 42;
  world.history.rows[1].number = 41;
  auto x = world.send("GET", "/api/v1/executions?status=failed&exit_reason=memory&limit=2&before=43&q=rm&since=2026-01-31T12:00:00.5%2B01:00");
  EXPECT_EQ(status_of(x), 400);   // the server decodes; here it is not a time
  x = world.send("GET", "/api/v1/executions?status=failed&exit_reason=memory&limit=2&before=43&q=rm&since=2026-01-31T12:00:00.5+01:00");
  EXPECT_EQ(number_at(json_of(x), "next"), 41);
  EXPECT_EQ(world.history.asked.status, "failed");
  EXPECT_EQ(world.history.asked.text, "rm");
  EXPECT_EQ(world.history.asked.before, 43U);
  using namespace std::chrono;
  EXPECT_EQ(*world.history.asked.since, sys_days(2026y / January / 31) + 11h + 500ms);
  world.send("GET", "/api/v1/executions?until=1700000000");
  EXPECT_EQ(*world.history.asked.until, system_clock::time_point(seconds(1700000000)));
  // Beyond what the clock can count.
  world.send("GET", "/api/v1/executions?since=0001-01-01T00:00:00Z&until=9999-12-31T23:59:59Z");
  EXPECT_LE(*world.history.asked.since, system_clock::now());
  EXPECT_GE(*world.history.asked.until, system_clock::now());
  for (const char* bad : {"status=done", "limit=0", "limit=501", "limit=-1", "limit=x", "before=1e3", "since=yesterday",
                          "since=2026-02-30T00:00:00Z", "exit_reason=bored"})
    EXPECT_EQ(status_of(world.send("GET", cat("/api/v1/executions?", bad))), 400) << bad;
}

TEST(OneExecution, HasItsRequestResultUsageAndEvents) {
  RestWorld world;
  const std::string id = submit(world);
  auto live = json_of(world.send("GET", "/api/v1/executions/" + id));
  EXPECT_TRUE(at(live, "result").is_null());
  world.history.all[id] = {R"({"argv":["id"]})", "{\"stdout\":\"hi\\n\",\"stderr_base64\":\"/w==\"}\n", "[[1,2,3,4,5]]", "[]"};
  world.executions.end(id, "exited", 0);
  auto x = json_of(world.send("GET", "/api/v1/executions/" + id));
  EXPECT_EQ(text_at(at(x, "result"), "stdout"), "hi\n");
  EXPECT_EQ(items_at(x, "usage").size(), 1U);
  EXPECT_EQ(members_of(at(x, "request")).size(), 1U);
}

TEST(Output, IsTheBytesThemselvesAndNeverAPage) {
  RestWorld world;
  const std::string id = submit(world);
  const std::string path = cat("/api/v1/executions/", id, "/output");
  EXPECT_EQ(status_of(world.send("GET", path)), 409);
  world.history.all[id].result = R"({"stdout":"<script>","stderr_base64":"/wA="})";
  world.executions.end(id, "exited", 0);
  auto x = world.send("GET", path);
  EXPECT_EQ(x->answer->body, "<script>");
  EXPECT_TRUE(x->answer->content_type.starts_with("text/plain"));
  EXPECT_EQ(x->header("Content-Security-Policy"), "default-src 'none'; sandbox");
  EXPECT_EQ(world.send("GET", path + "?stream=stderr")->answer->body, std::string("\xff\0", 2));
  EXPECT_EQ(status_of(world.send("GET", path + "?stream=stdin")), 400);
}

TEST(Verify, AnswersInTheFormatThatWasAskedFor) {
  RestWorld world;
  world.verification = Verification{true, "python", false, {}};
  auto x = world.send("POST", "/api/v1/verify", R"({"language":"python","code":"1"})");
  EXPECT_EQ(text_at(json_of(x), "language"), "python");
  EXPECT_EQ(world.question->policy.name, "default");
  x = world.send("POST", "/api/v1/verify", R"({"language":"python","code":"1","format":"sarif","profile":"strict"})");
  EXPECT_EQ(x->answer->content_type, "application/sarif+json");
  EXPECT_EQ(world.question->policy.name, "strict");
  EXPECT_EQ(status_of(world.send("POST", "/api/v1/verify", R"({"language":"python"})")), 400);
  EXPECT_EQ(status_of(world.send("POST", "/api/v1/verify", R"({"code":"1"})")), 400);
  EXPECT_EQ(status_of(world.send("POST", "/api/v1/verify", R"({"code":"1","language":"py","format":"xml"})")), 400);
  EXPECT_EQ(status_of(world.send("POST", "/api/v1/verify", R"({"code":"1","language":"py","profile":"/etc/passwd"})")), 400);
  EXPECT_EQ(status_of(world.send("POST", "/api/v1/verify", R"({"code":"1","language":"py","profile":"nope"})")), 404);
}

TEST(Inspect, OneFormIsAskedForAndTheAnswerIsPassedOn) {
  RestWorld world;
  world.services.inspect = {};
  EXPECT_EQ(status_of(world.send("POST", "/api/v1/inspect", R"({"text":"x"})")), 501);
  InspectQuestion asked;
  world.services.inspect = [&](InspectQuestion q, std::string, std::function<void(Result<std::string>)> done) {
    asked = q;
    if (q.text == "odd") return done(make_error(ErrorCode::kInvalid, "unknown kind odd"));
    done(std::string(R"({"safe":true,"level":"none","findings":[]})"));
  };
  auto x = world.send("POST", "/api/v1/inspect", R"({"arguments":{"a":[1,"b"]},"kinds":["sql"],"allowed_domains":["a.org"]})");
  EXPECT_EQ(text_at(json_of(x), "level"), "none");
  EXPECT_EQ(asked.as, "arguments");
  EXPECT_EQ(asked.text, R"({"a":[1,"b"]})");
  EXPECT_EQ(asked.kinds, std::vector<std::string>{"sql"});
  EXPECT_EQ(asked.allowed_domains, std::vector<std::string>{"a.org"});
  EXPECT_TRUE(asked.rules.empty());
  EXPECT_EQ(status_of(world.send("POST", "/api/v1/inspect", R"({"text":"x","rules":"- {}"})")), 200);
  EXPECT_EQ(asked.rules, (std::vector<std::pair<std::string, std::string>>{{"rules", "- {}"}}));
  EXPECT_EQ(status_of(world.send("POST", "/api/v1/inspect", R"({"command":"ls"})")), 200);
  EXPECT_EQ(asked.as, "command");
  for (auto bad : {"{}", R"({"text":"a","command":"b"})", R"({"text":1})", R"({"text":"a","more":1})", R"({"text":"odd"})"})
    EXPECT_EQ(status_of(world.send("POST", "/api/v1/inspect", bad)), 400) << bad;
}

TEST(Catalogue, ProfilesByNameAndFactsWhenTheyAreThere) {
  RestWorld world;
  auto all = json_of(world.send("GET", "/api/v1/profiles"));
  EXPECT_GE(items_at(all, "profiles").size(), 7U);
  auto strict = json_of(world.send("GET", "/api/v1/profiles/strict"));
  EXPECT_EQ(text_at(strict, "name"), "strict");
  EXPECT_NE(text_at(strict, "yaml"), "");
  EXPECT_EQ(status_of(world.send("GET", "/api/v1/profiles/nope")), 404);
  EXPECT_EQ(status_of(world.send("GET", "/api/v1/profiles/x.yaml")), 400);
  auto absent = world.send("GET", "/api/v1/backends");
  EXPECT_EQ(status_of(absent), 503);
  EXPECT_EQ(absent->header("Retry-After"), "2");
  world.services.facts_folder = ::testing::TempDir();
  std::ofstream(world.services.facts_folder + "/doctor.json") << "{\"a\":1}";
  EXPECT_EQ(world.send("GET", "/api/v1/doctor")->answer->body, "{\"a\":1}");
  std::remove((world.services.facts_folder + "/doctor.json").c_str());
}

TEST(Keys, AreShownOnceAndEveryChangeIsAudited) {
  RestWorld world;
  auto made = world.send("POST", "/api/v1/keys", R"({"name":"ci","scopes":["run","read"],"max_running":4})");
  EXPECT_EQ(status_of(made), 201);
  EXPECT_EQ(text_at(json_of(made), "key"), "hc_secret");
  EXPECT_EQ(world.keys[0].max_running, 4U);
  auto listed = world.send("GET", "/api/v1/keys");
  EXPECT_EQ(listed->answer->body.find("hc_secret"), std::string::npos);
  for (const char* bad : {R"({"scopes":["run"]})", R"({"name":"a b","scopes":["run"]})", R"({"name":"x","scopes":["root"]})",
                          R"({"name":"x"})", R"({"name":"local","scopes":["run"]})", R"({"name":"x","scopes":"run"})"})
    EXPECT_EQ(status_of(world.send("POST", "/api/v1/keys", bad)), 400) << bad;
  EXPECT_EQ(status_of(world.send("DELETE", "/api/v1/keys/ci")), 204);
  EXPECT_EQ(status_of(world.send("DELETE", "/api/v1/keys/ci")), 404);
  EXPECT_EQ(world.notes.size(), 2U);
}

TEST(Audit, PagesAndTheChain) {
  RestWorld world;
  EXPECT_EQ(world.send("GET", "/api/v1/audit?limit=2")->answer->body, R"({"entries":[{"a":1},{"a":2}],"next":7})");
  EXPECT_EQ(world.send("GET", "/api/v1/audit/verify")->answer->body, R"({"ok":true,"entries":12,"first_bad":null,"why":""})");
}

TEST(Health, ReadyIsMoreThanAlive) {
  RestWorld world;
  EXPECT_EQ(world.send("GET", "/health")->answer->body, R"({"status":"ok"})");
  EXPECT_EQ(status_of(world.send("GET", "/ready")), 200);
  world.executions.now.draining = true;
  EXPECT_EQ(status_of(world.send("GET", "/ready")), 503);
  EXPECT_EQ(status_of(world.send("GET", "/health")), 200);
  EXPECT_EQ(text_at(json_of(world.send("GET", "/version")), "name"), "hotcell");
  EXPECT_NE(world.send("GET", "/metrics")->answer->body.find("hotcell_http_requests_total{method=\"GET\",route=\"/health\",code=\"200\"} 2"),
            std::string::npos);
}

TEST(OpenApi, DescribesEveryRouteAndNoOther) {
  RestWorld world;
  std::set<std::string> routes, described;
  for (const auto& route : rest_routes(world.services)) {
    std::string path;
    for (auto part : split(std::string_view(route.pattern).substr(1), '/'))
      path += part.starts_with(':') ? cat("/{", part.substr(1), "}") : cat("/", part);
    routes.insert(cat(route.method, " ", path));
  }
  auto document = parse_json(openapi_document(), JsonBounds{64, 1'000'000});
  ASSERT_TRUE(document.ok()) << document.error().message;
  for (const auto& path : members_of(at(document.value(), "paths"))) {
    for (const auto& operation : members_of(path.value)) {
      std::string method = operation.name;
      for (char& c : method) c = static_cast<char>(std::toupper(c));
      // MCP has its own folder and its own specification.
      if (method != "PARAMETERS" && path.name != "/mcp") described.insert(cat(method, " ", path.name));
    }
  }
  EXPECT_EQ(routes, described);
}

// And that a name which the document does not have is refused, so the two cannot drift apart.
TEST(OpenApi, HasTheNamesThatQueriesMayHaveAndNoOther) {
  RestWorld world;
  auto document = parse_json(openapi_document(), JsonBounds{64, 1'000'000});
  ASSERT_TRUE(document.ok()) << document.error().message;
  for (const auto& route : rest_routes(world.services)) {
    std::string path, method = route.method;
    for (auto part : split(std::string_view(route.pattern).substr(1), '/'))
      path += part.starts_with(':') ? cat("/{", part.substr(1), "}") : cat("/", part);
    for (char& c : method) c = static_cast<char>(std::tolower(c));
    std::set<std::string> described, known;
    const JsonValue* operation = at(document.value(), "paths").find(path, method);
    ASSERT_NE(operation, nullptr) << path;
    for (const auto& p : operation->items("parameters"))
      if (p.text("in") == "query") described.insert(std::string(p.text("name")));
    auto names = query_names(route.method, route.pattern);
    if (names) known.insert(names->begin(), names->end());
    EXPECT_EQ(known, described) << route.method << " " << route.pattern;
    EXPECT_TRUE(!names || operation->find("responses", "400") != nullptr) << route.method << " " << route.pattern;
  }
}

TEST(Query, ANameThatNobodyReadsIsSaidWithTheNearest) {
  RestWorld world;
  auto x = world.send("POST", "/api/v1/sandbox/execute?wiat=false", R"({"command":"id"})");
  EXPECT_EQ(status_of(x), 400);
  EXPECT_EQ(message_of(x), "unknown query parameter \"wiat\"; did you mean \"wait\"?");
  EXPECT_EQ(world.executions.specs.size(), 0U) << "and nothing runs";
  x = world.send("GET", "/api/v1/audit?limt=3");
  EXPECT_EQ(status_of(x), 400);
  EXPECT_EQ(message_of(x), "unknown query parameter \"limt\"; did you mean \"limit\"?");
  EXPECT_EQ(message_of(world.send("GET", "/api/v1/audit?limit=3&colour=red")), "unknown query parameter \"colour\"; there is limit and before");
  EXPECT_EQ(message_of(world.send("GET", "/api/v1/stats?limit=3")), "unknown query parameter \"limit\"; this path has none");
  EXPECT_EQ(status_of(world.send("GET", "/api/v1/audit?limit=3")), 200) << "the control";
  // Which of two was meant nobody can know.
  for (const char* path : {"/api/v1/audit?limit=3&limit=4", "/api/v1/audit?limit=3&limit=3", "/api/v1/executions?limit=3&status=failed&limit=5"})
    EXPECT_EQ(message_of(world.send("GET", path)), "the query parameter \"limit\" is there twice") << path;
  EXPECT_EQ(status_of(world.send("POST", "/api/v1/sandbox/execute?wait=true&wait=false", R"({"command":"id"})")), 400);
  EXPECT_EQ(world.executions.specs.size(), 0U);
  // What others' clients, probes and scrapers send is their own business.
  for (const char* path : {"/api/v1/sandbox/info?t=1", "/health?probe=lb", "/metrics?name[]=up", "/version?x", "/healthz?x=1", "/profile?x=1", "/docs?x=1"})
    EXPECT_EQ(status_of(world.send("GET", path)), 200) << path;
}

TEST(OpenApi, ThePageForPeopleHasNoScriptAndAStrictPolicy) {
  RestWorld world;
  auto page = world.send("GET", "/docs");
  EXPECT_NE(page->answer->body.find("/api/v1/sandbox/execute"), std::string::npos);
  EXPECT_EQ(page->answer->body.find("<script"), std::string::npos);
  EXPECT_EQ(page->answer->body.find("style="), std::string::npos);
  EXPECT_TRUE(page->header("Content-Security-Policy").starts_with("default-src 'none'"));
  EXPECT_EQ(status_of(world.send("GET", "/docs/style.css")), 200);
  EXPECT_EQ(world.send("GET", "/openapi.json")->answer->body, openapi_document());
}

}  // namespace
}  // namespace hotcell::server::testing
