// A lasting cell from its making to its end, as a user sees it.
#include <filesystem>
#include <set>
#include <thread>

#include "base/strings.h"
#include "cells/cells.h"

namespace hotcell::testing {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

TEST_F(Cells, AProjectIsShownAndNeverWritten) {
  put("src/a.txt", "first\n");
  create("work");
  EXPECT_EQ(sh("work", "pwd; cat src/a.txt"), "/work\nfirst\n");
  EXPECT_EQ(sh("work", "echo second > src/a.txt; mkdir new; echo x > new/b; cat src/a.txt"), "second\n");
  EXPECT_EQ(in_project("src/a.txt"), "first\n");
  EXPECT_FALSE(std::filesystem::exists(project() + "/new"));
  // The control: the same program with the same folder as a grant does write it.
  Called control = hotcell({"run", "--write", project(), "--workdir", project(), "--", "sh", "-c", "echo second > src/a.txt"});
  ASSERT_EQ(control.code, 0) << control.describe();
  EXPECT_EQ(in_project("src/a.txt"), "second\n");
}

TEST_F(Cells, InspectTellsWhatACellIs) {
  std::string id = create("work", {"--env", "COLOUR=blue", "--label", "team=red", "--ttl", "2h", "--idle-pause", "90s"});
  EXPECT_TRUE(id.starts_with("c-") && id.size() == 34) << id;
  Json j = inspect("work");
  EXPECT_EQ(j.text("id"), id);
  EXPECT_EQ(j.text("name"), "work");
  EXPECT_EQ(j.text("status"), "running");
  EXPECT_EQ(j.text("process_state"), "idle");
  EXPECT_EQ(j.text("work_dir"), project());
  EXPECT_EQ(j.text("env_vars/COLOUR"), "blue");
  EXPECT_EQ(j.text("labels/team"), "red");
  EXPECT_EQ(j.text("paused_at"), "null");
  EXPECT_EQ(j.text("resumed_at"), "null");
  EXPECT_EQ(j.text("created_at").size(), 20u);
  EXPECT_EQ(j.text("ttl_seconds"), "7200");
  EXPECT_EQ(j.text("idle_pause_seconds"), "90");
  EXPECT_TRUE(j.text("survives_restart").starts_with("files: yes; processes: no ("));
  EXPECT_EQ(sh("work", "echo $COLOUR"), "blue\n");
  // By name, by id, by the beginning of the id.
  EXPECT_EQ(inspect(id).text("name"), "work");
  EXPECT_EQ(inspect(id.substr(0, 8)).text("name"), "work");
  refused({"inspect", id.substr(0, 5)}, "there is no cell");
}

// CRIU itself is none of ours; what is looked at is what we make of its words. A stand-in for it is named by path.
TEST_F(Cells, WhetherProcessesAreKeptIsSaidInEnforcementAndAtAPause) {
  struct Row {
    const char* script;
    std::string says;
  };
  const Row rows[] = {{"exit 0", "criu check succeeds; CRIU brings processes back without their Landlock domains"},
                      {"echo 'Error (vdso.c:1): not here'; echo more; exit 1", "criu check fails: Error (vdso.c:1): not here"},
                      {"kill -9 $$", "criu check fails: "}};
  TempDir tools;
  const std::string stand_in = tools.path() + "/criu";
  create("work");
  for (const auto& row : rows) {
    write_text(stand_in, cat("#!/bin/sh\n[ \"$1\" = check ] || exit 9\n", std::string_view(row.script), "\n"), 0755);
    end_keeper();
    auto held = cells::KeeperClient::connect(state(), {"/usr/bin/env", {"env", "HOTCELL_CRIU=" + stand_in, hotcell_path(), "cell", "keeper"}});
    ASSERT_TRUE(held.ok()) << held.error().message;
    // It is asked beside the loop.
    auto detail = [&] {
      Json j = inspect("work");
      for (std::size_t i = 0; i < j.size("enforcement/layers"); ++i)
        if (j.text(cat("enforcement/layers/", i, "/name")) == "processes_kept")
          return cat(j.text(cat("enforcement/layers/", i, "/status")), ": ", j.text(cat("enforcement/layers/", i, "/detail")));
      return std::string("no such row");
    };
    for (int i = 0; i < 200 && detail().find("not looked at yet") != std::string::npos; ++i) std::this_thread::sleep_for(milliseconds(20));
    EXPECT_TRUE(detail().starts_with("none: " + row.says)) << detail();
    EXPECT_TRUE(inspect("work").text("survives_restart").starts_with("files: yes; processes: no (" + row.says)) << inspect("work").text("survives_restart");
    good({"start", "work"});
    Called paused = cell({"pause", "work"});
    EXPECT_EQ(paused.code, 0);
    EXPECT_NE(paused.err.find("the processes of work are kept in memory alone, and gone when the keeper goes: " + row.says), std::string::npos) << paused.describe();
    good({"stop", "work"});
  }
  end_keeper();
  auto held = cells::KeeperClient::connect(state(), {"/usr/bin/env", {"env", "HOTCELL_CRIU=" + tools.path() + "/none", hotcell_path(), "cell", "keeper"}});
  ASSERT_TRUE(held.ok()) << held.error().message;
  for (int i = 0; i < 200 && inspect("work").text("survives_restart").find("not looked at yet") != std::string::npos; ++i) std::this_thread::sleep_for(milliseconds(20));
  EXPECT_NE(inspect("work").text("survives_restart").find("CRIU could not be asked: "), std::string::npos) << inspect("work").text("survives_restart");
}

TEST_F(Cells, IdsAreByChanceAndNamesAreChecked) {
  std::set<std::string> ids;
  for (int i = 0; i < 3; ++i) ids.insert(json({"create", "--stopped"}).text("id"));
  EXPECT_EQ(ids.size(), 3u);
  create("work");
  refused({"create", "--name", "work"}, "there is a cell work already");
  refused({"create", "--name", "../x"}, "is no name");
  refused({"create", "--name", std::string(65, 'a')}, "is no name");
  refused({"create", "--name", "other", "--from", project() + "/missing"}, "missing");
  put("file", "x");
  refused({"create", "--name", "other", "--from", project() + "/file"}, "is not a folder");
  refused({"create", "--name", "other", "--from", state()}, "are inside one another");
  refused({"exec", "none", "--", "true"}, "there is no cell none");
  EXPECT_EQ(json({"list"}).size(""), 4u) << "nothing that was refused was made";
}

TEST_F(Cells, StatesFollowEachOther) {
  create("work");
  refused({"resume", "work"}, "only a paused cell can be resumed");
  good({"pause", "work"});
  EXPECT_EQ(inspect("work").text("status"), "paused");
  EXPECT_EQ(inspect("work").text("process_state"), "suspended");
  EXPECT_NE(inspect("work").text("paused_at"), "null");
  refused({"pause", "work"}, "is paused already");
  refused({"exec", "work", "--", "true"}, "work is paused; hotcell cell resume work");
  good({"resume", "work"});
  EXPECT_EQ(inspect("work").text("status"), "running");
  EXPECT_NE(inspect("work").text("resumed_at"), "null");
  EXPECT_EQ(exec("work", {"true"}).code, 0);
  good({"stop", "work"});
  EXPECT_EQ(inspect("work").text("status"), "stopped");
  EXPECT_EQ(inspect("work").text("process_state"), "none");
  EXPECT_EQ(inspect("work").text("reason"), "stopped by request");
  refused({"exec", "work", "--", "true"}, "hotcell cell start work");
  good({"start", "work"});
  EXPECT_EQ(exec("work", {"true"}).code, 0);
  good({"pause", "work"});
  good({"stop", "work"});  // a frozen one, too
  EXPECT_EQ(inspect("work").text("status"), "stopped");
  good({"rm", "work"});
  refused({"inspect", "work"}, "there is no cell work");
  EXPECT_EQ(json({"list"}).size(""), 0u);
  EXPECT_TRUE(matches(state() + "/cells/c-*").empty());
}

TEST_F(Cells, PauseStopsEveryProcessAndResumeLetsThemGoOn) {
  create("work");
  // Two, one of them orphaned and in a session of its own.
  sh("work", "(setsid sh -c 'while :; do echo x >> /work/a; sleep 0.02; done' &) ; (while :; do echo x >> /work/b; sleep 0.02; done) &"
             " while [ ! -s /work/a ] || [ ! -s /work/b ]; do sleep 0.02; done");
  std::string upper = state() + "/cells/" + inspect("work").text("id") + "/upper/";
  auto sizes = [&] { return read_text(upper + "a").size() + read_text(upper + "b").size(); };
  // The control: they do write.
  std::size_t before = sizes();
  for (int i = 0; i < 200 && sizes() < before + 4; ++i) std::this_thread::sleep_for(milliseconds(20));
  ASSERT_GE(sizes(), before + 4);
  good({"pause", "work"});
  std::size_t paused = sizes();
  std::this_thread::sleep_for(milliseconds(400));
  EXPECT_EQ(sizes(), paused);
  good({"resume", "work"});
  for (int i = 0; i < 500 && (read_text(upper + "a").size() < 2 || sizes() < paused + 4); ++i) std::this_thread::sleep_for(milliseconds(20));
  EXPECT_GE(sizes(), paused + 4);
}

TEST_F(Cells, PauseGivesMemoryBack) {
  create("work");
  // What a program has read and written stays in memory on its account for as long as there is room; a program of its own holds on to
  // nothing else.
  sh("work", "head -c 60000000 /dev/zero > large; sync large; cat large > /dev/null");
  good({"exec", "work", "--detach", "--", "sleep", "86413"});
  ASSERT_TRUE(seen_within("86413", 1, seconds(20)));
  auto pid = keeper();
  ASSERT_TRUE(pid.has_value());
  auto used = [&] {
    std::uint64_t most = 0;
    for (const auto& group : cgroups_of(*pid))
      for (const char* file : {"/memory.usage_in_bytes", "/memory.current"})
        if (std::string text = first_line(group + file); !text.empty()) most = std::max<std::uint64_t>(most, std::stoull(text));
    return most;
  };
  // An ordinary user has no group here, and nothing to give back by.
  ASSERT_EQ(used() > 50'000'000, has_cgroups());
  good({"pause", "work"});
  for (int i = 0; i < 500 && used() > 30'000'000; ++i) std::this_thread::sleep_for(milliseconds(20));
  EXPECT_LT(used(), 30'000'000u);
  good({"resume", "work"});
  EXPECT_EQ(sh("work", "wc -c < large; pgrep -c sleep"), "60000000\n1\n");
}

TEST_F(Cells, APausedProgramsDeadlineWaitsToo) {
  create("work");
  Call call(cell_words({"exec", "work", "--timeout", "3s", "--", "sh", "-c", "echo ready; read x < /tmp/never || while [ ! -e /work/go ]; do sleep 0.05; done; echo done"}));
  ASSERT_TRUE(call.wait_for_output("ready"));
  good({"pause", "work"});
  std::this_thread::sleep_for(seconds(4));
  EXPECT_EQ(inspect("work").text("status"), "paused") << "a deadline must not wake it";
  good({"resume", "work"});
  sh("work", "touch /work/go");
  Called ended = call.finish();
  EXPECT_EQ(ended.code, 0) << ended.describe();
  EXPECT_EQ(ended.out, "ready\ndone\n");
}

TEST_F(Cells, ListIsNewestFirstWithAgeAndLabels) {
  good({"create", "--name", "one", "--stopped", "--label", "team=red"});
  good({"create", "--name", "two", "--stopped", "--label", "team=blue", "--from", project()});
  good({"create", "--name", "three", "--label", "team=red", "--label", "task=7"});
  good({"pause", "three"});
  Json all = json({"list"});
  ASSERT_EQ(all.size(""), 3u);
  EXPECT_EQ(all.text("0/name"), "three");
  EXPECT_EQ(all.text("1/name"), "two");
  EXPECT_EQ(all.text("2/name"), "one");
  EXPECT_EQ(all.text("0/cleanup_eligible"), "false");
  EXPECT_TRUE(all.has("0/age_seconds"));
  Json red = json({"list", "--label", "team=red"});
  ASSERT_EQ(red.size(""), 2u);
  EXPECT_EQ(red.text("1/name"), "one");
  EXPECT_EQ(json({"list", "--label", "team=red", "--label", "task=7"}).size(""), 1u);
  EXPECT_EQ(json({"list", "--label", "team=green"}).size(""), 0u);
  std::string text = good({"list"});
  EXPECT_TRUE(text.starts_with("Cells (3):\n[paused] three")) << text;
  EXPECT_NE(text.find("s ago, Resumable\n"), std::string::npos) << text;
  EXPECT_NE(text.find("[stopped] two"), std::string::npos) << text;
  EXPECT_NE(text.find("(" + project() + ")"), std::string::npos) << text;
}

// SEEDS §2.8: `Cleanup eligible`. What is a day old and does not run is what clean takes without a word on age.
TEST_F(Cells, ACellOfADayThatDoesNotRunIsSaidToBeEligibleAndIsTaken) {
  for (const char* name : {"old", "works", "young"}) create(name);
  for (const char* name : {"old", "young"}) good({"stop", name});
  auto folder = [&](const char* name) { return state() + "/cells/" + inspect(name).text("id"); };
  const std::string old_one = folder("old") + "/cell.json", works = folder("works") + "/cell.json";
  end_keeper();
  for (const auto& file : {old_one, works}) {
    std::string text = read_text(file);
    auto at = text.find("\"created_ns\": ");
    ASSERT_NE(at, text.npos);
    at += 14;
    auto end = text.find_first_not_of("0123456789", at);
    text.replace(at, end - at, std::to_string(std::stoll(text.substr(at, end - at)) - 25LL * 3600 * 1'000'000'000));
    write_text(file, text, 0600);
  }
  good({"start", "works"});
  Json all = json({"list"});
  ASSERT_EQ(all.size(""), 3u);
  for (std::size_t i = 0; i < 3; ++i) {
    const std::string at = std::to_string(i);
    EXPECT_EQ(all.text(at + "/cleanup_eligible"), all.text(at + "/name") == "old" ? "true" : "false") << all.text(at + "/name");
  }
  const std::string text = good({"list"});
  EXPECT_EQ(text.find("    Cleanup eligible\n"), text.rfind("    Cleanup eligible\n")) << text;
  EXPECT_GT(text.find("    Cleanup eligible\n"), text.find("[stopped] old")) << text;
  EXPECT_EQ(good({"clean"}), "old\n");
  EXPECT_EQ(json({"list"}).size(""), 2u);
}

TEST_F(Cells, CleanTakesByAgeAndByCountAndNeverARunningOne) {
  for (const char* name : {"a", "b", "c"}) good({"create", "--name", name, "--stopped"});
  create("runs");
  EXPECT_EQ(good({"clean"}), "") << "nothing is a day old";
  EXPECT_EQ(good({"clean", "--older-than", "1h"}), "");
  EXPECT_EQ(good({"clean", "--keep", "2"}), "b\na\n");
  EXPECT_EQ(json({"list"}).size(""), 2u);
  EXPECT_EQ(good({"clean", "--older-than", "1ms"}), "c\n");
  EXPECT_EQ(json({"list"}).text("0/name"), "runs");
  good({"stop", "runs"});
  EXPECT_EQ(good({"clean", "--keep", "0"}), "runs\n");
}

TEST_F(Cells, TheTimeToLiveEndsACellForGood) {
  create("work", {"--ttl", "2s"});
  create("stopped", {"--ttl", "2s", "--stopped"});
  EXPECT_EQ(sh("work", "echo kept > file; echo yes"), "yes\n");
  EXPECT_TRUE(status_within("work", "terminated"));
  EXPECT_TRUE(status_within("stopped", "terminated"));
  EXPECT_EQ(inspect("work").text("reason"), "its time to live is over");
  refused({"start", "work"}, "is terminated: its time to live is over");
  refused({"exec", "work", "--", "true"}, "work is terminated");
  EXPECT_EQ(read_text(state() + "/cells/" + inspect("work").text("id") + "/upper/file"), "kept\n") << "its files stay until it is removed";
  good({"rm", "work", "stopped"});
}

TEST_F(Cells, IdlenessPausesAndUseWakes) {
  create("work", {"--idle-pause", "300ms"});
  ASSERT_TRUE(status_within("work", "paused"));
  EXPECT_EQ(inspect("work").text("paused_by_idleness"), "true");
  EXPECT_EQ(sh("work", "echo awake"), "awake\n");
  EXPECT_NE(inspect("work").text("resumed_at"), "null");
  ASSERT_TRUE(status_within("work", "paused"));
  EXPECT_EQ(shell("work", "echo shell awake").out, "shell awake\n");
  ASSERT_TRUE(status_within("work", "paused")) << "an idle shell does not keep it awake";
  // A program that runs does.
  Called longer = exec("work", {"sh", "-c", "sleep 1.5; echo over"});
  EXPECT_EQ(longer.out, "over\n") << longer.describe();
  // Paused by hand it is not woken.
  ASSERT_TRUE(status_within("work", "paused"));
  good({"resume", "work"});
  good({"pause", "work"});
  refused({"exec", "work", "--", "true"}, "work is paused");
}

TEST_F(Cells, TheMostCellsAreRefusedClearly) {
  // The same limit as 64, sooner reached. The first client's environment is the keeper's.
  auto keeper = cells::KeeperClient::connect(state(), {"/usr/bin/env", {"env", "HOTCELL_MAX_CELLS=3", hotcell_path(), "cell", "keeper"}});
  ASSERT_TRUE(keeper.ok()) << keeper.error().message;
  for (const char* name : {"a", "b", "c"}) good({"create", "--name", name, "--stopped"});
  refused({"create", "--name", "d"}, "maximum cell limit (3) reached");
  good({"rm", "b"});
  good({"create", "--name", "d", "--stopped"});
}

TEST_F(Cells, TwoWhoCreateTheSameNameGetOneCell) {
  std::vector<std::thread> threads;
  std::vector<Called> called(4);
  for (auto& c : called) threads.emplace_back([&] { c = cell({"create", "--name", "same"}); });
  for (auto& t : threads) t.join();
  int made = 0;
  for (const auto& c : called) {
    made += c.code == 0;
    if (c.code != 0) {
      EXPECT_NE(c.err.find("there is a cell same already"), std::string::npos) << c.describe();
    }
  }
  EXPECT_EQ(made, 1);
  EXPECT_EQ(json({"list"}).size(""), 1u);
}

// A host that is full gives no thread. What is done to files waits for one; nothing that lives in cells ends of it.
TEST_F(Cells, AKeeperThatGetsNoThreadTriesAgain) {
  put("a", "a\n");
  create("work");
  for (int nth = 1; nth <= 4; ++nth) {
    SCOPED_TRACE(nth);
    end_keeper();
    auto held = keeper_with(cat("HOTCELL_FAULT=thread:11:", nth));   // EAGAIN
    auto before = keeper();
    ASSERT_TRUE(before);
    good({"start", "work"});
    sh("work", cat("cd /work; echo ", nth, " > b"));
    good({"snapshot", "work", cat("s", nth)});
    EXPECT_EQ(json({"snapshots", "work"}).size(""), static_cast<std::size_t>(nth));
    EXPECT_EQ(sh("work", "cat /work/b"), cat(nth, "\n"));
    EXPECT_EQ(keeper(), before);
  }
}

TEST_F(Cells, RemovingACellEndsWhatRunsInIt) {
  create("work");
  Call call(cell_words({"exec", "work", "--", "sh", "-c", "echo begun; exec sleep 7531"}));
  ASSERT_TRUE(call.wait_for_output("begun"));
  ASSERT_TRUE(seen_within("7531", 1, seconds(5)));
  good({"rm", "work"});
  Called ended = call.finish();
  EXPECT_EQ(ended.code, 125) << ended.describe();
  EXPECT_NE(ended.err.find("the cell work has stopped: being removed"), std::string::npos) << ended.describe();
  EXPECT_TRUE(gone_within("7531", seconds(5)));
}

TEST_F(Cells, ExecutionsWhileItIsPausedAndResumedAreWholeOrRefused) {
  create("work");
  std::vector<Called> called(24);
  std::thread toggles([&] {
    for (int i = 0; i < 6; ++i) {
      cell({"pause", "work"});
      cell({"resume", "work"});
    }
  });
  for (auto& c : called) c = exec("work", {"sh", "-c", "echo whole"});
  toggles.join();
  int ran = 0;
  for (const auto& c : called) {
    if (c.code == 0) {
      ++ran;
      EXPECT_EQ(c.out, "whole\n");
    } else {
      EXPECT_EQ(c.code, 125) << c.describe();
      EXPECT_NE(c.err.find("work is paused"), std::string::npos) << c.describe();
    }
  }
  cell({"resume", "work"});
  EXPECT_EQ(sh("work", "echo after"), "after\n");
  EXPECT_GT(ran, 0);
}

}  // namespace
}  // namespace hotcell::testing
