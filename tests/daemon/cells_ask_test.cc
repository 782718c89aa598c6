// What programs of cells must ask about: asked, answered and granted by REST; asked of agents on MCP, whatever they say.
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <cstdio>
#include <fstream>
#include <thread>
#include <tuple>
#include <utility>

#include "base/strings.h"
#include "daemon/cells_fixture.h"

namespace hotcell::testing {
namespace {

using std::chrono::milliseconds;

std::string read_all(const std::string& path) {
  std::ifstream in(path);
  return std::string((std::istreambuf_iterator<char>(in)), {});
}

std::string rest_of(int fd) {
  std::string out;
  char buffer[4096];
  for (ssize_t n; (n = ::read(fd, buffer, sizeof buffer)) > 0;) out.append(buffer, static_cast<std::size_t>(n));
  ::close(fd);
  return out;
}

class CellsAsk : public CellsRest {
 protected:
  // The id of the one question of a cell, once there is one.
  std::string question(const std::string& id) {
    const bool before = std::exchange(record, false);
    std::string found;
    for (int i = 0; i < 400 && found.empty(); ++i) {
      auto all = server::parse_json(send("GET", cell(id, "/questions")).body);
      if (all.ok() && !all.value().items("questions").empty()) found = std::string(all.value().items("questions")[0].text("id"));
      else std::this_thread::sleep_for(milliseconds(25));
    }
    record = before;
    EXPECT_FALSE(found.empty()) << "nobody asks";
    return found;
  }
  bool nobody_asks(const std::string& id) {
    bool none = false;
    for (int i = 0; i < 400 && !none; ++i) {
      none = send("GET", cell(id, "/questions")).body == R"({"questions":[]})";
      if (!none) std::this_thread::sleep_for(milliseconds(25));
    }
    return none;
  }
  int apply_by_mcp(const char* cell) {
    return send_only("POST", "/mcp", cat(R"({"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"cell_apply","arguments":{"cell":")", std::string_view(cell), "\"}}}"));
  }
};

class CellsAskAlways : public CellsAsk {
 protected:
  void SetUp() override {
    more_config = "  decisions: standard\n";
    CellsAsk::SetUp();
  }
};

TEST_F(CellsAsk, QuestionsAreListedDeniedAndApprovedByRest) {
  const std::string id = make(R"({"name":"asks","decisions":"decisions: {default: ask, timeout: 2m}"})");
  EXPECT_EQ(send("GET", cell(id, "/questions")).body, R"({"questions":[]})");
  EXPECT_EQ(send("GET", cell("nobody", "/questions")).status, 404);
  int first = send_only("POST", cell(id, "/exec"), R"({"command":"touch","args":["one"]})");
  std::string asked = question(id);
  EXPECT_TRUE(has(send("GET", cell(id, "/questions")).body, "touch one"));
  const std::string at = cell(id, "/questions/" + asked);
  const std::string key = text_field(send("POST", "/api/v1/keys", R"({"name":"agent","scopes":["run","read"]})").body, "key");
  for (const char* answer : {"/approve", "/deny"})
    EXPECT_EQ(send("POST", at + answer, "", {{"Authorization", "Bearer " + key}}).status, 403) << "who asks is not who decides";
  auto denied = send("POST", at + "/deny");
  EXPECT_EQ(denied.status, 200) << denied.body;
  EXPECT_EQ(text_field(denied.body, "state"), "denied") << denied.body;
  const std::string refused = rest_of(first);
  EXPECT_TRUE(has(refused, " 403 ") && has(refused, "denied by rest:")) << refused;
  EXPECT_EQ(send("POST", at + "/deny").status, 409) << "answered already";
  EXPECT_EQ(send("POST", at + "/approve").status, 409);
  EXPECT_EQ(send("POST", cell(id, "/questions/nothing/deny")).status, 404);
  int second = send_only("POST", cell(id, "/exec"), R"({"command":"ls"})");
  asked = question(id);
  auto approved = send("POST", cell(id, "/questions/" + asked + "/approve"));
  EXPECT_EQ(text_field(approved.body, "state"), "approved") << approved.body;
  const std::string listed = rest_of(second);
  EXPECT_TRUE(has(listed, " 200 ") && has(listed, "\"stdout\":\"\"")) << "what was denied was not done: " << listed;
  // Whoever goes away has not asked.
  int third = send_only("POST", cell(id, "/exec"), R"({"command":"touch","args":["two"]})");
  question(id);
  ::close(third);
  EXPECT_TRUE(nobody_asks(id));
  expect_as_promised();
}

TEST_F(CellsAsk, WhatIsGrantedIsNotAskedAboutUntilItIsTakenBack) {
  const std::string id = make(R"({"name":"asks","decisions":"decisions: {default: deny}"})");
  auto echo = [&] { return send("POST", cell(id, "/exec"), R"({"command":"echo","args":["hello"]})"); };
  EXPECT_EQ(echo().status, 403) << "the control";
  EXPECT_EQ(send("GET", cell(id, "/grants")).body, R"({"grants":[]})");
  EXPECT_EQ(send("POST", cell(id, "/grants"), R"({"class":"command","pattern":"echo *","ttl_secs":600})").status, 204);
  EXPECT_EQ(text_field(echo().body, "stdout"), "hello\n");
  auto all = send("GET", cell(id, "/grants"));
  EXPECT_TRUE(has(all.body, "echo *") && has(all.body, "rest:")) << all.body;
  EXPECT_EQ(send("DELETE", cell(id, "/grants?pattern=echo%20*")).status, 204);
  EXPECT_EQ(echo().status, 403);
  EXPECT_EQ(send("GET", cell(id, "/grants")).body, R"({"grants":[]})");
  EXPECT_EQ(send("DELETE", cell(id, "/grants?pattern=echo%20*")).status, 400) << "it is gone";
  EXPECT_EQ(send("DELETE", cell(id, "/grants")).status, 400);
  EXPECT_EQ(send("POST", cell(id, "/grants"), R"({"class":"command"})").status, 400);
  EXPECT_EQ(send("POST", cell(id, "/grants"), R"({"class":"network","pattern":"*"})").status, 400);
  EXPECT_EQ(send("POST", cell(make(), "/grants"), R"({"class":"command","pattern":"echo *"})").status, 409) << "nothing of it is asked about";
  const std::string key = text_field(send("POST", "/api/v1/keys", R"({"name":"agent","scopes":["run","read"]})").body, "key");
  EXPECT_EQ(send("POST", cell(id, "/grants"), R"({"class":"command","pattern":"echo *"})", {{"Authorization", "Bearer " + key}}).status, 403);
  // A grant ends by itself.
  EXPECT_EQ(send("POST", cell(id, "/grants"), R"({"class":"command","pattern":"echo *","ttl_secs":1})").status, 204);
  int ended = 0;
  for (int i = 0; i < 200 && ended != 403; ++i) {
    ended = echo().status;
    std::this_thread::sleep_for(milliseconds(50));
  }
  EXPECT_EQ(ended, 403);
  expect_as_promised();
}

// Whoever goes away has not asked, by whichever door: a later yes finds nothing to run.
TEST_F(CellsAsk, NothingIsRunForWhoeverWentAway) {
  auto made = mcp("cell_create", cat(R"({"name":"asks","from":")", project, R"(","decisions":"decisions: {default: ask, timeout: 2m, rules: [{write: \"**\", action: allow}, {read: \"**\", action: allow}]}"})"));
  ASSERT_FALSE(made.boolean_or("isError", true)) << server::json_text(made);
  mcp("cell_write_file", R"({"cell":"asks","path":"by.txt","content":"by"})");
  ASSERT_EQ(send("POST", cell("asks", "/shells"), "{}").status, 201);
  ASSERT_EQ(send("POST", cell("asks", "/contexts"), R"({"language":"bash"})").status, 201);
  auto tool = [](const char* name, const char* arguments) {
    return cat(R"({"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":")", std::string_view(name), R"(","arguments":)", std::string_view(arguments), "}}");
  };
  const std::tuple<const char*, std::string, std::string, std::string> doors[] = {
      {"apply", cell("asks", "/apply"), "{}", "by.txt"},
      {"a shell", cell("asks", "/shells/agent/run"), R"({"command":"touch /work/one"})", "one"},
      {"a context", cell("asks", "/contexts/bash/run"), R"({"code":"touch /work/two"})", "two"},
      {"a terminal", cell("asks", "/shells"), R"({"name":"people","kind":"terminal"})", "none"},
      {"cell_shell", "/mcp", tool("cell_shell", R"({"cell":"asks","command":"touch /work/three"})"), "three"},
      {"cell_run_code", "/mcp", tool("cell_run_code", R"({"cell":"asks","language":"bash","code":"touch /work/four"})"), "four"},
  };
  for (const auto& [door, target, body, file] : doors) {
    int asking = send_only("POST", target, body);
    const std::string asked = question("asks");
    ::close(asking);
    EXPECT_TRUE(nobody_asks("asks")) << door;
    EXPECT_EQ(send("POST", cell("asks", "/questions/" + asked + "/approve")).status, 409) << door;
    // The control: who waits gets what was approved.
    asking = send_only("POST", target, body);
    const std::string again = question("asks");
    auto done = [&, what = file] {
      if (what == "by.txt") return !read_all(project + "/by.txt").empty();
      return what == "none" || send("GET", cell("asks", "/files/stat?path=/work/" + what)).status == 200;
    };
    EXPECT_TRUE(file == "none" || !done()) << door;
    EXPECT_EQ(send("POST", cell("asks", "/questions/" + again + "/approve")).status, 200) << door;
    const std::string told = rest_of(asking);
    EXPECT_TRUE(has(told, " 200 ") || has(told, " 201 ")) << door << ": " << told;
    EXPECT_TRUE(done()) << door;
  }
}

// The project is changed by cell_apply where nothing is asked about; with decisions not before somebody says yes.
TEST_F(CellsAsk, AnAgentOnMcpMayBeMadeToAsk) {
  for (const char* more : {"", R"(,"decisions":"standard")"}) {
    const bool asks = *more != '\0';
    const char* name = asks ? "asks" : "free";
    auto made = mcp("cell_create", cat(R"({"name":")", std::string_view(name), R"(","from":")", project, "\"", std::string_view(more), "}"));
    ASSERT_FALSE(made.boolean_or("isError", true)) << server::json_text(made);
    mcp("cell_write_file", cat(R"({"cell":")", std::string_view(name), R"(","path":"by.txt","content":")", std::string_view(name), "\"}"));
    int applying = apply_by_mcp(name);
    if (!asks) {
      EXPECT_TRUE(has(rest_of(applying), "\"applied\":true"));
      EXPECT_EQ(read_all(project + "/by.txt"), "free");
      continue;
    }
    question(name);
    EXPECT_EQ(read_all(project + "/by.txt"), "free");
    auto seen = mcp("cell_inspect", R"({"cell":"asks","what":"questions"})");
    EXPECT_TRUE(has(server::json_text(seen), "hotcell cell apply asks")) << server::json_text(seen);
    ::close(applying);
    EXPECT_TRUE(nobody_asks(name)) << "whoever gives up has not asked";
    EXPECT_EQ(read_all(project + "/by.txt"), "free");
  }
}

TEST_F(CellsAskAlways, NoAgentAppliesUnaskedWhateverItSays) {
  auto made = mcp("cell_create", cat(R"({"name":"work","from":")", project, "\"}"));
  ASSERT_FALSE(made.boolean_or("isError", true)) << server::json_text(made);
  EXPECT_TRUE(has(std::string(made.find("structuredContent")->text("decisions")), "default: ask")) << server::json_text(made);
  mcp("cell_write_file", R"({"cell":"work","path":"a.txt","content":"agent's\n"})");
  auto dry = mcp("cell_apply", R"({"cell":"work","dry_run":true})");
  EXPECT_FALSE(dry.boolean_or("isError", true)) << server::json_text(dry);
  for (const char* answer : {"/deny", "/approve"}) {
    int applying = apply_by_mcp("work");
    const std::string asked = question("work");
    EXPECT_EQ(read_all(project + "/a.txt"), "one\n") << "nobody has said yes";
    EXPECT_EQ(send("POST", cell("work", "/questions/" + asked + answer)).status, 200);
    const std::string told = rest_of(applying);
    const bool yes = std::string_view(answer) == "/approve";
    EXPECT_TRUE(has(told, yes ? "\"applied\":true" : "denied by rest:")) << told;
    EXPECT_EQ(read_all(project + "/a.txt"), yes ? "agent's\n" : "one\n");
  }
  // What must be asked about is not for whoever asks to say, by either door.
  auto other = mcp("cell_create", R"({"decisions":"decisions: {default: allow}"})");
  EXPECT_TRUE(other.boolean_or("isError", false) && has(server::json_text(other), "cells.decisions")) << server::json_text(other);
  auto refused = send("POST", "/api/v1/cells", R"({"decisions":"decisions: {default: allow}"})");
  EXPECT_EQ(refused.status, 403) << refused.body;
  EXPECT_EQ(send("POST", "/api/v1/cells", R"({"decisions":"standard"})").status, 201) << "the same is no other";
  auto plain = send("POST", "/api/v1/cells", R"({"name":"plain"})");
  EXPECT_TRUE(has(text_field(plain.body, "decisions"), "default: ask")) << plain.body;
  EXPECT_TRUE(has(text_field(send("POST", cell("plain", "/fork"), R"({"name":"copy"})").body, "decisions"), "default: ask"));
}

TEST_F(CellsAsk, DecisionsThatCannotBeReadKeepTheDaemonFromStarting) {
  auto serve = [&](const std::string& value) {
    const std::string line = cat("HOTCELL_CELLS_DECISIONS=", value, " ", program_path(), " serve --listen 127.0.0.1:0 --state ", state, "/other 2>&1; echo $?");
    FILE* pipe = ::popen(line.c_str(), "r");
    std::string said;
    char buffer[4096];
    while (std::fgets(buffer, sizeof buffer, pipe) != nullptr) said += buffer;
    ::pclose(pipe);
    return said;
  };
  const std::string file = state + "/rules.yaml";
  for (const auto& [text, mode, why] : {std::tuple("", 0, "No such file"), std::tuple("decisions: {default: maybe}\n", 0600, "maybe"),
                                        std::tuple("decisions: {default: ask}\n", 0666, "others may write it")}) {
    if (mode != 0) {
      std::ofstream(file) << text;
      ::chmod(file.c_str(), static_cast<mode_t>(mode));
    }
    const std::string said = serve(file);
    EXPECT_TRUE(has(said, "cells.decisions") && has(said, why) && said.ends_with("125\n")) << said;
  }
  EXPECT_TRUE(has(serve("rules.yaml"), "standard")) << "not a path";
}

}  // namespace
}  // namespace hotcell::testing
