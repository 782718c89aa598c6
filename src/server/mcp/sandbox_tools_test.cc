// What can be said of these tools without a keeper: their shape, their arguments, their header. What they do is in
// tests/mcp, where other people's clients use them on a daemon.
#include "server/mcp/sandbox_tools.h"

#include <gtest/gtest.h>

#include "server/mcp/mcp_testing.h"
#include "server/mcp/tools.h"

namespace hotcell::server::mcp {
namespace {

using testing::Scene;
using testing::Told;

constexpr std::string_view kNames[] = {"create_sandbox", "list_sandboxes", "kill_sandbox", "pause_sandbox", "resume_sandbox",
                                       "snapshot",       "diff",           "read_file",    "write_file",    "list_files"};

std::string said(std::string_view tool, std::string_view arguments) {
  Scene scene;
  auto told = scene.send(cat(R"({"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"name":")", tool, R"(","arguments":)", arguments, "}}"));
  EXPECT_EQ(told->answers.size(), 1u);
  auto json = parse_json(told->answers.at(0));
  const JsonValue* result = json.ok() ? json.value().find("result") : nullptr;
  EXPECT_NE(result, nullptr) << told->answers[0];
  if (result == nullptr) return {};
  EXPECT_TRUE(result->boolean_or("isError", false)) << told->answers[0];
  EXPECT_TRUE(scene.executions.all.empty()) << "nothing runs in a fresh cell instead";
  return std::string(result->items("content").at(0).text("text"));
}

TEST(McpSandboxes, EveryNameHasSchemasOfItsOwnThatSpeakOfSandboxes) {
  for (auto name : kNames) {
    const Tool* tool = find_tool(name, false);
    ASSERT_NE(tool, nullptr) << name;
    auto input = parse_json(tool->input);
    ASSERT_TRUE(input.ok()) << name << ": " << tool->input;
    ASSERT_TRUE(parse_json(tool->output).ok()) << name;
    EXPECT_EQ(tool->input.find("\"cell\""), std::string_view::npos) << tool->input;
    const bool one = name != "create_sandbox" && name != "list_sandboxes";
    const JsonValue* id = input.value().find("properties", "sandbox_id");
    EXPECT_EQ(id != nullptr, one) << name;
    if (!one) continue;
    EXPECT_EQ(id->text("x-mcp-header"), "Sandbox") << name;
    ASSERT_FALSE(input.value().items("required").empty()) << name;
    EXPECT_EQ(*input.value().items("required")[0].string(), "sandbox_id") << name;
    ASSERT_EQ(tool->header_params.size(), 1u) << name;
    EXPECT_EQ(tool->header_params[0].first, "sandbox_id");
  }
  for (auto name : {"profile", "template", "network", "ttl_s"})
    EXPECT_NE(parse_json(find_tool("create_sandbox", false)->input).value().find("properties", name), nullptr) << name;
  for (auto name : {"run_code", "run_command"})
    EXPECT_EQ(parse_json(find_tool(name, false)->input).value().find("properties", "sandbox_id")->text("x-mcp-header"), "Sandbox");
}

TEST(McpSandboxes, WhatIsWrongIsToldByTheNameThatWasCalled) {
  struct {
    const char *tool, *arguments, *said;
  } cases[] = {
      {"read_file", R"({"path":"a"})", "read_file: sandbox_id is missing"},
      {"read_file", R"({"sandbox_id":5,"path":"a"})", "read_file: sandbox_id is no string"},
      {"read_file", R"({"sandbox_id":"s"})", "read_file: path is missing"},
      {"read_file", R"({"cell":"s","path":"a"})", "read_file: unknown argument 'cell'; it takes sandbox_id"},
      {"write_file", R"({"sandbox_id":"s","path":"a","content":"x","mode":7})", "write_file: unknown argument 'mode'"},
      {"list_files", R"({"sandbox_id":"s","path":"../x"})", "list_files: path: ../x has a .. in it"},
      {"kill_sandbox", R"({"sandbox_id":"s","action":"pause"})", "kill_sandbox: unknown argument 'action'"},
      {"pause_sandbox", "{}", "pause_sandbox: sandbox_id is missing"},
      {"list_sandboxes", R"({"x":1})", "list_sandboxes: unknown argument 'x'"},
      {"create_sandbox", R"({"ttl_s":0})", "create_sandbox: ttl_s must be a whole number"},
      {"create_sandbox", R"({"template":"s","profile":"dev"})", "create_sandbox: profile cannot be given together with template"},
      {"create_sandbox", R"({"template":"s@"})", "which snapshot?"},
      {"create_sandbox", R"({"template":"s"})", "create_sandbox: lasting cells cannot be had here"},
      {"create_sandbox", "{}", "create_sandbox: lasting cells cannot be had here"},
      {"run_command", R"({"sandbox_id":"s","command":"true","profile":"dev"})", "profile cannot be given together with sandbox_id"},
      {"run_command", R"({"sandbox_id":"s","command":"true","background":true})", "background cannot be given together with sandbox_id"},
      {"run_command", R"({"sandbox_id":"s"})", "run_command: give either command or argv"},
      {"run_command", R"({"sandbox_id":"","command":"true"})", "run_command: sandbox_id is empty"},
      {"run_command", R"({"sandbox_id":7,"command":"true"})", "run_command: sandbox_id must be a string"},
      {"run_command", R"({"sandbox_id":"s","command":"true","timeout_ms":0})", "run_command: timeout_ms must be"},
      {"run_command", R"({"sandbox_id":"s","command":"true","cwd":"../x"})", "run_command: cwd: path: ../x has a .. in it"},
      {"run_command", R"({"sandbox_id":"s","command":"true","profile":null})", "run_command: lasting cells cannot be had here"},
      {"run_command", R"({"sandbox_id":"s","command":"true","files":{"a":"b"}})", "run_command: lasting cells cannot be had here"},
      {"run_code", R"({"sandbox_id":"s","language":"rust","code":"x"})", "with sandbox_id language must be python, javascript, bash, perl or ruby, not rust"},
      {"run_code", R"({"sandbox_id":"s","language":"python"})", "run_code: code is missing"},
      {"run_code", R"({"sandbox_id":"s","language":"python","code":"\u0000"})", "run_code: code has a NUL byte"},
      {"run_code", R"({"sandbox_id":"s","language":"js","code":"1"})", "run_code: lasting cells cannot be had here"},
  };
  for (const auto& c : cases) EXPECT_NE(said(c.tool, c.arguments).find(c.said), std::string::npos) << c.tool << c.arguments << " → " << said(c.tool, c.arguments);
}

TEST(McpSandboxes, NullIsNoSandbox) {
  Scene scene;
  scene.send(R"({"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"name":"run_command","arguments":{"command":"true","sandbox_id":null}}})");
  EXPECT_EQ(scene.executions.all.size(), 1u);
}

TEST(McpSandboxes, TheHeaderMustSayWhatTheArgumentSays) {
  auto sent = [](std::string_view tool, std::string_view arguments, Headers more) {
    Scene scene;
    Headers headers = {{"mcp-protocol-version", "2026-07-28"}, {"mcp-method", "tools/call"}, {"mcp-name", std::string(tool)}};
    headers.insert(headers.end(), more.begin(), more.end());
    auto told = scene.send(cat(R"({"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"name":")", tool, R"(","arguments":)", arguments,
                               R"(,"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}}}})"),
                           &headers);
    auto json = parse_json(told->answers.at(0));
    const JsonValue* error = json.value().find("error");
    return error == nullptr ? 0 : error->integer_or("code", 0);
  };
  for (auto tool : {"run_command", "kill_sandbox", "read_file"}) {
    EXPECT_EQ(sent(tool, R"({"sandbox_id":"a"})", {{"mcp-param-sandbox", "a"}}), 0) << tool;
    EXPECT_EQ(sent(tool, R"({"sandbox_id":"a"})", {{"mcp-param-sandbox", "b"}}), -32020) << tool;
    EXPECT_EQ(sent(tool, R"({"sandbox_id":"a"})", {}), -32020) << tool;
    EXPECT_EQ(sent(tool, "{}", {{"mcp-param-sandbox", "b"}}), -32020) << tool;
  }
  EXPECT_EQ(sent("run_command", R"({"command":"true"})", {}), 0);
}

TEST(McpSandboxes, AKeyThatMayOnlyReadMakesAndEndsNothing) {
  Scene scene;
  scene.caller = {.name = "reader", .run = false, .read = true, .admin = false, .uid = {}};
  for (auto name : {"create_sandbox", "kill_sandbox", "pause_sandbox", "resume_sandbox", "snapshot", "write_file"}) {
    auto told = scene.send(cat(R"({"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"name":")", std::string_view(name), R"(","arguments":{"sandbox_id":"s"}}})"));
    EXPECT_NE(told->answers.at(0).find("this key may not run anything"), std::string::npos) << name << told->answers[0];
  }
}

}  // namespace
}  // namespace hotcell::server::mcp
