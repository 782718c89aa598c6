// What is left of cells when their keeper ends, is killed, or their processes are.
#include <signal.h>

#include <filesystem>

#include "cells/cells.h"

namespace hotcell::testing {
namespace {

using std::chrono::seconds;

TEST_F(Cells, FilesAreThereAfterAKillOfTheKeeperAndProcessesAreNot) {
  put("a", "old\n");
  create("work", {"--env", "K=V", "--label", "l=m"});
  create("quiet");
  good({"stop", "quiet"});
  sh("work", "echo new > a; mkdir -m 700 .hidden; echo h > .hidden/h; ln -s a link; chmod 754 a");
  good({"exec", "work", "--detach", "--", "sleep", "86411"});
  ASSERT_TRUE(seen_within("86411", 1, seconds(10)));
  kill_keeper();
  EXPECT_TRUE(gone_within("86411", seconds(10)));
  Json j = inspect("work");
  EXPECT_EQ(j.text("status"), "stopped");
  EXPECT_EQ(j.text("reason"), "the keeper was killed or the host restarted: its processes are gone, its files are here");
  EXPECT_EQ(j.text("env_vars/K"), "V");
  EXPECT_EQ(j.text("labels/l"), "m");
  EXPECT_EQ(inspect("quiet").text("reason"), "stopped by request");
  good({"start", "work"});
  EXPECT_EQ(sh("work", "cat a .hidden/h; readlink link; stat -c %a a .hidden; echo $K"), "new\nh\na\n754\n700\nV\n");
  EXPECT_EQ(in_project("a"), "old\n");
}

// Names of files and values of variables are bytes, and the record is JSON.
TEST_F(Cells, WhatIsNoTextIsThereAfterAKillOfTheKeeperToo) {
  put("caf\xe9\n/a", "old\n");
  good({"create", "--name", "work", "--from", project() + "/caf\xe9\n", "--env", "K=\xff\xfe", "--env", "T=text", "--label", "l\xff=\xfe"});
  sh("work", "echo new > a; printf x > \"$(printf 'n\\377\\n.x')\"");
  kill_keeper();
  good({"start", "work"});
  EXPECT_EQ(sh("work", "printf %s \"$K$T\""), "\xff\xfetext");
  EXPECT_EQ(json({"list", "--label", "l\xff=\xfe"}).size(""), 1u);
  good({"fork", "work", "other"});
  good({"apply", "work"});
  EXPECT_EQ(in_project("caf\xe9\n/a"), "new\n");
  EXPECT_EQ(in_project("caf\xe9\n/n\xff\n.x"), "x");
}

TEST_F(Cells, AKeeperThatIsKilledBeforeItIsAskedIsSaidToBeGone) {
  create("work");
  auto met = client();
  kill_keeper();
  cells::Ask ask;
  ask.verb = "list";
  auto told = met.ask(std::move(ask));
  ASSERT_FALSE(told.ok());
  EXPECT_EQ(told.error().message, "the keeper of cells is gone; its cells have stopped, their files are kept");
}

TEST_F(Cells, AKilledKeeperLeavesPausedCellsStoppedToo) {
  create("work");
  sh("work", "echo x > x");
  good({"pause", "work"});
  kill_keeper();
  EXPECT_EQ(inspect("work").text("status"), "stopped");
  good({"start", "work"});
  EXPECT_EQ(sh("work", "cat x"), "x\n");
}

TEST_F(Cells, ACellThatWasPausedWhenItsKeeperEndedIsResumedWithoutItsProcesses) {
  create("work");
  create("stopped");
  for (bool killed : {true, false}) {
    sh("work", "echo x >> x");
    good({"exec", "work", "--detach", "--", "sleep", "86414"});
    ASSERT_TRUE(seen_within("86414", 1, seconds(10)));
    good({"pause", "work"});
    good({"pause", "stopped"});
    good({"stop", "stopped"});
    if (killed) kill_keeper();
    else end_keeper();
    EXPECT_EQ(inspect("work").text("status"), "stopped");
    EXPECT_TRUE(gone_within("86414", seconds(10)));
    // One that was stopped by request was not paused any more.
    refused({"resume", "stopped"}, "only a paused cell can be resumed; see hotcell cell start");
    Called resumed = cell({"resume", "work"});
    EXPECT_EQ(resumed.code, 0) << resumed.describe();
    EXPECT_NE(resumed.err.find("its processes are gone, its files are here, and it was started anew"), std::string::npos) << resumed.describe();
    EXPECT_EQ(inspect("work").text("status"), "running");
    EXPECT_NE(inspect("work").text("reason").find("its processes are gone"), std::string::npos) << "whoever asks later is told, too";
    EXPECT_EQ(sh("work", "cat x; pgrep -c sleep || true"), killed ? "x\n0\n" : "x\nx\n0\n");
    refused({"resume", "work"}, "only a paused cell can be resumed");
    // An ordinary pause afterwards is one, and what was said of the last is said no more.
    Called paused = cell({"pause", "work"});
    Called again = cell({"resume", "work"});
    EXPECT_EQ(paused.code + again.code, 0);
    EXPECT_EQ(again.err, "");
    good({"start", "stopped"});
  }
}

TEST_F(Cells, AKeeperToldToEndStopsItsCellsInOrder) {
  create("work");
  sh("work", "echo x > x");
  end_keeper();
  EXPECT_EQ(inspect("work").text("status"), "stopped");
  EXPECT_TRUE(inspect("work").text("reason").starts_with("the keeper ended"));
  good({"start", "work"});
  EXPECT_EQ(sh("work", "cat x"), "x\n");
}

TEST_F(Cells, TheKeeperGoesWhenNothingRuns) {
  create("work");
  good({"stop", "work"});
  auto pid = keeper();
  ASSERT_TRUE(pid.has_value());
  for (int i = 0; i < 600 && !ended(*pid); ++i) ::usleep(50'000);
  EXPECT_TRUE(ended(*pid)) << "it should have gone by itself";
  EXPECT_EQ(inspect("work").text("status"), "stopped") << "another one comes when it is asked for";
}

TEST_F(Cells, AKillAtAnyPointOfCreateLeavesACellOrNone) {
  // Wherever the keeper is when it dies: a create that was answered is there, one that was not is there as a whole or not at all.
  for (int delay = 0; delay < 12; ++delay) {
    std::string name = "cell-" + std::to_string(delay);
    json({"list"});  // a keeper is there
    Call call(cell_words({"create", "--name", name}));
    ::usleep(static_cast<useconds_t>(delay * 4000));
    if (auto pid = keeper()) ::kill(*pid, SIGKILL);
    Called called = call.finish();
    Json all = json({"list"});
    bool there = false;
    for (std::size_t i = 0; i < all.size(""); ++i) there = there || all.text(std::to_string(i) + "/name") == name;
    if (called.code == 0) {
      EXPECT_TRUE(there) << name;
    }
    if (there) {
      good({"start", name});
      EXPECT_EQ(sh(name, "echo whole"), "whole\n");
      good({"rm", name});
    }
  }
  EXPECT_TRUE(matches(state() + "/cells/.new-*").empty());
  EXPECT_TRUE(matches(state() + "/cells/.gone-*").empty());
}

TEST_F(Cells, ARecordThatCannotBeReadDoesNotHideTheOthers) {
  create("good");
  std::string id = create("broken");
  end_keeper();
  write_text(state() + "/cells/" + id + "/cell.json", "{\"id\": 7");
  Json all = json({"list"});
  ASSERT_EQ(all.size(""), 1u);
  EXPECT_EQ(all.text("0/name"), "good");
  EXPECT_TRUE(std::filesystem::exists(state() + "/cells/" + id + "/upper")) << "nothing is removed for that";
}

}  // namespace
}  // namespace hotcell::testing
