// kill -9 of the keeper before each step that others could see: what it was doing has happened or has not, and what it began in a
// project is ended by the next one.
#include <unistd.h>

#include <cstdlib>

#include "base/strings.h"
#include "cells/cells.h"

namespace hotcell::testing {
namespace {

class CellFilesKilled : public Cells {
 protected:
  bool is_there(const std::string& name) const {
    Json all = json({"list"});
    for (std::size_t i = 0; i < all.size(""); ++i)
      if (all.text(cat(i, "/name")) == name) return true;
    return false;
  }
  // The keeper that serves this call dies before its step `at`. True: it lived.
  bool dying(std::vector<std::string> words, int at) {
    end_keeper();
    auto held = keeper_with(cat("HOTCELL_KILL_AT=", at));
    Called called = cell(std::move(words));
    const bool lived = called.err.find("the keeper of cells is gone") == std::string::npos;
    EXPECT_EQ(lived, called.code == 0) << called.describe();
    if (lived) kill_keeper();  // told to end it would come to the step
    return lived;
  }
  static constexpr int kMostSteps = 60;
};

TEST_F(CellFilesKilled, SnapshotIsWholeOrNotThere) {
  put("a", "a\n");
  create("work");
  sh("work", "cd /work; echo 1 > one; echo 2 > two");
  good({"stop", "work"});
  int died = 0;
  for (int at = 1;; ++at) {
    ASSERT_LT(at, kMostSteps);
    const std::string label = cat("s", at);
    if (dying({"snapshot", "work", label}, at)) break;
    ++died;
    Json all = json({"snapshots", "work"});
    if (all.size("") > 0) good({"restore", "work", all.text("0/label")});
    EXPECT_EQ(matches(state() + "/cells/c-*/snapshots/*.hotcell-*").size(), 0u);
  }
  EXPECT_GT(died, 3);
  EXPECT_EQ(inspect("work").text("status"), "stopped");
}

TEST_F(CellFilesKilled, RestoreIsTheOldOrTheNew) {
  put("a", "a\n");
  create("work");
  sh("work", "cd /work; echo 1 > one; mkdir d; echo x > d/x");
  const std::string first = everything("work");
  good({"snapshot", "work", "first"});
  sh("work", "cd /work; rm -r one d a; echo 2 > two; echo 3 > three");
  const std::string second = everything("work");
  good({"snapshot", "work", "second"});
  good({"stop", "work"});
  int old_seen = 0, new_seen = 0;
  bool is_second = true;
  for (int at = 1;; ++at) {
    ASSERT_LT(at, kMostSteps);
    const bool lived = dying({"restore", "work", is_second ? "first" : "second"}, at);
    good({"start", "work"});
    const std::string now = everything("work");
    good({"stop", "work"});
    ASSERT_TRUE(now == first || now == second) << "killed at " << at << ":\n" << now;
    const bool changed = (now == second) != is_second;
    ++(changed ? new_seen : old_seen);
    is_second = now == second;
    if (lived) {
      EXPECT_TRUE(changed);
      break;
    }
    EXPECT_EQ(matches(state() + "/cells/c-*/upper.hotcell-*").size(), 0u);
  }
  EXPECT_GT(old_seen, 3);
  EXPECT_GT(new_seen, 1);
}

TEST_F(CellFilesKilled, ForkIsACellOrNone) {
  put("a", "a\n");
  create("work");
  sh("work", "cd /work; echo 1 > one; mkdir d; echo x > d/x");
  const std::string files = everything("work");
  good({"stop", "work"});
  int none = 0;
  for (int at = 1;; ++at) {
    ASSERT_LT(at, kMostSteps);
    const std::string name = cat("f", at);
    const bool lived = dying({"fork", "work", name, "--stopped"}, at);
    Json all = json({"list"});
    bool there = false;
    for (std::size_t i = 0; i < all.size(""); ++i) there = there || all.text(cat(i, "/name")) == name;
    if (there) {
      good({"start", name});
      EXPECT_EQ(everything(name), files);
      good({"rm", name});
    } else {
      ++none;
    }
    EXPECT_EQ(matches(state() + "/cells/.new-*").size(), 0u);
    if (lived) {
      EXPECT_TRUE(there);
      break;
    }
  }
  EXPECT_GT(none, 2);
}

TEST_F(CellFilesKilled, ApplyIsFinishedByTheNextKeeperOrWasNeverBegun) {
  for (const char* name : {"a", "b", "c"}) put(name, "0\n");
  create("work");
  settle();
  int mixed = 0, finished = 0;
  for (int at = 1;; ++at) {
    ASSERT_LT(at, kMostSteps);
    const std::string old_text = in_project("a"), new_text = cat(at, "\n");
    if (at > 1) good({"start", "work"});
    sh("work", cat("cd /work; echo ", at, " > a; echo ", at, " > b; echo ", at, " > c; echo ", at, " > new-", at));
    good({"stop", "work"});
    const bool lived = dying({"apply", "work"}, at);
    for (const char* name : {"a", "b", "c"}) {
      const std::string now = in_project(name);
      EXPECT_TRUE(now == old_text || now == new_text) << name << " killed at " << at << ": " << now;
    }
    if (lived) break;
    const bool half = in_project("a") != in_project("c") || (in_project("c") == new_text) != (in_project(cat("new-", at)) == new_text);
    // Whoever asks next, whatever they ask, finds all of it or nothing.
    if (at % 2 == 0) EXPECT_EQ(json({"list"}).text("0/unfinished_apply"), "null");
    else EXPECT_EQ(inspect("work").text("unfinished_apply"), "null");
    const std::string after = in_project("a");
    EXPECT_TRUE(after == old_text || after == new_text) << after;
    for (const char* name : {"b", "c"}) EXPECT_EQ(in_project(name), after) << name << " killed at " << at;
    EXPECT_EQ(in_project(cat("new-", at)), after == new_text ? new_text : "") << "killed at " << at;
    EXPECT_EQ(matches(project() + "/.hotcell*").size() + matches(project() + "/*.hotcell-*").size(), 0u);
    mixed += half;
    finished += after == new_text;
    if (half) {
      EXPECT_EQ(after, new_text) << "killed at " << at;
    }
    Called called = cell({"apply", "work"});
    EXPECT_EQ(called.code, 0) << "after a kill at " << at << ": " << called.describe();
    for (const char* name : {"a", "b", "c"}) EXPECT_EQ(in_project(name), new_text);
    EXPECT_EQ(good({"diff", "work"}), "no changes\n");
    settle();
  }
  EXPECT_GT(mixed, 2);
  EXPECT_GT(finished, mixed);
}

TEST_F(CellFilesKilled, AnApplyIsNotFinishedOverWhatSomebodyHasWrittenSince) {
  for (const char* name : {"a", "b", "c"}) put(name, "0\n");
  create("work");
  settle();
  sh("work", "cd /work; echo 1 > a; echo 1 > b; echo 1 > c");
  good({"stop", "work"});
  for (int at = 1; in_project("a") == in_project("c"); ++at) {
    ASSERT_LT(at, kMostSteps);
    good({"discard", "work"});
    good({"start", "work"});
    sh("work", cat("cd /work; echo ", at, " > a; echo ", at, " > b; echo ", at, " > c"));
    good({"stop", "work"});
    ASSERT_FALSE(dying({"apply", "work"}, at)) << "no kill left a part of it";
    if (in_project("a") == in_project("c")) good({"apply", "work"});
    settle();
  }
  const std::string applied = in_project("a") == "mine\n" ? "" : in_project("a");
  put("c", "mine\n");
  const std::string said = inspect("work").text("unfinished_apply");
  EXPECT_NE(said.find("was cut off"), std::string::npos) << said;
  EXPECT_NE(said.find("cannot be finished: c: "), std::string::npos) << said;
  EXPECT_NE(good({"list"}).find(cat("Unfinished apply: ", said)), std::string::npos);
  EXPECT_EQ(in_project("a"), applied);
  EXPECT_EQ(in_project("c"), "mine\n");
  EXPECT_NE(cell({"apply", "work"}).code, 0);
  EXPECT_EQ(in_project("c"), "mine\n");
  good({"apply", "work", "--force"});
  EXPECT_EQ(in_project("c"), applied);
  EXPECT_EQ(inspect("work").text("unfinished_apply"), "null");
}

// With a file system of its own, too: root has one, for an ordinary user the same words mean samples.
class CellCreateKilled : public CellFilesKilled, public ::testing::WithParamInterface<std::vector<std::string>> {};
TEST_P(CellCreateKilled, IsACellOrNone) {
  put("a", "a\n");
  int none = 0, whole = 0;
  for (int at = 1;; ++at) {
    ASSERT_LT(at, kMostSteps);
    const std::string name = cat("n", at);
    std::vector<std::string> words = {"create", "--name", name, "--from", project()};
    words.insert(words.end(), GetParam().begin(), GetParam().end());
    const bool lived = dying(words, at);
    const bool there = is_there(name);
    EXPECT_EQ(matches(state() + "/cells/c-*").size(), there ? 1u : 0u) << "killed at " << at;
    EXPECT_EQ(matches(state() + "/cells/.new-*").size() + matches(state() + "/cells/.gone-*").size(), 0u) << "killed at " << at;
    if (lived) {
      EXPECT_TRUE(there);
    }
    ++(there ? whole : none);
    if (there) {
      EXPECT_EQ(inspect(name).text("reason").find("being made"), std::string::npos);
      if (inspect(name).text("status") != "running") good({"start", name});
      EXPECT_EQ(sh(name, "cd /work; cat a; echo b > b; cat b"), "a\nb\n");
      EXPECT_EQ(matches(state() + "/cells/c-*/*.new").size() + matches(state() + "/cells/c-*/*.json.*").size(), 0u);
      good({"rm", name});
    }
    if (lived) break;
  }
  EXPECT_GT(none, 8);
  EXPECT_GT(whole, 0);
  // A file system that was being made holds its device for no longer than the keeper lived.
  end_keeper();
  auto held = [&] {
    for (const auto& file : matches("/sys/block/loop*/loop/backing_file"))
      if (first_line(file).find(state()) != std::string::npos) return true;
    return false;
  };
  for (int i = 0; i < 200 && held(); ++i) ::usleep(50'000);
  EXPECT_FALSE(held());
}
INSTANTIATE_TEST_SUITE_P(CellFilesKilled, CellCreateKilled,
                         ::testing::Values(std::vector<std::string>{}, std::vector<std::string>{"--stopped"}, std::vector<std::string>{"--disk", "16M"}),
                         [](const auto& p) { return std::string(p.param.empty() ? "Plain" : p.param[0] == "--disk" ? "WithADisk" : "Stopped"); });

}  // namespace
}  // namespace hotcell::testing
