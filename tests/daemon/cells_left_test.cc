// What is left of lasting cells when a process of the daemon or their keeper goes in the middle, and what of them the next
// morning still has.
#include <gtest/gtest.h>
#include <signal.h>
#include <unistd.h>

#include <chrono>
#include <filesystem>
#include <fstream>
#include <thread>

#include "base/strings.h"
#include "cells/keeper/client.h"
#include "daemon/cells_fixture.h"
#include "server/cells/cell_door.h"
#include "support/cells.h"

namespace hotcell::testing {
namespace {

using std::chrono::milliseconds;

class CellsLeft : public CellsRest {
 protected:
  void wait_until_ready() {
    for (int i = 0; i < 400 && send("GET", "/ready").status != 200; ++i) std::this_thread::sleep_for(milliseconds(25));
  }
  void kill_keeper() {
    const int pid = keeper_pid();
    ASSERT_NE(pid, 0);
    ASSERT_EQ(::kill(pid, SIGKILL), 0);
    for (int i = 0; i < 400 && keeper_pid() == pid; ++i) std::this_thread::sleep_for(milliseconds(25));
  }
  std::string in_shell(const std::string& id, const std::string& line) {
    EXPECT_EQ(send("POST", cell(id, "/shells"), R"({"name":"main","reuse":true})").status, 201);
    auto ran = send("POST", cell(id, "/shells/main/run"), cat("{\"command\":", server::json_string(line), "}"));
    EXPECT_EQ(ran.status, 200) << ran.body;
    return text_field(ran.body, "output");
  }
  std::string in_project(const std::string& name) const { return read_text(project + "/" + name); }
};

// Whoever is killed, and whenever: a cell with all of its files, or none.
TEST_F(CellsLeft, ACellThatDoesNotHaveItsFilesYetGoesWithWhoeverWasToBringThem) {
  record = false;
  std::vector<JobFile> files;
  for (int i = 0; i < 3000; ++i) files.push_back({cat("folder-", i % 50, "/file-", i), cat("content ", i), false});
  const std::string tar = server::tar_of(files);
  int none = 0;
  for (const char* who : {"front", "keeper", "both"})
    for (int delay : {0, 15, 60}) {
      HttpAnswer answer;
      send("GET", "/api/v1/cells");  // a keeper is there
      std::thread client([&] { answer = send("POST", "/api/v1/cells?name=filling", tar, {{"Content-Type", "application/x-tar"}}); });
      for (int i = 0; i < 20'000 && matches(state + "/cells/c-*").empty(); ++i) ::usleep(1000);
      ::usleep(static_cast<useconds_t>(delay * 1000));
      if (who[0] != 'k') ::kill(std::stoi(front_of(daemon_pid())), SIGKILL);
      if (who[0] != 'f') ::kill(keeper_pid(), SIGKILL);
      client.join();
      wait_until_ready();
      // It is on its way out, or it is whole.
      auto made = send("GET", cell("filling"));
      for (int i = 0; i < 400 && made.status != 404; ++i) {
        auto record_of = matches(state + "/cells/c-*/cell.json");
        if (record_of.size() == 1 && has(read_text(record_of[0]), "\"being_made\": \"\"")) break;
        std::this_thread::sleep_for(milliseconds(25));
        made = send("GET", cell("filling"));
      }
      const std::string when = cat(std::string_view(who), " killed after ", delay, " ms, answer ", answer.status);
      if (made.status == 404) {
        ++none;
        EXPECT_NE(answer.status, 201) << when;
        EXPECT_TRUE(matches(state + "/cells/c-*").empty()) << when;
        continue;
      }
      ASSERT_EQ(made.status, 200) << when << made.body;
      if (text_field(made.body, "status") == "stopped") send("POST", cell("filling", "/start"));
      EXPECT_EQ(sh("filling", "find . -type f | wc -l"), "3000\n") << when;
      EXPECT_EQ(send("DELETE", cell("filling")).status, 204);
    }
  EXPECT_GE(none, 3) << "at once is before the first file";
  // The control: nobody is killed.
  ASSERT_EQ(send("POST", "/api/v1/cells?name=filling", tar, {{"Content-Type", "application/x-tar"}}).status, 201);
  EXPECT_EQ(sh("filling", "find . -type f | wc -l"), "3000\n");
  kill_keeper();
  EXPECT_EQ(text_field(send("GET", cell("filling")).body, "status"), "stopped") << "it is whole, and stays";
}

// A daemon that comes back, as after a power cut, does not wait to be asked.
TEST_F(CellsLeft, AnApplyThatWasCutOffIsFinishedWhenTheDaemonStarts) {
  const std::string id = make(cat(R"({"name":"work","from":")", project, R"("})"));
  auto contents = [&] { return in_project("a.txt") + in_project("sub/b.txt") + in_project("z.txt"); };
  std::string wanted;
  for (int at = 1;; ++at) {
    ASSERT_LT(at, 60) << "no kill left a part of it";
    if (at > 1) {
      EXPECT_EQ(send("POST", cell(id, "/start")).status, 200);
    }
    sh(id, cat("for f in a.txt sub/b.txt z.txt; do echo ", at, " > $f; done"));
    EXPECT_EQ(send("POST", cell(id, "/stop")).status, 200);
    end_daemon();
    if (keeper_pid() != 0) kill_keeper();
    const std::string before = contents();
    wanted = cat(at, "\n", at, "\n", at, "\n");
    {
      auto keeper = cells::KeeperClient::connect(state, {"/usr/bin/env", {"env", cat("HOTCELL_KILL_AT=", at), program_path(), "cell", "keeper"}});
      ASSERT_TRUE(keeper.ok()) << keeper.error().message;
      cells::Ask ask;
      ask.verb = "apply";
      ask.cell = id;
      EXPECT_FALSE(keeper.value().ask(std::move(ask)).ok());
    }
    const bool half = contents() != before && contents() != wanted;
    start_daemon();
    if (half) break;
    EXPECT_EQ(send("POST", cell(id, "/apply"), "{}").status, 200);
    EXPECT_EQ(contents(), wanted);
  }
  for (int i = 0; i < 400 && contents() != wanted; ++i) std::this_thread::sleep_for(milliseconds(25));
  EXPECT_EQ(contents(), wanted);
}

// It ends with the front, and whoever still asks for it is not told of another one.
TEST_F(CellsLeft, WhatWasLeftRunningIsNeverTakenForAnother) {
  const std::string id = make(R"({"name":"work"})");
  auto first = send("POST", cell(id, "/exec?wait=false"), R"({"shell":"echo FIRST; sleep 100","timeout_secs":0})");
  ASSERT_EQ(first.status, 202) << first.body;
  const std::string execution = text_field(first.body, "id");
  EXPECT_GT(execution.size(), 30u) << "it can be guessed: " << execution;
  ::kill(std::stoi(front_of(daemon_pid())), SIGKILL);
  std::this_thread::sleep_for(milliseconds(100));
  wait_until_ready();
  auto other = send("POST", cell(id, "/exec?wait=false"), R"({"shell":"echo OTHER"})");
  ASSERT_EQ(other.status, 202) << other.body;
  EXPECT_NE(text_field(other.body, "id"), execution);
  for (const char* what : {"", "/kill"}) {
    auto lost = send(*what == 0 ? "GET" : "POST", cell(id, cat("/executions/", execution, what)));
    EXPECT_EQ(lost.status, 404) << lost.body;
    EXPECT_TRUE(has(lost.body, "when the daemon stops or its front is restarted")) << lost.body;
  }
}

// The issue's order, by the daemon: pause over night, restart, resume, fork to try two fixes, apply one.
TEST_F(CellsLeft, ANightWithARestartOfTheDaemonAndOneWithThatOfTheKeeper) {
  const std::string id = make(cat(R"({"name":"agent","from":")", project, R"(","files":{"notes":"mine"}})"));
  EXPECT_EQ(in_shell(id, "export NIGHT=first; cd sub; sleep 86416 & echo begun").substr(0, 5), "begun");

  // The daemon is restarted. The keeper is nobody's child: what was paused goes on where it was.
  EXPECT_EQ(send("POST", cell(id, "/pause")).status, 200);
  end_daemon();
  start_daemon();
  EXPECT_EQ(text_field(send("GET", cell(id)).body, "status"), "paused");
  auto resumed = send("POST", cell(id, "/resume"));
  EXPECT_EQ(resumed.status, 200) << resumed.body;
  EXPECT_EQ(text_field(resumed.body, "reason"), "");
  EXPECT_EQ(in_shell(id, "echo $NIGHT $PWD; pgrep -c sleep"), "first /work/sub\n1\n");

  // The whole host is: files are there, processes are not, and resume says so.
  auto paused = send("POST", cell(id, "/pause"));
  EXPECT_TRUE(has(paused.body, "\"name\":\"processes_kept\",\"status\":\"none\"")) << paused.body;
  end_daemon();
  kill_keeper();
  start_daemon();
  auto morning = send("GET", cell(id));
  EXPECT_EQ(text_field(morning.body, "status"), "stopped");
  EXPECT_TRUE(has(text_field(morning.body, "reason"), "its processes are gone, its files are here")) << morning.body;
  resumed = send("POST", cell(id, "/resume"));
  EXPECT_EQ(resumed.status, 200) << resumed.body;
  EXPECT_EQ(text_field(resumed.body, "status"), "running");
  EXPECT_TRUE(has(text_field(resumed.body, "reason"), "its processes are gone, its files are here, and it was started anew")) << resumed.body;
  EXPECT_EQ(in_shell(id, "echo night=$NIGHT $PWD; cat notes; pgrep -c sleep"), "night= /work\nmine0\n");
  EXPECT_EQ(send("POST", cell(id, "/resume")).status, 409);

  for (const char* name : {"fix-a", "fix-b"}) {
    EXPECT_EQ(send("POST", cell(id, "/fork"), cat("{\"name\":\"", name, "\"}")).status, 201);
    sh(name, cat("echo ", name, " > a.txt; rm notes"));
  }
  EXPECT_EQ(in_project("a.txt"), "one\n") << "nothing has touched the project so far";
  auto applied = send("POST", cell("fix-b", "/apply"), "{}");
  EXPECT_EQ(applied.status, 200) << applied.body;
  EXPECT_EQ(in_project("a.txt"), "fix-b\n");
  EXPECT_FALSE(std::filesystem::exists(project + "/notes"));
}

}  // namespace
}  // namespace hotcell::testing
