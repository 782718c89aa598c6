#include "cells/files/apply.h"

#include <gtest/gtest.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/xattr.h>

#include "cells/files/cells_testing.h"
#include "cells/files/diff.h"
#include "cells/files/steps.h"
#include "sys/fault.h"

namespace hotcell::cells {
namespace {

ApplyOptions options_of(const Scratch& s) {
  ApplyOptions o;
  o.state = s / "state";
  o.base = s.base();
  return o;
}

std::string notes(const std::vector<ApplyNote>& list) {
  std::string out;
  for (const auto& n : list) out += cat(n.path, ": ", n.why, "\n");
  return out;
}

bool nothing_differs(const Scratch& s) {
  auto got = diff(s.layers());
  EXPECT_TRUE(got.ok());
  if (got.ok() && !got.value().changes.empty()) ADD_FAILURE() << diff_text(got.value());
  return got.ok() && got.value().changes.empty();
}

std::string seen_in_cell(const Scratch& s) {
  return s.in_cell("LC_ALL=C; find . -mindepth 1 -printf '%P|%y|%m|%l\\n' | sort; find . -type f -print0 | sort -z | xargs -0r sha256sum").output;
}
std::string seen_in_project(const Scratch& s) {
  return Scratch::run(s / "lower", "LC_ALL=C; find . -mindepth 1 -printf '%P|%y|%m|%l\\n' | sort; find . -type f -print0 | sort -z | xargs -0r sha256sum").output;
}

void make_project(Scratch& s) {
  write_text(s / "lower/kept", "kept\n");
  write_text(s / "lower/changed", "old\n");
  write_text(s / "lower/gone", "gone\n");
  write_text(s / "lower/mode", "mode\n");
  write_text(s / "lower/folder/inner/file", "1\n");
  write_text(s / "lower/folder/other", "2\n");
  write_text(s / "lower/becomes-folder", "3\n");
  write_text(s / "lower/becomes-file/a", "4\n");
  write_text(s / "lower/again/old", "5\n");
  s.project_is_as_it_was();
}
constexpr const char* kEverything =
    "echo new > changed; rm gone; chmod 750 mode; rm -r folder; rm becomes-folder; mkdir becomes-folder; echo x > becomes-folder/x; "
    "rm -r becomes-file; echo file > becomes-file; rm -r again; mkdir again; echo fresh > again/fresh; "
    "mkdir -p new/deep; echo n > new/deep/n; ln -s deep/n new/link; echo h > h1; ln h1 h2; chmod 500 new";

TEST(Apply, TheProjectBecomesWhatTheCellSees) {
  Scratch s;
  make_project(s);
  IN_CELL(s, kEverything);
  const std::string expected = seen_in_cell(s);
  ASSERT_NE(expected, seen_in_project(s));
  auto report = apply(s.layers(), options_of(s));
  ASSERT_OK(report);
  EXPECT_TRUE(report.value().applied) << apply_text(report.value());
  EXPECT_EQ(seen_in_project(s), expected);
  EXPECT_TRUE(nothing_differs(s));
  struct stat a {}, b {};
  ASSERT_EQ(::stat((s / "lower/h1").c_str(), &a), 0);
  ASSERT_EQ(::stat((s / "lower/h2").c_str(), &b), 0);
  EXPECT_EQ(a.st_ino, b.st_ino);
  EXPECT_EQ(Scratch::run(s / "lower", "find . -name '.hotcell*'").output, "");
}

TEST(Apply, WhatOthersRemovedIsNotForgottenWhenSomethingBesideItIsApplied) {
  Scratch s;
  make_project(s);
  IN_CELL(s, "echo mine > changed; echo mine > mode; echo more > folder/other");
  std::filesystem::remove(s / "lower/changed");
  auto options = options_of(s);
  options.paths = {"mode"};
  auto beside = apply(s.layers(), options);
  ASSERT_OK(beside);
  EXPECT_TRUE(beside.value().applied) << apply_text(beside.value());
  auto rest = apply(s.layers(), options_of(s));
  ASSERT_OK(rest);
  EXPECT_FALSE(rest.value().applied);
  EXPECT_EQ(notes(rest.value().conflicts), "changed: removed from the project\n");
  auto all = options_of(s);
  all.force = true;
  auto forced = apply(s.layers(), all);
  ASSERT_OK(forced);
  EXPECT_TRUE(forced.value().applied);
  // What is known now is asked about no more.
  IN_CELL(s, "mv changed moved");
  auto moved = apply(s.layers(), options_of(s));
  ASSERT_OK(moved);
  EXPECT_TRUE(moved.value().applied) << apply_text(moved.value());
  EXPECT_TRUE(nothing_differs(s));
}

TEST(Apply, AttributesHolesAndTimesComeAlong) {
  Scratch s;
  s.project_is_as_it_was();
  IN_CELL(s, "truncate -s 64M sparse; printf end | dd of=sparse bs=1 seek=33554432 conv=notrunc status=none; "
             "python3 -c 'import os; os.setxattr(\"sparse\", \"user.note\", b\"hello\")'; touch -d '2001-02-03 04:05:06.789' sparse");
  auto report = apply(s.layers(), options_of(s));
  ASSERT_OK(report);
  ASSERT_TRUE(report.value().applied);
  struct stat st {};
  ASSERT_EQ(::stat((s / "lower/sparse").c_str(), &st), 0);
  EXPECT_EQ(st.st_size, 64 << 20);
  EXPECT_LT(st.st_blocks * 512, 1 << 20);
  EXPECT_EQ(st.st_mtim.tv_nsec, 789000000);
  char value[16] = {};
  EXPECT_EQ(::getxattr((s / "lower/sparse").c_str(), "user.note", value, sizeof value), 5);
  EXPECT_TRUE(nothing_differs(s));
}

TEST(Apply, AProjectChangedUnderneathIsAConflict) {
  Scratch s;
  make_project(s);
  IN_CELL(s, "echo mine > changed; rm gone; echo mine > appears; echo mine >> mode; rm -r folder; echo mine > fine");
  write_text(s / "lower/changed", "theirs\n");
  write_text(s / "lower/gone", "theirs, too\n");
  write_text(s / "lower/appears", "theirs as well\n");
  std::filesystem::remove(s / "lower/mode");
  write_text(s / "lower/folder/new", "came later\n");
  const std::string before = seen_in_project(s);
  auto report = apply(s.layers(), options_of(s));
  ASSERT_OK(report);
  EXPECT_FALSE(report.value().applied);
  EXPECT_EQ(notes(report.value().conflicts), "appears: changed in the project\nchanged: changed in the project\nfolder/new: changed in the project\n"
                                             "gone: changed in the project\nmode: removed from the project\n");
  EXPECT_EQ(seen_in_project(s), before);

  auto forced = options_of(s);
  forced.force = true;
  auto again = apply(s.layers(), forced);
  ASSERT_OK(again);
  EXPECT_TRUE(again.value().applied);
  EXPECT_EQ(again.value().conflicts.size(), 5u);
  EXPECT_EQ(read_text(s / "lower/changed"), "mine\n");
  EXPECT_TRUE(nothing_differs(s));
}

// overlayfs keeps where a moved file came from; that is no sign that the project has lost it.
TEST(Apply, AMovedFileIsNoConflict) {
  Scratch s;
  make_project(s);
  IN_CELL(s, "mv changed elsewhere");
  auto report = apply(s.layers(), options_of(s));
  ASSERT_OK(report);
  EXPECT_TRUE(report.value().applied) << apply_text(report.value());
  EXPECT_EQ(read_text(s / "lower/elsewhere"), "old\n");
  EXPECT_FALSE(std::filesystem::exists(s / "lower/changed"));
  // Nor is it one in a folder whose names came and went by us.
  IN_CELL(s, "mv kept moved; echo more > more");
  report = apply(s.layers(), options_of(s));
  ASSERT_OK(report);
  EXPECT_TRUE(report.value().applied) << apply_text(report.value());
  EXPECT_EQ(read_text(s / "lower/moved"), "kept\n");
}

// As root overlayfs keeps a handle of the file that each was copied from at first, here, where it is mounted without a user namespace.
TEST(Apply, WhatWasAppliedMayBeMovedAgainAndAgain) {
  Scratch s;
  make_project(s);
  for (const char* script : {"mv changed b", "mv b c; echo more >> c", "chmod 600 c", "mkdir one; mv c one/c",
                             "echo more >> kept; mkdir two; mv one/c two/c; rmdir one", "mv two three; mv kept k; echo new > kept",
                             "mv three/c changed; rmdir three; mv k kept", "mv changed mode; ln kept k", "mv mode kept; mv k mode"}) {
    IN_CELL(s, script);
    const std::string expected = seen_in_cell(s);
    auto report = apply(s.layers(), options_of(s));
    ASSERT_OK(report);
    EXPECT_TRUE(report.value().applied) << script << "\n" << apply_text(report.value());
    EXPECT_EQ(seen_in_project(s), expected) << script;
    EXPECT_TRUE(nothing_differs(s)) << script;
  }
}

TEST(Apply, WhatOthersRemoveAfterItWasMovedIsAConflict) {
  const std::tuple<const char*, const char*, const char*> kMeanwhile[] = {
      {"true", "mv b c", ""},
      {"rm b", "mv b c", "c: removed from the project\n"},
      {"rm b; mkdir b", "mv b c", "c: removed from the project\n"},
      {"rm b; echo theirs > b", "mv b c", "b: changed in the project\nc: removed from the project\n"},
      {"rm b", "echo more >> b", "b: removed from the project\n"},
  };
  for (const auto& [others, cell, conflicts] : kMeanwhile) {
    Scratch s;
    make_project(s);
    IN_CELL(s, "mv changed b");
    ASSERT_OK(apply(s.layers(), options_of(s)));
    IN_CELL(s, cell);
    ::usleep(30'000);
    ASSERT_EQ(Scratch::run(s / "lower", others).exit_code, 0);
    auto report = apply(s.layers(), options_of(s));
    ASSERT_OK(report);
    EXPECT_EQ(notes(report.value().conflicts), conflicts) << others;
    EXPECT_EQ(report.value().applied, *conflicts == '\0') << others;
    if (*conflicts == '\0') continue;
    // Forced, it is ours again.
    auto forced = options_of(s);
    forced.force = true;
    ASSERT_OK(apply(s.layers(), forced));
    IN_CELL(s, "mv [bc] d");
    report = apply(s.layers(), options_of(s));
    ASSERT_OK(report);
    EXPECT_TRUE(report.value().applied) << others << "\n" << apply_text(report.value());
  }
}

TEST(Apply, ItsOwnWorkIsNoConflictLater) {
  Scratch s;
  make_project(s);
  IN_CELL(s, "echo one > changed");
  ASSERT_OK(apply(s.layers(), options_of(s)));
  IN_CELL(s, "echo two > changed");
  auto report = apply(s.layers(), options_of(s));
  ASSERT_OK(report);
  EXPECT_TRUE(report.value().applied) << apply_text(report.value());
  EXPECT_EQ(read_text(s / "lower/changed"), "two\n");
  // Control: somebody else's later work is one.
  s.project_is_as_it_was();
  IN_CELL(s, "echo three > changed");
  write_text(s / "lower/changed", "theirs\n");
  report = apply(s.layers(), options_of(s));
  ASSERT_OK(report);
  EXPECT_EQ(notes(report.value().conflicts), "changed: changed in the project\n");
}

TEST(Apply, WhatIsGoneIsNotRemembered) {
  Scratch s;
  make_project(s);
  for (auto [script, remembered] : {std::pair("mkdir -p one/two; echo 1 > one/two/file; echo 2 > other", ".\none/.\none/two/.\none/two/file\nother\n"),
                                    {"rm one/two/file", ".\none/.\none/two/.\nother\n"},
                                    {"rm -r one; rm other; mkdir other; echo 3 > one", ".\none\n"}}) {
    IN_CELL(s, script);
    auto report = apply(s.layers(), options_of(s));
    ASSERT_OK(report);
    EXPECT_TRUE(report.value().applied) << script << "\n" << apply_text(report.value());
    EXPECT_EQ(Scratch::run(s / "state", "cut -d' ' -f2 applied").output, remembered) << script;
  }
}

TEST(Apply, ProtectedPathsAreRefusedUnlessTold) {
  Scratch s;
  write_text(s / "lower/.git/config", "[core]\n");
  s.project_is_as_it_was();
  IN_CELL(s, "echo evil > .git/config; mkdir -p sub/.GIT/hooks; echo evil > sub/.GIT/hooks/x; echo K=1 > .env; echo fine > fine");
  const std::string before = seen_in_project(s);
  auto report = apply(s.layers(), options_of(s));
  ASSERT_OK(report);
  EXPECT_FALSE(report.value().applied);
  EXPECT_EQ(notes(report.value().refused), ".env: protected by .env\n.git/config: protected by .git\nsub/.GIT: protected by .git\n"
                                           "sub/.GIT/hooks: protected by .git\nsub/.GIT/hooks/x: protected by .git\n");
  EXPECT_EQ(seen_in_project(s), before);

  auto skipping = options_of(s);
  skipping.on_protected = OnRefusal::kSkip;
  report = apply(s.layers(), skipping);
  ASSERT_OK(report);
  EXPECT_TRUE(report.value().applied);
  EXPECT_EQ(read_text(s / "lower/fine"), "fine\n");
  EXPECT_EQ(read_text(s / "lower/.git/config"), "[core]\n");

  auto allowing = options_of(s);
  allowing.on_protected = OnRefusal::kAllow;
  ASSERT_OK(apply(s.layers(), allowing));
  EXPECT_EQ(read_text(s / "lower/.git/config"), "evil\n");
}

TEST(Apply, NoLinkLeadsOutOfTheProject) {
  Scratch s;
  write_text(s / "outside/file", "outside\n");
  write_text(s / "lower/folder/file", "inside\n");
  s.project_is_as_it_was();
  IN_CELL(s, "echo changed > folder/file; echo more > folder/more");
  // The project's folder becomes a link to elsewhere after the cell has changed what is in it.
  std::filesystem::remove_all(s / "lower/folder");
  std::filesystem::create_symlink(s / "outside", s / "lower/folder");
  auto report = apply(s.layers(), options_of(s));
  ASSERT_OK(report);
  EXPECT_FALSE(report.value().applied);
  auto forced = options_of(s);
  forced.force = true;
  ASSERT_OK(apply(s.layers(), forced));
  EXPECT_EQ(read_text(s / "outside/file"), "outside\n");
  EXPECT_FALSE(std::filesystem::exists(s / "outside/more"));
  EXPECT_TRUE(std::filesystem::is_directory(std::filesystem::symlink_status(s / "lower/folder")));
  EXPECT_EQ(read_text(s / "lower/folder/file"), "changed\n");
}

TEST(Apply, LinksThatPointOutsideAreRefused) {
  Scratch s;
  s.project_is_as_it_was();
  IN_CELL(s, "mkdir a; ln -s /etc/passwd abs; ln -s ../../x a/up; ln -s ../fine a/in; ln -s b/../../.. a/sly");
  auto report = apply(s.layers(), options_of(s));
  ASSERT_OK(report);
  EXPECT_FALSE(report.value().applied);
  EXPECT_EQ(notes(report.value().refused), "a/sly: is a link out of the project, to b/../../..\na/up: is a link out of the project, to ../../x\n"
                                           "abs: is a link out of the project, to /etc/passwd\n");
  auto skipping = options_of(s);
  skipping.on_outward_link = OnRefusal::kSkip;
  report = apply(s.layers(), skipping);
  ASSERT_OK(report);
  EXPECT_TRUE(report.value().applied);
  EXPECT_EQ(report.value().written, (std::vector<std::string>{"a", "a/in"}));
}

TEST(Apply, WhatIsNoFileIsLeftOutAndSaid) {
  Scratch s;
  s.project_is_as_it_was();
  IN_CELL(s, "mkfifo pipe; echo x > tool; chmod 6755 tool; "
             "python3 -c 'import socket; socket.socket(socket.AF_UNIX).bind(\"sock\")'");
  auto report = apply(s.layers(), options_of(s));
  ASSERT_OK(report);
  EXPECT_TRUE(report.value().applied);
  EXPECT_EQ(notes(report.value().skipped), "pipe: is a fifo\nsock: is a socket\n");
  EXPECT_EQ(notes(report.value().stripped), "tool: set-id bits\n");
  struct stat st {};
  ASSERT_EQ(::stat((s / "lower/tool").c_str(), &st), 0);
  EXPECT_EQ(st.st_mode & 07777, 0755u);
  EXPECT_FALSE(std::filesystem::exists(s / "lower/pipe"));
}

TEST(Apply, OnlyWhatIsSelected) {
  Scratch s;
  make_project(s);
  IN_CELL(s, "echo new > changed; rm gone; mkdir d; echo 1 > d/one; echo 2 > d/two");
  auto options = options_of(s);
  options.paths = {"d/one", "gone"};
  auto report = apply(s.layers(), options);
  ASSERT_OK(report);
  // A file cannot be there without its folder.
  EXPECT_TRUE(std::filesystem::exists(s / "lower/d/one")) << apply_text(report.value());
  EXPECT_FALSE(std::filesystem::exists(s / "lower/d/two"));
  EXPECT_FALSE(std::filesystem::exists(s / "lower/gone"));
  EXPECT_EQ(read_text(s / "lower/changed"), "old\n");
}

TEST(Apply, AFullDiskLeavesTheProjectAsItWas) {
  Scratch s;
  make_project(s);
  IN_CELL(s, "echo new > changed; echo 1 > a; echo 2 > b; rm gone");
  const std::string before = seen_in_project(s);
  for (const char* what : {"fsync", "openat2"}) {
    sys::arm_fault(what, ENOSPC, 2);
    auto report = apply(s.layers(), options_of(s));
    sys::arm_fault(nullptr, 0);
    ASSERT_FALSE(report.ok()) << what;
    EXPECT_EQ(seen_in_project(s), before);
    auto pending = pending_apply(s / "state");
    ASSERT_OK(pending);
    EXPECT_FALSE(pending.value().has_value());
  }
}

int* g_steps = nullptr;  // shared with the child
int g_die_at = 0;

// kill -9 at each step of an apply in turn: every file is old or new, and finishing it gives the whole.
void killed_at_any_step(bool approved) {
  g_steps = static_cast<int*>(::mmap(nullptr, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0));
  int survived_at = 0, finished = 0;
  for (g_die_at = 1; survived_at == 0; ++g_die_at) {
    ASSERT_LT(g_die_at, 200);
    Scratch s;
    make_project(s);
    IN_CELL(s, kEverything);
    const std::string goal = seen_in_cell(s);
    ApplyOptions asked_for = options_of(s);
    if (approved) {
      auto seen = see_changes(s.layers(), {});
      ASSERT_OK(seen);
      asked_for.approved = seen.value();
    }
    auto contents = [&](const std::string& root) {
      return std::pair(read_text(cat(root, "/changed")), std::filesystem::is_directory(cat(root, "/becomes-file")));
    };
    pid_t pid = ::fork();
    if (pid == 0) {
      *g_steps = 0;
      set_step_hook([] {
        if (++*g_steps == g_die_at) ::raise(SIGKILL);
      });
      auto report = apply(s.layers(), asked_for);
      ::_exit(report.ok() && report.value().applied ? 0 : 1);
    }
    int status = 0;
    ::waitpid(pid, &status, 0);
    if (WIFEXITED(status)) {
      ASSERT_EQ(WEXITSTATUS(status), 0);
      survived_at = g_die_at;
    }
    auto [changed, still_folder] = contents(s / "lower");
    EXPECT_TRUE(changed == "old\n" || changed == "new\n") << changed;
    EXPECT_TRUE(still_folder ? read_text(s / "lower/becomes-file/a") == "4\n" : read_text(s / "lower/becomes-file") == "file\n");
    EXPECT_EQ(read_text(s / "lower/kept"), "kept\n");
    auto pending = pending_apply(s / "state");
    ASSERT_OK(pending);
    if (pending.value()) {
      EXPECT_FALSE(apply(s.layers(), options_of(s)).ok());  // not another one before it is finished
      auto report = finish_apply(s.layers(), s / "state");
      ASSERT_OK(report);
      EXPECT_TRUE(report.value().applied) << g_die_at << ": " << apply_text(report.value());
      ++finished;
    } else if (survived_at == 0) {
      ASSERT_OK(apply(s.layers(), options_of(s)));  // killed before it began
    }
    EXPECT_EQ(seen_in_project(s), goal) << "killed at step " << g_die_at;
    EXPECT_EQ(Scratch::run(s / "lower", "find . -name '.hotcell*'").output, "") << g_die_at;
    // And its own work is no conflict afterwards.
    IN_CELL(s, "mv changed moved; echo later > changed");
    auto later = apply(s.layers(), options_of(s));
    ASSERT_OK(later);
    EXPECT_TRUE(later.value().applied) << g_die_at << apply_text(later.value());
  }
  EXPECT_GT(finished, 20);
  ::munmap(g_steps, 4096);
}
TEST(Apply, KilledAtAnyStepEveryFileIsOldOrNew) { killed_at_any_step(false); }
TEST(Apply, KilledAtAnyStepWhatWasApprovedIsFinished) { killed_at_any_step(true); }

TEST(Apply, WhatChangedAfterItWasApprovedIsNotApplied) {
  constexpr const char* kAsked = "echo seen > changed; mkdir new; echo seen > new/file; ln -s kept link; rm gone; truncate -s 1M holes";
  // Each of it between question and answer; the first is the control.
  const std::pair<const char*, const char*> kMeanwhile[] = {
      {"true", ""},
      {"touch changed; cp --sparse=never holes h2; mv h2 holes", ""},  // the same bytes are the same
      {"echo meant > changed", "changed: changed after it was approved\n"},  // of the same length, too
      {"echo SEEN > new/file", "new/file: changed after it was approved\n"},
      {"chmod 755 new/file", "new/file: changed after it was approved\n"},
      {"chmod 700 new", "new: changed after it was approved\n"},
      {"ln -sfn changed link", "link: changed after it was approved\n"},
      {"rm link; echo kept > link", "link: changed after it was approved\n"},
      {"rm new/file", "new/file: changed after it was approved\n"},
      {"echo back > gone", "gone: changed after it was approved\n"},
      {"printf x | dd of=holes bs=1 seek=777777 conv=notrunc status=none", "holes: changed after it was approved\n"},
      {"python3 -c 'import os; os.setxattr(\"changed\", \"user.note\", b\"x\")'", "changed: changed after it was approved\n"},
  };
  for (const auto& [meanwhile, refused] : kMeanwhile) {
    Scratch s;
    make_project(s);
    IN_CELL(s, kAsked);
    auto options = options_of(s);
    auto seen = see_changes(s.layers(), {});
    ASSERT_OK(seen);
    options.approved = seen.value();
    const std::string before = seen_in_project(s);
    IN_CELL(s, meanwhile);
    auto report = apply(s.layers(), options);
    ASSERT_OK(report);
    EXPECT_EQ(report.value().applied, *refused == '\0') << meanwhile;
    EXPECT_EQ(notes(report.value().refused), refused) << meanwhile;
    if (*refused != '\0') EXPECT_EQ(seen_in_project(s), before) << meanwhile;
    else EXPECT_TRUE(nothing_differs(s)) << meanwhile;
  }
}

TEST(Apply, WhatCameAfterItWasApprovedIsLeftOut) {
  Scratch s;
  make_project(s);
  IN_CELL(s, "mkdir -p new/deep; echo seen > new/deep/file");
  auto options = options_of(s);
  auto seen = see_changes(s.layers(), {"new/deep"});
  ASSERT_OK(seen);
  EXPECT_EQ(seen.value().size(), 3u) << "with the folder above";
  options.approved = seen.value();
  options.paths = {"new/deep"};
  IN_CELL(s, "echo late > new/deep/late");
  auto report = apply(s.layers(), options);
  ASSERT_OK(report);
  EXPECT_TRUE(report.value().applied) << apply_text(report.value());
  EXPECT_EQ(notes(report.value().skipped), "new/deep/late: came after it was approved\n");
  EXPECT_EQ(read_text(s / "lower/new/deep/file"), "seen\n");
  EXPECT_FALSE(std::filesystem::exists(s / "lower/new/deep/late"));
}

TEST(Apply, WhatWasAllowedByItsPathMayGrowMeanwhile) {
  Scratch s;
  make_project(s);
  IN_CELL(s, "echo seen > changed; mkdir new; echo seen > new/file; echo x > new/gone");
  auto options = options_of(s);
  auto seen = see_changes(s.layers(), {});
  ASSERT_OK(seen);
  options.approved = seen.value();
  for (auto& [path, digest] : *options.approved) digest.clear();
  IN_CELL(s, "echo more >> changed; chmod 755 new/file; rm new/gone; echo late > new/late");
  auto report = apply(s.layers(), options);
  ASSERT_OK(report);
  EXPECT_TRUE(report.value().applied) << apply_text(report.value());
  EXPECT_EQ(notes(report.value().refused), "");
  EXPECT_EQ(notes(report.value().skipped), "new/late: came after it was approved\n");
  EXPECT_EQ(read_text(s / "lower/changed"), "seen\nmore\n");
  EXPECT_FALSE(std::filesystem::exists(s / "lower/new/late"));
}

// A cell that goes on meanwhile: after the look at what was approved and before the copy.
TEST(Apply, WhatIsChangedWhileItIsCopiedIsNotApplied) {
  static Scratch* cell = nullptr;
  Scratch s;
  cell = &s;
  make_project(s);
  IN_CELL(s, "echo seen > changed");
  auto options = options_of(s);
  options.approved = see_changes(s.layers(), {}).value();
  const std::string before = seen_in_project(s);
  set_step_hook([] { std::ofstream(*cell / "upper/changed", std::ios::in | std::ios::out) << "MEAN"; });
  auto report = apply(s.layers(), options);
  set_step_hook(nullptr);
  ASSERT_FALSE(report.ok());
  EXPECT_EQ(report.error().message, "changed: changed after it was approved");
  EXPECT_EQ(seen_in_project(s), before);
  EXPECT_EQ(Scratch::run(s / "lower", "find . -name '.hotcell*'").output, "");
  EXPECT_FALSE(pending_apply(s / "state").value().has_value());
}

TEST(Apply, AnUnfinishedOneCanBeAbandoned) {
  Scratch s;
  make_project(s);
  IN_CELL(s, "echo new > changed; echo a > a; echo b > b");
  sys::arm_fault("rename", EIO, 2);
  auto report = apply(s.layers(), options_of(s));
  sys::arm_fault(nullptr, 0);
  ASSERT_FALSE(report.ok());
  EXPECT_NE(report.error().message.find("unfinished"), std::string::npos);
  auto pending = pending_apply(s / "state");
  ASSERT_OK(pending);
  ASSERT_TRUE(pending.value().has_value());
  EXPECT_EQ(pending.value()->paths, (std::vector<std::string>{"a", "b", "changed"}));
  ASSERT_OK(abandon_apply(s.layers(), s / "state"));
  EXPECT_EQ(Scratch::run(s / "lower", "find . -name '.hotcell*'").output, "");
  EXPECT_FALSE(pending_apply(s / "state").value().has_value());
}

TEST(Discard, WhatIsDiscardedShowsTheProjectAgain) {
  Scratch s;
  make_project(s);
  IN_CELL(s, kEverything);
  ASSERT_OK(discard(s.layers(), {"changed", "gone", "folder/inner", "again/old"}));
  EXPECT_EQ(s.in_cell("cat changed gone folder/inner/file again/old; ls folder again").output,
            "old\ngone\n1\n5\nagain:\nfresh\nold\n\nfolder:\ninner\n");
  auto wrong = discard(s.layers(), {"kept"});
  ASSERT_FALSE(wrong.ok());
  EXPECT_EQ(wrong.error().code, ErrorCode::kNotFound);
  ASSERT_OK(discard(s.layers(), {}));
  EXPECT_TRUE(nothing_differs(s));
  EXPECT_EQ(seen_in_cell(s), seen_in_project(s));
}

}  // namespace
}  // namespace hotcell::cells
