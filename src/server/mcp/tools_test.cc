#include "server/mcp/tools.h"

#include <gtest/gtest.h>

#include "server/mcp/mcp_testing.h"
#include "server/mcp/outcome.h"

namespace hotcell::server::mcp {
namespace {

using testing::Scene;
using testing::Told;

std::string call(std::string_view tool, std::string_view arguments, std::string_view more = "") {
  return cat(R"({"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"name":")", tool, R"(","arguments":)",
             arguments, more, "}}");
}
JsonValue result(const std::shared_ptr<Told>& told) {
  EXPECT_EQ(told->answers.size(), 1u);
  if (told->answers.empty()) return JsonValue();
  EXPECT_EQ(told->answers[0].find('\n'), std::string::npos) << "a message is one line";
  auto json = parse_json(told->answers[0]);
  EXPECT_TRUE(json.ok());
  const JsonValue* r = json.ok() ? json.value().find("result") : nullptr;
  EXPECT_NE(r, nullptr) << told->answers[0];
  return r == nullptr ? JsonValue() : *r;
}
std::string text(const JsonValue& r) {
  return r.items("content").empty() ? "" : std::string(r.items("content")[0].text("text"));
}

TEST(McpTools, TheListIsWholeJsonWithSchemasAndTheSameEveryTime) {
  Scene scene;
  auto list = R"({"jsonrpc":"2.0","id":7,"method":"tools/list"})";
  auto told = scene.send(list);
  JsonValue r = result(told);
  std::vector<std::string> names;
  for (const JsonValue& tool : r.items("tools")) {
    names.emplace_back(tool.text("name"));
    EXPECT_EQ(tool.find("inputSchema")->text("type"), "object");
    EXPECT_EQ(tool.find("outputSchema")->text("type"), "object");
    EXPECT_FALSE(tool.text("description").empty());
  }
  EXPECT_EQ(names, (std::vector<std::string>{"run_code", "run_command", "get_execution", "list_executions",
                                             "kill_execution", "explain_denial", "verify_code", "inspect", "check_host", "estimate_needs",
                                             "list_languages", "cell_create", "cell_list", "cell_inspect", "cell_exec", "cell_fork", "cell_control", "cell_clean", "cell_shell",
                                             "cell_run_code", "cell_read_file", "cell_write_file", "cell_list_files", "cell_files", "cell_read_folder",
                                             "cell_watch_files", "cell_diff", "cell_apply", "cell_discard", "cell_snapshot", "cell_network",
                                             "create_sandbox", "list_sandboxes", "kill_sandbox", "pause_sandbox", "resume_sandbox", "snapshot", "diff",
                                             "read_file", "write_file", "list_files"}));
  EXPECT_EQ(scene.send(list)->answers, told->answers);
  EXPECT_EQ(scene.send(R"({"jsonrpc":"2.0","id":7,"method":"tools/list","params":{"cursor":null}})")->answers, told->answers);
  for (auto method : {"tools/list", "resources/templates/list"}) {
    auto page = scene.send(cat(R"({"jsonrpc":"2.0","id":7,"method":")", method, R"(","params":{"cursor":"made up"}})"));
    EXPECT_NE(page->answers.back().find("-32602"), std::string::npos) << page->answers.back();
  }
}

TEST(McpTools, RunCodePassesOnWhatWasAskedFor) {
  Scene scene;
  JsonValue r = result(scene.send(call("run_code", R"j({"language":"python","code":"print(1)","args":["a"],"stdin":"in",
    "files":[{"name":"b.bin","content":"AAE=","encoding":"base64"}],"env":{"K":"V"},"timeout_ms":1500,"profile":"strict",
    "limits":{"memory":"64M","cpu_time":1.5,"processes":4},"rich":true,"network":false})j")));
  EXPECT_FALSE(r.boolean_or("isError", true));
  const JsonValue* s = r.find("structuredContent");
  ASSERT_NE(s, nullptr);
  EXPECT_EQ(s->text("stdout"), "hello\n");
  EXPECT_EQ(s->text("exit_reason"), "exited");
  EXPECT_EQ(s->integer_or("stdout_bytes_total", -1), 6);
  EXPECT_FALSE(s->boolean_or("truncated", true));
  const JobSpec& spec = scene.executions.last().spec;
  EXPECT_EQ(spec.door, "mcp");
  EXPECT_EQ(spec.language, "python");
  EXPECT_EQ(spec.args, std::vector<std::string>{"a"});
  EXPECT_EQ(spec.files[0].bytes, std::string("\0\1", 2));
  EXPECT_EQ(spec.timeout, std::chrono::milliseconds(1500));
  EXPECT_EQ(spec.limits.memory, 64_MiB);
  EXPECT_EQ(spec.limits.cpu_time, std::chrono::milliseconds(1500));
  EXPECT_TRUE(spec.rich);
  EXPECT_EQ(spec.on_output, OnOutput::kTruncate);
  EXPECT_EQ(scene.server->under_way(), 0u);
  EXPECT_TRUE(scene.executions.last().watchers.empty());
}

TEST(McpTools, WrongArgumentsAreToldToTheModelAndStartNothing) {
  struct {
    const char *tool, *arguments, *said;
  } cases[] = {
      {"run_code", R"({"language":"python"})", "code is missing"},
      {"run_code", R"({"code":"x"})", "language is missing"},
      {"run_code", R"({"language":"python","code":7})", "code must be a string, not a number"},
      {"run_code", R"({"language":"python","code":"","timout_ms":5})", "did you mean \"timeout_ms\"?"},
      {"run_code", R"({"language":"python","code":"","timeout_ms":-5})", "timeout_ms must be a whole number"},
      {"run_code", R"({"language":"python","code":"","timeout_ms":1e30})", "timeout_ms must be a whole number"},
      {"run_code", R"({"language":"python","code":"","files":[{"name":"a","content":"%","encoding":"base64"}]})",
       "base64"},
      {"run_code", R"({"language":"python","code":"","files":7})", "files must be an object or an array"},
      {"run_code", R"({"language":"python","code":"","limits":{"memory":"much"}})", "limits: memory must be"},
      {"run_code", R"({"language":"python","code":"","limits":{"memroy":1}})", "did you mean \"memory\"?"},
      {"run_code", R"({"language":"python","code":"","env":{"A":1}})", "env.A must be a string"},
      {"run_command", R"({})", "either command or argv"},
      {"run_command", R"({"command":"true","argv":["true"]})", "either command or argv"},
      {"run_command", R"({"argv":["true",1]})", "argv[1] must be a string"},
      {"run_command", R"({"command":"true","files":{".git/hooks/pre-commit":"x"}})", "is a protected name"},
      {"run_command", R"({"command":"true","files":{"../x":"y"}})", "must be a plain relative name"},
      {"run_command", R"({"command":"true","files":{"a":"x","a/b":"y"}})", "cannot be a file and a folder"},
      {"run_code", R"({"language":"python","code":"","files":[{"name":"a","content":""},{"name":"a","content":""}]})", "is there twice"},
      {"create_sandbox", R"({"files":{".GIT/config":"x"}})", "is a protected name"},
      {"list_executions", R"({"status":"runing"})", "did you mean \"running\"?"},
      {"list_executions", R"({"exit_reason":"zombie"})", "exit_reason: there is no \"zombie\""},
      {"get_execution", R"({})", "id is missing"},
      {"get_execution", R"({"id":"nobody"})", "no execution 'nobody'"},
      {"kill_execution", R"({"id":"nobody"})", "no execution 'nobody'"},
      {"explain_denial", R"({"id":"nobody"})", "no execution 'nobody'"},
      {"estimate_needs", R"({})", "command is missing"},
      {"list_languages", R"({"x":1})", "unknown argument 'x'"},
      {"run_command", R"({"command":"true","waive":["network"]})", "no request waives"},
  };
  for (const auto& c : cases) {
    Scene scene;
    JsonValue r = result(scene.send(call(c.tool, c.arguments)));
    EXPECT_TRUE(r.boolean_or("isError", false)) << c.arguments;
    EXPECT_NE(text(r).find(c.said), std::string::npos) << c.arguments << " → " << text(r);
    EXPECT_TRUE(scene.executions.all.empty()) << c.arguments;
  }
  Scene scene;
  for (auto params : {R"({"name":"no_such_tool","arguments":{}})", R"({"arguments":{}})", R"({"name":5})",
                      R"({"name":"run_code","arguments":[]})"}) {
    auto told = scene.send(cat(R"({"jsonrpc":"2.0","id":7,"method":"tools/call","params":)", params, "}"));
    EXPECT_NE(told->answers.at(0).find("-32602"), std::string::npos) << told->answers[0];
  }
}

TEST(McpTools, WhatACellToolDoesNotTakeIsRefusedBeforeTheKeeperIsAsked) {
  struct {
    const char *tool, *arguments, *said;
  } cases[] = {
      {"cell_files", R"({"cell":"c","action":"move","path":"a"})", "to is missing"},
      {"cell_files", R"({"cell":"c","action":"move","path":"a","to":"../b"})", "has a .. in it"},
      {"cell_files", R"({"cell":"c","action":"remove","path":"a","to":"b"})", "to is for move only"},
      {"cell_files", R"({"cell":"c","action":"remove","path":"","recursive":true})", "path is empty"},
      {"cell_files", R"({"cell":"c","action":"remove"})", "path is missing"},
      {"cell_files", R"({"cell":"c","action":"make_folder","path":"a","recursive":true})", "recursive is for remove only"},
      {"cell_files", R"({"cell":"c","action":"unpack","path":"a"})", "tar is missing"},
      {"cell_files", R"({"cell":"c","action":"unpack","path":"a","tar":"%"})", "tar is not valid base64"},
      {"cell_files", R"({"cell":"c","action":"copy","path":"a"})", "action must be move, remove, make_folder or unpack"},
      {"cell_files", R"({"action":"remove","path":"a"})", "cell is missing"},
      {"cell_read_folder", R"({"cell":"c","path":"a/../../b"})", "has a .. in it"},
      {"cell_watch_files", R"({"cell":"c","timeout_ms":0})", "timeout_ms must be a whole number"},
      {"cell_discard", R"({"cell":"c","paths":["/etc"]})", "/etc is not in /work"},
      {"cell_inspect", R"({"cell":"c","what":"all"})", "what must be cell, usage, network or questions"},
      {"cell_snapshot", R"({"cell":"c","action":"remove"})", "label is missing"},
      {"cell_snapshot", R"({"cell":"c","action":"take","name":"n"})", "name is for restore only"},
      {"cell_control", R"({"cell":"c","action":"close"})", "start, stop, seal or remove"},
      {"cell_create", R"({"phases":"yes"})", "phases must be"},
      {"cell_clean", R"({"keep":-1})", "keep must be a whole number"},
      {"cell_clean", R"({"older_than_s":"1d"})", "older_than_s must be a whole number"},
      {"cell_clean", R"({"cell":"c"})", "unknown argument 'cell'"},
      {"cell_clean", R"({"keep":0})", "lasting cells cannot be had here"},
      {"cell_inspect", R"({"cell":"c"})", "lasting cells cannot be had here"},  // nothing is wrong with it
  };
  for (const auto& c : cases) {
    Scene scene;
    JsonValue r = result(scene.send(call(c.tool, c.arguments)));
    EXPECT_TRUE(r.boolean_or("isError", false)) << c.arguments;
    EXPECT_NE(text(r).find(c.said), std::string::npos) << c.tool << c.arguments << " → " << text(r);
  }
  // A key that may only look.
  for (auto tool : {"cell_inspect", "cell_read_folder", "cell_watch_files"}) {
    Scene scene;
    scene.caller = {.name = "reader", .run = false, .read = true, .admin = false, .uid = {}};
    EXPECT_NE(text(result(scene.send(call(tool, R"({"cell":"c"})")))).find("cannot be had here"), std::string::npos) << tool;
  }
  for (auto tool : {"cell_files", "cell_discard", "cell_control", "cell_snapshot"}) {
    Scene scene;
    scene.caller = {.name = "reader", .run = false, .read = true, .admin = false, .uid = {}};
    EXPECT_NE(text(result(scene.send(call(tool, R"({"cell":"c"})")))).find("may not run"), std::string::npos) << tool;
  }
  Scene scene;
  scene.caller = {.name = "reader", .run = false, .read = true, .admin = false, .uid = {}};
  EXPECT_NE(text(result(scene.send(call("cell_clean", "{}")))).find("may not run"), std::string::npos);
}

TEST(McpTools, WhatACommandNeedsIsGuessedAndNothingIsStarted) {
  Scene scene;
  JsonValue r = result(scene.send(call("estimate_needs", R"({"command":"env A=1 cargo build"})")));
  EXPECT_EQ(text(r), "memory 1G, CPU time 60 s, 120 s in all (cargo, build)");
  const JsonValue* guess = r.find("structuredContent");
  ASSERT_NE(guess, nullptr);
  EXPECT_EQ(guess->integer_or("memory_bytes", 0), 1 << 30);
  EXPECT_TRUE(scene.executions.all.empty());
}

TEST(McpTools, AProgramThatFailsIsAnAnswerWithItsOutput) {
  Scene scene;
  scene.executions.make = [](Report& report) {
    report.verdict.exit_code = 3;
    report.err = "Traceback\n";
    report.err_bytes = 10;
    report.denials.push_back({"seccomp", "ptrace was refused", "ptrace", "syscalls: {allow: [ptrace]}", 1});
  };
  JsonValue r = result(scene.send(call("run_command", R"({"command":"false"})")));
  EXPECT_TRUE(r.boolean_or("isError", false));
  const JsonValue* s = r.find("structuredContent");
  EXPECT_EQ(s->integer_or("exit_code", 0), 3);
  EXPECT_EQ(s->text("stderr"), "Traceback\n");
  EXPECT_EQ(s->items("denials").size(), 1u);
  EXPECT_NE(text(r).find("Traceback"), std::string::npos);
  EXPECT_NE(text(r).find("exit code 3"), std::string::npos);
  EXPECT_NE(text(r).find("syscalls: {allow: [ptrace]}"), std::string::npos);
  EXPECT_EQ(scene.executions.last().spec.argv, (std::vector<std::string>{"/bin/sh", "-c", "false"}));
  JsonValue why = result(scene.send(call("explain_denial", R"({"id":"x1"})")));
  EXPECT_NE(text(why).find("this would allow it: syscalls"), std::string::npos) << text(why);
}

TEST(McpTools, LongOutputIsCutHonestlyAndCanBeReadOn) {
  Scene scene;
  std::string whole;
  while (whole.size() < 200'000) whole += "ä1\n";
  scene.executions.make = [&](Report& report) {
    report.out = whole;
    report.out_bytes = whole.size();
  };
  JsonValue r = result(scene.send(call("run_command", R"({"command":"yes"})")));
  const JsonValue* s = r.find("structuredContent");
  EXPECT_TRUE(s->boolean_or("truncated", false));
  EXPECT_TRUE(s->boolean_or("stdout_truncated", false));
  EXPECT_FALSE(s->boolean_or("stderr_truncated", true));
  EXPECT_FALSE(s->boolean_or("binary", true)) << "no character is cut in half";
  EXPECT_EQ(s->integer_or("stdout_bytes_total", 0), static_cast<std::int64_t>(whole.size()));
  std::string read(s->text("stdout"));
  EXPECT_LE(read.size(), kMostText);
  EXPECT_GT(read.size(), kMostText - 4);
  while (read.size() < whole.size()) {
    JsonValue more =
        result(scene.send(call("get_execution", cat(R"({"id":"x1","stream":"stdout","offset":)", read.size(), "}"))));
    auto piece = more.find("structuredContent")->text("stdout");
    ASSERT_FALSE(piece.empty());
    read += piece;
  }
  EXPECT_EQ(read, whole);
  JsonValue end = result(scene.send(call("get_execution", R"({"id":"x1","offset":-4,"max_bytes":100})")));
  EXPECT_EQ(end.find("structuredContent")->text("stdout"), "ä1\n");
}

TEST(McpTools, OutputThatIsNoTextStaysWholeJson) {
  Scene scene;
  scene.executions.make = [](Report& report) {
    report.out = std::string("\xff\xfe\0\x1b[31m", 8);
    report.out_bytes = 8;
    report.outputs.push_back({RichType::kPng, "figure-1.png", "\x89PNG"});
    report.outputs.push_back({RichType::kText, "value.txt", "42"});
  };
  JsonValue r = result(scene.send(call("run_code", R"({"language":"python","code":"x","rich":true})")));
  EXPECT_TRUE(r.find("structuredContent")->boolean_or("binary", false));
  ASSERT_EQ(r.items("content").size(), 2u);
  EXPECT_EQ(r.items("content")[1].text("type"), "image");
  EXPECT_EQ(r.items("content")[1].text("data"), "iVBORw==");
  EXPECT_EQ(r.find("structuredContent")->items("outputs")[1].text("text"), "42");
}

TEST(McpTools, ProgressIsToldWhileItRuns) {
  Scene scene;
  scene.executions.end_at_once = false;
  auto told = scene.send(call("run_command", R"({"command":"sleep 1"})", R"(,"_meta":{"progressToken":"t"})"));
  EXPECT_TRUE(told->answers.empty());
  EXPECT_EQ(scene.server->under_way(), 1u);
  auto& one = scene.executions.last();
  scene.executions.update(one, "state", R"({"status":"running"})");
  ASSERT_EQ(told->notices.size(), 1u);
  JsonValue notice = parse_json(told->notices[0]).value();
  EXPECT_EQ(notice.text("method"), "notifications/progress");
  EXPECT_EQ(notice.find("params")->text("progressToken"), "t");
  EXPECT_EQ(notice.find("params")->text("message"), "running");
  scene.executions.end(one);
  EXPECT_EQ(result(told).find("structuredContent")->text("status"), "completed");
  EXPECT_EQ(scene.server->under_way(), 0u);
}

TEST(McpTools, WhoeverGoesAwayKillsWhatItWaitedFor) {
  for (int how = 0; how < 4; ++how) {
    Scene scene;
    scene.executions.end_at_once = false;
    auto told = scene.send(call("run_command", R"({"command":"sleep 1"})", R"(,"_meta":{"progressToken":1})"));
    auto& one = scene.executions.last();
    if (how == 0) told->closed();
    if (how == 1) scene.send(R"({"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":7}})");
    if (how == 2) scene.server->cancel_all("p");
    if (how == 3) {
      told->peer_gone = true;
      scene.executions.update(one, "state", R"({"status":"running"})");
    }
    EXPECT_TRUE(one.killed) << how;
    EXPECT_TRUE(told->answers.empty()) << "what was cancelled is not answered";
    EXPECT_EQ(told->times, 1);
    EXPECT_EQ(scene.server->under_way(), 0u);
    scene.run_posted();
    EXPECT_TRUE(one.watchers.empty());
  }
}

TEST(McpTools, NobodyCancelsWhatSomebodyElseAskedFor) {
  Scene scene;
  scene.executions.end_at_once = false;
  scene.send(call("run_command", R"({"command":"sleep 1"})"));
  auto cancel = R"({"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":7}})";
  scene.send(cancel, nullptr, "somebody else");
  EXPECT_FALSE(scene.executions.last().killed);
  scene.send(call("run_command", R"({"command":"sleep 2"})"));
  scene.send(cancel);
  EXPECT_FALSE(scene.executions.all[0]->killed || scene.executions.all[1]->killed)
      << "two have this id: which one is meant?";
}

TEST(McpTools, BackgroundReturnsAtOnceAndGetExecutionWaits) {
  Scene scene;
  scene.executions.end_at_once = false;
  JsonValue r = result(scene.send(call("run_command", R"({"command":"sleep 1","background":true})")));
  EXPECT_EQ(r.find("structuredContent")->text("status"), "pending");
  EXPECT_FALSE(r.boolean_or("isError", true));
  auto waiting = scene.send(call("get_execution", R"({"id":"x1","wait":true})"));
  EXPECT_TRUE(waiting->answers.empty());
  scene.executions.end(scene.executions.last());
  EXPECT_EQ(result(waiting).find("structuredContent")->text("stdout"), "hello\n");
  EXPECT_FALSE(scene.executions.last().killed);
}

TEST(McpTools, AKeySeesAndTouchesItsOwnExecutionsOnly) {
  Scene scene;
  scene.send(call("run_command", R"({"command":"true"})"));
  scene.caller = {.name = "other", .run = true, .read = true, .admin = false, .uid = {}};
  EXPECT_TRUE(result(scene.send(call("get_execution", R"({"id":"x1"})"))).boolean_or("isError", false));
  EXPECT_TRUE(result(scene.send(call("kill_execution", R"({"id":"x1"})"))).boolean_or("isError", false));
  EXPECT_TRUE(result(scene.send(call("list_executions", "{}"))).find("structuredContent")->items("executions").empty());
  auto read =
      scene.send(R"({"jsonrpc":"2.0","id":7,"method":"resources/read","params":{"uri":"hotcell://executions/x1"}})");
  EXPECT_NE(read->answers.at(0).find("-32002"), std::string::npos);
  scene.caller.run = false;
  EXPECT_TRUE(result(scene.send(call("run_command", R"({"command":"true"})"))).boolean_or("isError", false));
  EXPECT_EQ(scene.executions.all.size(), 1u);
}

TEST(McpTools, AFullQueueIsToldAsSomethingToTryAgain) {
  Scene scene;
  scene.executions.full = true;
  JsonValue r = result(scene.send(call("run_command", R"({"command":"true"})")));
  EXPECT_TRUE(r.boolean_or("isError", false));
  EXPECT_NE(text(r).find("try again later"), std::string::npos);
}

TEST(McpTools, OutputThatIsToBeInspectedIsSaidSoAndWithheldOutputIsExplained) {
  Scene scene;
  OutputInspection& i = scene.executions.inspection.emplace();
  i.mode = InspectMode::kBlock;
  i.level = "high";
  i.withheld = true;
  i.message = "the output is withheld: why";
  for (std::uint64_t n = 0; n < 200; ++n) i.findings.push_back({"stdout", "secrets", "data_leak", "high", "key", "a key", "", n});
  scene.executions.make = [](Report& r) { r.out.clear(); };
  JsonValue r = result(scene.send(call("run_command", R"({"command":"true","inspect":"block"})")));
  EXPECT_EQ(scene.executions.last().spec.inspect, InspectMode::kBlock);
  EXPECT_FALSE(r.boolean_or("isError", true)) << "the program did not fail";
  EXPECT_NE(text(r).find("the output is withheld: why"), std::string::npos) << text(r);
  const JsonValue* inspection = r.find("structuredContent")->find("inspection");
  ASSERT_NE(inspection, nullptr);
  EXPECT_TRUE(inspection->boolean_or("withheld", false));
  EXPECT_EQ(inspection->items("findings").size(), 50u);
  for (auto wrong : {R"({"command":"true","inspect":"odd"})", R"({"command":"true","inspect":"off"})", R"({"command":"true","inspect":1})"})
    EXPECT_TRUE(result(scene.send(call("run_command", wrong))).boolean_or("isError", false)) << wrong;
}

TEST(McpTools, InspectAsksForOneFormAndTellsWhatWasFound) {
  Scene scene;
  JsonValue found = result(scene.send(call("inspect", R"({"arguments":{"a":["b"]},"kinds":["sql"],"allowed_domains":["a.org"]})")));
  EXPECT_FALSE(found.find("structuredContent")->boolean_or("safe", true));
  EXPECT_NE(text(found).find("high: arguments {\"a\":[\"b\"]} sql a.org"), std::string::npos) << text(found);
  EXPECT_NE(text(result(scene.send(call("inspect", R"({"text":"x"})")))).find("text x"), std::string::npos);
  for (auto wrong : {"{}", R"({"text":"x","command":"y"})", R"({"text":1})", R"({"arguments":"x"})", R"({"text":"x","kinds":"all"})"})
    EXPECT_TRUE(result(scene.send(call("inspect", wrong))).boolean_or("isError", false)) << wrong;
}

TEST(McpTools, VerifyListAndResources) {
  Scene scene;
  JsonValue bad = result(scene.send(call("verify_code", R"({"language":"python","code":"evil","file":"a.py"})")));
  EXPECT_FALSE(bad.find("structuredContent")->boolean_or("safe", true));
  EXPECT_EQ(bad.find("structuredContent")->items("findings").size(), 1u);
  JsonValue languages = result(scene.send(call("list_languages", "{}")));
  EXPECT_GE(languages.find("structuredContent")->items("languages").size(), 11u);
  for (int i = 0; i < 60; ++i) scene.send(call("run_command", R"({"command":"true"})"));
  JsonValue page = result(scene.send(R"({"jsonrpc":"2.0","id":7,"method":"resources/list"})"));
  EXPECT_EQ(page.items("resources").size(), 50u);
  EXPECT_EQ(page.items("resources")[0].text("description"), "execution, completed");
  JsonValue next = result(scene.send(cat(R"({"jsonrpc":"2.0","id":7,"method":"resources/list","params":{"cursor":")",
                                    page.text("nextCursor"), "\"}}")));
  EXPECT_EQ(next.items("resources").size(), 10u);
  EXPECT_EQ(next.find("nextCursor"), nullptr);
  JsonValue read = result(scene.send(
      R"({"jsonrpc":"2.0","id":7,"method":"resources/read","params":{"uri":"hotcell://executions/x1/stdout"}})"));
  EXPECT_EQ(read.items("contents")[0].text("text"), "hello\n");
  JsonValue list = result(scene.send(call("list_executions", R"({"limit":2})")));
  EXPECT_EQ(list.find("structuredContent")->items("executions").size(), 2u);
  EXPECT_EQ(list.find("structuredContent")->integer_or("next", 0), 59);
}

}  // namespace
}  // namespace hotcell::server::mcp
