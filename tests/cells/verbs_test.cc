// Each verb of `hotcell cell` with the options that it reads, and without those of others.
#include <sys/stat.h>

#include <filesystem>

#include "cells/cells.h"

namespace hotcell::testing {
namespace {

namespace fs = std::filesystem;

class CellVerbs : public Cells {
 protected:
  // What cannot be taken back is asked for as if it were to be tried; then nothing may have happened.
  void no_option(std::vector<std::string> words, const std::string& option) const {
    std::string verb = words[0];
    refused(std::move(words), option + " is no option of `hotcell cell " + verb + "`");
  }
};

// `cell discard --dry-run` discarded.
TEST_F(CellVerbs, WhatIsOnlyToBeTriedIsNotDone) {
  put("a", "old\n");
  create("work");
  settle();
  sh("work", "cd /work; echo mine > a");
  good({"snapshot", "work", "one"});
  sh("work", "cd /work; echo later > a");
  no_option({"discard", "work", "--dry-run"}, "--dry-run");
  no_option({"restore", "work", "one", "--dry-run"}, "--dry-run");
  EXPECT_EQ(sh("work", "cat /work/a"), "later\n");
  good({"create", "--name", "other", "--stopped"});
  no_option({"rm", "other", "--dry-run"}, "--dry-run");
  no_option({"clean", "--keep", "0", "--dry-run"}, "--dry-run");
  no_option({"stop", "work", "--dry-run"}, "--dry-run");
  EXPECT_EQ(inspect("other").text("status"), "stopped");
  EXPECT_EQ(inspect("work").text("status"), "running");
  refused({"restore", "work", "one", "--stopped"}, "--stopped goes with --name");
  // The controls.
  EXPECT_NE(good({"apply", "work", "--dry-run"}).find("nothing stands in the way"), std::string::npos);
  good({"restore", "work", "one"});
  EXPECT_EQ(sh("work", "cat /work/a"), "mine\n");
  good({"discard", "work"});
  EXPECT_EQ(sh("work", "cat /work/a"), "old\n");
  good({"rm", "other"});
}

// Whoever asks for a wall must not get a program without it.
TEST_F(CellVerbs, WallsAreThoseOfTheCellAndNotOfAnExecution) {
  create("work");
  const std::vector<std::string> walls[] = {{"--require", "all"}, {"--level", "enhanced"}, {"--tier", "strong"},  {"--profile", "strict"}, {"--deny", "/usr/bin"},
                                            {"--memory", "1M"},   {"--network", "none"},   {"--read", "/etc"},    {"--write", "/tmp"},     {"--decisions", "standard"},
                                            {"--disk", "1M"},     {"--cpu-time", "1s"},    {"--processes", "1"},  {"--secret", "A@b.test"}};
  for (const auto& wall : walls) {
    no_option({"exec", "work", wall[0], wall[1], "--", "touch", "/work/ran"}, wall[0]);
    if (wall[0] != "--secret") no_option({"start", "work", wall[0], wall[1]}, wall[0]);
    no_option({"fork", "work", "new", wall[0], wall[1]}, wall[0]);
  }
  EXPECT_EQ(sh("work", "ls /work"), "");
  refused({"exec", "work", "ls", "--patch"}, "a program and its options come after --");
  refused({"create", "--workdir", "/tmp"}, "--workdir is no option of `hotcell cell create` but of `hotcell cell exec`");
  refused({"create", "--on-output", "truncate"}, "--on-output is no option of `hotcell cell create`");
  for (const char* option : {"--output", "--stdin", "--on-output"})
    refused({"exec", "work", "--detach", option, option == std::string("--on-output") ? "kill" : "1", "--", "true"}, "does not go with --detach");
  // The controls: what an execution has of its own.
  Called all = cell({"exec", "work", "--env", "A=1", "--workdir", "/tmp", "--timeout", "20s", "--output", "1M", "--on-output", "truncate", "--stdin", "/dev/null", "--inspect", "report", "--json", "--", "sh", "-c",
                     "echo $A; pwd"});
  EXPECT_EQ(all.code, 0) << all.describe();
  EXPECT_EQ(Json(all.out).text("stdout"), "1\n/tmp\n");
}

// The table of what a verb reads must leave out nothing of it: each verb with all of its options.
TEST_F(CellVerbs, EachTakesWhatItReads) {
  put("a", "old\n");
  ASSERT_EQ(::chmod(state().c_str(), 0700), 0);  // the audit log of decisions is in it
  TempDir here;
  write_text(here.path() + "/in", "in\n");
  good({"create", "--name", "work", "--from", project(), "--label", "a=b", "--ttl", "1h", "--idle-pause", "1h", "--profile", "default", "--level", "default", "--tier", "light", "--require", "seccomp",
        "--memory", "300M", "--disk", "50M", "--output", "1M", "--timeout", "30s", "--cpu-time", "20s", "--cpus", "1", "--processes", "40", "--open-files", "90", "--read", "/usr/share", "--write",
        here.path(), "--deny", here.path() + "/.env", "--env", "A=1", "--network", "none", "--decisions", "standard", "--json"});
  good({"create", "--name", "wired", "--network", "proxy", "--network-rules", "allowlist", "--allow-domain", "good.test", "--block-domain", "bad.test", "--allow-private", "good.test", "--map-host",
        "good.test=127.0.0.1", "--network-bytes", "1M", "--network-rate", "1M", "--network-connections", "9", "--network-time", "1h", "--network-connection-time", "1m", "--phases", "--processes", "40"});
  EXPECT_EQ(json({"list", "--label", "a=b"}).size(""), 1u);
  good({"pause", "wired"});
  good({"resume", "wired"});
  good({"write", "wired", "f"}, "text\n");
  good({"mkdir", "wired", "d/e"});
  good({"ls", "wired", "--json"});
  EXPECT_EQ(good({"cat", "wired", "f"}), "text\n");
  good({"stat", "wired", "f", "--json"});
  good({"move", "wired", "f", "g"});
  good({"remove", "wired", "d", "--recursive"});
  good({"cp", "-r", "wired:.", here.path()});
  good({"cp", here.path() + "/in", "wired:in"});
  good({"diff", "wired", "g", "--patch", "--json"});
  good({"snapshot", "wired", "one", "--json"});
  good({"snapshots", "wired", "--json"});
  good({"restore", "wired", "one", "--json"});
  good({"restore", "wired", "one", "--name", "third", "--stopped", "--json"});
  good({"fork", "wired", "fourth", "--stopped", "--json"});
  good({"snapshots", "wired", "rm", "one"});
  good({"context", "wired", "create", "bash", "--session", "b", "--env", "B=2", "--json"});
  good({"context", "wired", "run", "b", "echo $B", "--timeout", "20s", "--json"});
  good({"context", "wired", "list", "--json"});
  refused({"context", "wired", "interrupt", "b"}, "runs nothing that could be interrupted");
  good({"context", "wired", "restart", "b"});
  good({"context", "wired", "close", "b"});
  good({"usage", "wired", "--json"});
  good({"estimate", "--json", "--", "make"});
  good({"network", "wired", "--block-domain", "worse.test", "--json"});
  good({"seal", "wired", "--json"});
  good({"questions", "--json"});
  good({"grant", "work", "command", "true", "--ttl", "1h"});
  good({"grants", "work", "--json"});
  good({"revoke", "work", "true"});
  for (const char* verb : {"approve", "deny"}) EXPECT_EQ(cell({verb, "q-none", "--json"}).out, "[]\n");
  good({"write", "work", "new"}, "n\n");
  good({"apply", "work", "--dry-run", "--force", "--allow-protected", "--json"});
  good({"discard", "work", "--json"});
  good({"stop", "wired"});
  good({"start", "wired"});
  good({"rm", "third", "fourth"});
  good({"clean", "--older-than", "1h", "--keep", "9", "--json"});
}

TEST_F(CellVerbs, WhatIsCleanedIsToldAsJson) {
  const std::string id = create("a", {"--stopped"});
  create("runs");
  Json cleaned = json({"clean", "--older-than", "0s"});
  ASSERT_EQ(cleaned.size("removed"), 1u) << "an age of zero is all that do not run";
  EXPECT_EQ(cleaned.text("removed/0/name"), "a");
  EXPECT_EQ(cleaned.text("removed/0/id"), id);
  EXPECT_EQ(json({"clean", "--keep", "0"}).size("removed"), 0u) << "it runs";
  refused({"clean", "--older-than", "0x"}, "--older-than");
  refused({"clean", "--older-than", "-1s"}, "--older-than");
  EXPECT_EQ(inspect("runs").text("status"), "running");
}

TEST_F(CellVerbs, WhatIsDetachedIsToldAsJson) {
  create("work");
  Json left = json({"exec", "work", "--detach", "--", "sleep", "86431"});
  EXPECT_EQ(left.text("cell"), "work");
  EXPECT_EQ(left.text("status"), "running");
  Json now = inspect("work");
  EXPECT_EQ(now.text("executions/0/number"), left.text("execution"));
  EXPECT_EQ(now.text("executions/0/program"), "sleep");
  EXPECT_EQ(good({"exec", "work", "--detach", "--", "true"}), "");
}

TEST_F(CellVerbs, APathThatIsNoChangeIsNotAppliedInSilence) {
  put("same", "same\n");
  create("work");
  settle();
  sh("work", "cd /work; echo 1 > one; mkdir -p deep/er; echo 2 > deep/er/two; printf x > \"$(printf 'n\\377')\"");
  refused({"apply", "work", "nope"}, "nope is not changed in the cell");
  refused({"apply", "work", "one", "same"}, "same is not changed in the cell; nothing was applied");
  refused({"apply", "work", "nope", "--dry-run", "--json"}, "nope is not changed in the cell");
  EXPECT_FALSE(fs::exists(project() + "/one")) << "all of it or nothing";
  // The controls, and names that are written in another way.
  good({"apply", "work", "./one", "deep//er/"});
  EXPECT_EQ(in_project("one"), "1\n");
  EXPECT_EQ(in_project("deep/er/two"), "2\n");
  good({"apply", "work", "n\377"});
  EXPECT_TRUE(fs::exists(project() + "/n\377"));
  good({"apply", "work", "."});
  good({"apply", "work"});
}

// A folder that was mistyped was made, with a keeper in it.
TEST_F(CellVerbs, LookingMakesNothing) {
  const std::string typo = state() + "/typo";
  for (std::vector<std::string> words : {std::vector<std::string>{"list"}, {"questions"}, {"clean"}, {"inspect", "work"}, {"rm", "work"}, {"grants", "work"}, {"exec", "work", "--", "true"}}) {
    words.insert(words.begin(), "cell");
    words.insert(words.begin() + 2, {"--state", typo});
    Called called = hotcell(words);
    EXPECT_EQ(called.code, 125) << called.describe();
    EXPECT_EQ(called.out, "");
    EXPECT_EQ(called.err, "hotcell: --state: " + typo + ": No such file or directory\n");
    EXPECT_FALSE(fs::exists(typo)) << words[1];
  }
  Called shell = hotcell({"shell", "work", "--state", typo, "--", "true"});
  EXPECT_EQ(shell.code, 125) << shell.describe();
  // It is there, and nobody has made a cell in it.
  EXPECT_EQ(good({"list"}), "Cells (0):\n");
  EXPECT_EQ(good({"list", "--json"}), "[]\n");
  EXPECT_EQ(good({"questions"}), "");
  EXPECT_EQ(json({"clean"}).size("removed"), 0u);
  refused({"inspect", "work"}, "there is no cell work: none was made in " + state() + " yet");
  refused({"cp", "work:a", "."}, "there is no cell: none was made in ");
  refused({"approve", "q-1"}, "there is no cell: none was made in ");
  EXPECT_TRUE(fs::is_empty(state()));
  // The control: making a cell does make the folder.
  EXPECT_EQ(hotcell({"cell", "create", "--name", "work", "--stopped", "--state", typo}).code, 0);
  EXPECT_TRUE(fs::exists(typo + "/cells"));
  EXPECT_EQ(hotcell({"cell", "rm", "work", "--state", typo}).code, 0);
}

TEST_F(CellVerbs, AShellDoesOneThing) {
  create("work", {"--processes", "40"});
  auto refuses = [&](std::vector<std::string> words, const std::string& sentence) {
    words.insert(words.begin(), {"shell", "work", "--state", state()});
    Called called = hotcell(words);
    EXPECT_EQ(called.code, 125) << called.describe();
    EXPECT_NE(called.err.find(sentence), std::string::npos) << called.describe();
  };
  refuses({"--input", "x", "--timeout", "1s"}, "--timeout goes with -- COMMAND");
  refuses({"--close", "--json"}, "--json goes with");
  refuses({"--json"}, "--json goes with");
  refuses({"--close", "--", "touch", "/work/ran"}, "-- COMMAND and --close do not go together");
  refuses({"--input", "x", "--history"}, "--input and --history do not go together");
  EXPECT_EQ(shell("work", "ls /work", {"--timeout", "20s", "--session", "s"}).code, 0);
  EXPECT_EQ(shell_json("work", "ls /work", {"--session", "s"}).text("output"), "");
}

}  // namespace
}  // namespace hotcell::testing
