// Folders that lack their owner's own rights, in the project. To root none is closed: there the same must come out.
#include <grp.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/mman.h>

#include <functional>
#include <map>

#include "cells/files/apply.h"
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

// Path → "700/" for a folder, "644 its text" for a file. Closed folders are open while it looks, and get their modes back.
using Seen = std::map<std::string, std::string>;
void look(const std::string& root, const std::string& at, Seen& out) {
  std::vector<std::string> names;
  for (const auto& e : std::filesystem::directory_iterator(cat(root, "/", at))) names.push_back(e.path().filename());
  for (const auto& name : names) {
    const std::string path = at.empty() ? name : cat(at, "/", name), full = cat(root, "/", path);
    struct stat st {};
    ASSERT_EQ(::lstat(full.c_str(), &st), 0) << full;
    char mode[16];
    std::snprintf(mode, sizeof mode, "%o", st.st_mode & 07777);
    out[path] = S_ISDIR(st.st_mode) ? cat(mode, "/") : cat(mode, " ", read_text(full));
    if (!S_ISDIR(st.st_mode)) continue;
    // Not as root, who need not: opening a folder is a change of it that others have made.
    const bool closed = ::geteuid() != 0 && (st.st_mode & 0500) != 0500;
    if (closed) ::chmod(full.c_str(), 0700);
    look(root, path, out);
    if (closed) ::chmod(full.c_str(), st.st_mode & 07777);
  }
}
Seen seen(const std::string& root) {
  Seen out;
  look(root, "", out);
  return out;
}
std::string listed(const Seen& seen) {
  std::string out;
  for (const auto& [path, what] : seen) out += cat(path, " ", what, what.ends_with('\n') ? "" : "\n");
  return out;
}

void close_folders(const Scratch& s, std::initializer_list<std::pair<const char*, mode_t>> innermost_first) {
  for (const auto& [path, mode] : innermost_first) ASSERT_EQ(::chmod((s / path).c_str(), mode), 0) << path;
}

void make_project(Scratch& s) {
  ::umask(022);
  for (const char* path : {"shut/file", "shut/gone", "shut/moves", "shut/inner/deep", "shut/left/kept", "bare/file", "bare/gone", "opens/x",
                           "closes/x", "goes/a", "goes/inner/b", "tofile/a", "tofile/inner/b", "tofolder", "plain/x"})
    write_text(s / cat("lower/", path), "old\n");
  close_folders(s, {{"lower/shut/inner", 0}, {"lower/shut/left", 0}, {"lower/shut", 0}, {"lower/bare", 0500}, {"lower/opens", 0300},
                    {"lower/goes/inner", 0}, {"lower/goes", 0}, {"lower/tofile/inner", 0500}, {"lower/tofile", 0}});
  s.project_is_as_it_was();
}
constexpr const char* kEverything =
    "umask 022; "
    "chmod 700 shut shut/inner; echo new > shut/file; rm shut/gone; mv shut/moves shut/moved; echo new > shut/inner/deep; echo new > shut/inner/more; "
    "chmod 0 shut/inner shut; "
    "chmod 700 bare; echo new > bare/file; rm bare/gone; chmod 500 bare; "
    "chmod 700 opens; echo new > opens/x; "
    "echo new > closes/x; chmod 0 closes; "
    "chmod 700 goes goes/inner; rm -r goes; "
    "chmod 700 tofile tofile/inner; rm -r tofile; echo new > tofile; "
    "rm tofolder; mkdir tofolder; echo new > tofolder/x; chmod 0 tofolder; "
    "mkdir -p new/deep new/empty; echo new > new/deep/x; chmod 0 new/deep new";
const std::string kGoal =
    "bare 500/\nbare/file 644 new\ncloses 0/\ncloses/x 644 new\nnew 0/\nnew/deep 0/\nnew/deep/x 644 new\nnew/empty 755/\n"
    "opens 700/\nopens/x 644 new\nplain 755/\nplain/x 644 old\n"
    "shut 0/\nshut/file 644 new\nshut/inner 0/\nshut/inner/deep 644 new\nshut/inner/more 644 new\nshut/left 0/\nshut/left/kept 644 old\n"
    "shut/moved 644 old\ntofile 644 new\ntofolder 0/\ntofolder/x 644 new\n";

void expect_no_difference(const Scratch& s) {
  auto got = diff(s.layers());
  ASSERT_OK(got);
  EXPECT_TRUE(got.value().changes.empty()) << diff_text(got.value());
}

TEST(ApplyClosed, TheProjectBecomesWhatTheCellHasWithItsModes) {
  Scratch s;
  make_project(s);
  IN_CELL(s, kEverything);
  auto dry = options_of(s);
  dry.dry_run = true;
  const Seen before = seen(s / "lower");
  ASSERT_OK(apply(s.layers(), dry));
  ASSERT_OK(see_changes(s.layers(), {}));
  EXPECT_EQ(listed(seen(s / "lower")), listed(before));
  auto report = apply(s.layers(), options_of(s));
  ASSERT_OK(report);
  EXPECT_TRUE(report.value().applied) << apply_text(report.value());
  EXPECT_EQ(listed(seen(s / "lower")), kGoal);
  expect_no_difference(s);
  EXPECT_EQ(listed(seen(s / "lower")), kGoal);
  // And on: what came by us is no conflict, in what is closed by now either; nor is a file that moves there.
  IN_CELL(s, "chmod 700 new new/deep shut shut/left; echo more > new/deep/x; mv shut/left/kept shut/again; chmod 0 new/deep new shut/left shut");
  report = apply(s.layers(), options_of(s));
  ASSERT_OK(report);
  EXPECT_TRUE(report.value().applied) << apply_text(report.value());
  Seen now = seen(s / "lower");
  EXPECT_EQ(now["new/deep/x"], "644 more\n");
  EXPECT_EQ(now["new/deep"], "0/");
  EXPECT_EQ(now["shut/again"], "644 old\n");
  EXPECT_FALSE(now.contains("shut/left/kept"));
}

TEST(ApplyClosed, WhatWasRemovedFromAClosedFolderIsAConflict) {
  Scratch s;
  make_project(s);
  IN_CELL(s, "chmod 700 shut; echo new > shut/file; chmod 0 shut");
  close_folders(s, {{"lower/shut", 0700}});
  std::filesystem::remove(s / "lower/shut/file");
  close_folders(s, {{"lower/shut", 0}});
  ASSERT_OK(diff(s.layers()));
  auto report = apply(s.layers(), options_of(s));
  ASSERT_OK(report);
  EXPECT_FALSE(report.value().applied);
  ASSERT_EQ(report.value().conflicts.size(), 1u) << apply_text(report.value());
  EXPECT_EQ(report.value().conflicts[0].path, "shut/file");
  EXPECT_EQ(seen(s / "lower")["shut"], "0/");
}

// What somebody has left out stays in the folder that made room, and that is as closed as it was.
TEST(ApplyClosed, AnOldFolderThatStaysHasItsMode) {
  Scratch s;
  write_text(s / "lower/tofile/.env", "K=1\n");
  write_text(s / "lower/tofile/inner/.env", "K=2\n");
  close_folders(s, {{"lower/tofile/inner", 0100}, {"lower/tofile", 0}});
  s.project_is_as_it_was();
  IN_CELL(s, "chmod 700 tofile; chmod 700 tofile/inner; rm -r tofile; echo new > tofile");
  auto options = options_of(s);
  options.on_protected = OnRefusal::kSkip;
  auto report = apply(s.layers(), options);
  ASSERT_OK(report);
  EXPECT_TRUE(report.value().applied) << apply_text(report.value());
  EXPECT_EQ(read_text(s / "lower/tofile"), "new\n");
  Seen now = seen(s / "lower");
  std::string modes;
  for (const auto& [path, what] : now)
    if (what.ends_with('/')) modes += cat(path.find('/') == path.npos ? "" : path.substr(path.rfind('/')), " ", what, "\n");
  EXPECT_EQ(modes, " 0/\n/inner 100/\n") << listed(now);
}

TEST(ApplyClosed, HoweverManyThereAre) {
  Scratch s;
  for (int i = 0; i < 300; ++i) {
    const std::string folder = cat("lower/many/", i, i % 2 == 0 ? "" : "/x");
    write_text(s / cat(folder, "/file"), "old\n");
    ::chmod((s / folder).c_str(), i % 3 == 0 ? 0500 : 0);
  }
  s.project_is_as_it_was();
  IN_CELL(s, "chmod -R u+rwx many; rm -r many; for i in {1..300}; do mkdir -p new/$i; done; chmod 0 new/*");
  auto report = apply(s.layers(), options_of(s));
  ASSERT_OK(report);
  EXPECT_TRUE(report.value().applied);
  Seen now = seen(s / "lower");
  EXPECT_EQ(now.size(), 301u);
  EXPECT_EQ(now["new/300"], "0/");
  expect_no_difference(s);
}

std::string ctimes(const Scratch& s, bool closed_ones) {
  std::string out;
  for (const char* path : {"lower", "lower/plain", "lower/plain/inner", "lower/plain/inner/more", "lower/shut", "lower/bare"}) {
    if (!closed_ones && std::string_view(path).find("plain") == std::string_view::npos && std::string_view(path) != "lower") continue;
    struct stat st {};
    EXPECT_EQ(::stat((s / path).c_str(), &st), 0) << path;
    out += cat(path, " ", st.st_ctim.tv_sec, ".", st.st_ctim.tv_nsec, "\n");
  }
  return out;
}

TEST(ApplyClosed, WhatIsOpenIsNotTouched) {
  Scratch s;
  for (const char* path : {"lower/plain/inner/more/x", "lower/plain/inner/y", "lower/shut/x", "lower/bare/x"}) write_text(s / path, "old\n");
  close_folders(s, {{"lower/shut", 0}, {"lower/bare", 0500}});
  s.project_is_as_it_was();
  IN_CELL(s, "chmod 700 shut; echo new > shut/x; chmod 0 shut; chmod 700 bare; echo new > bare/x; chmod 500 bare; echo new > plain/inner/more/x");
  const bool root = ::geteuid() == 0;
  const std::string before = ctimes(s, root);
  const std::string bare = Scratch::run(s / "lower", "stat -c %z bare").output;
  ASSERT_OK(diff(s.layers()));
  EXPECT_EQ(ctimes(s, root), before);
  EXPECT_EQ(Scratch::run(s / "lower", "stat -c %z bare").output, bare) << "it can be read as it is";
  auto only = options_of(s);
  only.paths = {"plain"};
  const std::string above = Scratch::run(s / "lower", "stat -c %z . plain plain/inner bare shut").output;
  ASSERT_OK(apply(s.layers(), only));
  EXPECT_EQ(read_text(s / "lower/plain/inner/more/x"), "new\n");
  EXPECT_EQ(Scratch::run(s / "lower", "stat -c %z . plain plain/inner bare shut").output, above) << "no names came or went there";
}

// An access list has the owner's rights in it: writing it closes the folder, too.
TEST(ApplyClosed, AnAccessListClosesItAtTheEnd) {
  Scratch s;
  IN_CELL(s, "mkdir new; echo x > new/x; python3 -c 'import os, struct\n"
             "entries = [(1, 0, -1), (2, 5, os.getuid()), (4, 0, -1), (16, 5, -1), (32, 0, -1)]\n"
             "os.setxattr(\"new\", \"system.posix_acl_access\", struct.pack(\"<I\", 2) + b\"\".join(struct.pack(\"<HHi\", *e) for e in entries))'");
  auto report = apply(s.layers(), options_of(s));
  ASSERT_OK(report);
  EXPECT_TRUE(report.value().stripped.empty()) << apply_text(report.value());
  EXPECT_EQ(seen(s / "lower")["new"], "50/");
  expect_no_difference(s);
}

TEST(ApplyClosed, WhatIsClosedByItsNewModeIsOnDiskFirst) {
  Scratch s;
  IN_CELL(s, "mkdir new; chmod 0 new");
  sys::arm_fault("fsync", EIO, 1);
  auto report = apply(s.layers(), options_of(s));
  sys::arm_fault(nullptr, 0);
  ASSERT_FALSE(report.ok());
  EXPECT_EQ(report.error().message, "apply is unfinished: sync new: Input/output error");
  auto finished = finish_apply(s.layers(), s / "state");
  ASSERT_OK(finished);
  EXPECT_TRUE(finished.value().applied);
  expect_no_difference(s);
}

TEST(ApplyClosed, AFullDiskLeavesTheModes) {
  Scratch s;
  make_project(s);
  IN_CELL(s, kEverything);
  const std::string before = listed(seen(s / "lower"));
  sys::arm_fault("fsync", ENOSPC, 2);
  auto report = apply(s.layers(), options_of(s));
  sys::arm_fault(nullptr, 0);
  ASSERT_FALSE(report.ok());
  EXPECT_EQ(report.error().err, ENOSPC) << report.error().message;
  EXPECT_EQ(listed(seen(s / "lower")), before);
  EXPECT_FALSE(pending_apply(s / "state").value().has_value());
}

TEST(ApplyClosed, AnErrorInTheMiddleIsFinishedLater) {
  int unfinished = 0;
  for (int at = 1; at <= 12; ++at) {
    Scratch s;
    make_project(s);
    IN_CELL(s, kEverything);
    sys::arm_fault("rename", EIO, at);
    auto report = apply(s.layers(), options_of(s));
    sys::arm_fault(nullptr, 0);
    if (report.ok()) break;
    ++unfinished;
    Seen now = seen(s / "lower");
    for (const char* path : {"shut", "shut/inner", "shut/left"}) EXPECT_EQ(now[path], "0/") << path << " " << at;
    auto finished = finish_apply(s.layers(), s / "state");
    ASSERT_OK(finished);
    EXPECT_TRUE(finished.value().applied) << apply_text(finished.value());
    EXPECT_EQ(listed(seen(s / "lower")), kGoal) << at;
  }
  EXPECT_GT(unfinished, 8);
}

int* g_steps = nullptr;  // shared with the child
int g_die_at = 0;

// Whether it died. `work` says whether it went well.
bool killed_in(const std::function<bool()>& work) {
  pid_t pid = ::fork();
  if (pid == 0) {
    *g_steps = 0;
    set_step_hook([] {
      if (++*g_steps == g_die_at) ::raise(SIGKILL);
    });
    ::_exit(work() ? 0 : 1);
  }
  int status = 0;
  ::waitpid(pid, &status, 0);
  EXPECT_TRUE(WIFSIGNALED(status) || WEXITSTATUS(status) == 0) << "step " << g_die_at;
  return WIFSIGNALED(status);
}

// kill -9 at each step in turn, or at every `stride`th; then on as `then` says, which is told what had been there.
void killed_at_any_step(int stride, const std::function<bool(const Scratch&)>& work, const std::function<void(const Scratch&, const Seen&)>& then) {
  g_steps = static_cast<int*>(::mmap(nullptr, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0));
  bool died = true;
  for (g_die_at = 1; died && !testing::Test::HasFailure(); g_die_at += stride) {
    ASSERT_LT(g_die_at, 300);
    Scratch s;
    make_project(s);
    const Seen old = seen(s / "lower");
    IN_CELL(s, kEverything);
    died = killed_in([&] { return work(s); });
    Seen left = seen(s / "lower");
    for (const auto& [path, what] : left) {
      if (path.find(".hotcell-") != path.npos) continue;
      if (!what.ends_with('/')) {
        EXPECT_TRUE(what == "644 old\n" || what == "644 new\n") << path << ": " << what;
      } else if (auto was = old.find(path); was != old.end() && was->second != "755/") {
        EXPECT_TRUE(what == was->second || what == "700/" || kGoal.find(cat("\n", path, " ", what)) != kGoal.npos) << path << " " << what;
      }
    }
    for (const char* path : {"shut/file", "shut/inner/deep", "bare/file", "closes/x"}) EXPECT_TRUE(left.contains(path)) << path;
    then(s, old);
    if (testing::Test::HasFailure()) ADD_FAILURE() << "killed at step " << g_die_at << " of " << *g_steps << ", which left\n" << listed(left);
  }
  EXPECT_GT(*g_steps, ::geteuid() == 0 ? 0 : 10);
  ::munmap(g_steps, 4096);
}

TEST(ApplyClosed, KilledAtAnyStepItIsFinishedWithTheRightModes) {
  killed_at_any_step(
      1,
      [](const Scratch& s) {
        auto report = apply(s.layers(), options_of(s));
        return report.ok() && report.value().applied;
      },
      [](const Scratch& s, const Seen&) {
        auto pending = pending_apply(s / "state");
        ASSERT_OK(pending);
        // Killed before it began, or past its end, it is as if it had not been or had been.
        auto report = pending.value() ? finish_apply(s.layers(), s / "state") : apply(s.layers(), options_of(s));
        ASSERT_OK(report);
        EXPECT_TRUE(report.value().applied) << apply_text(report.value());
        EXPECT_EQ(listed(seen(s / "lower")), kGoal);
        expect_no_difference(s);
        IN_CELL(s, "chmod 700 shut shut/left; echo later > shut/file; mv shut/left/kept shut/again; chmod 0 shut/left shut");
        auto later = apply(s.layers(), options_of(s));
        ASSERT_OK(later);
        EXPECT_TRUE(later.value().applied) << apply_text(later.value());
      });
}

TEST(ApplyClosed, KilledWhileItIsFinishedItIsFinishedAfterAll) {
  killed_at_any_step(
      3,
      [](const Scratch& s) {
        sys::arm_fault("rename", EIO, 8);
        auto report = apply(s.layers(), options_of(s));
        sys::arm_fault(nullptr, 0);
        if (report.ok()) return false;
        auto finished = finish_apply(s.layers(), s / "state");
        return finished.ok() && finished.value().applied;
      },
      [](const Scratch& s, const Seen&) {
        auto pending = pending_apply(s / "state");
        ASSERT_OK(pending);
        auto report = pending.value() ? finish_apply(s.layers(), s / "state") : apply(s.layers(), options_of(s));
        ASSERT_OK(report);
        EXPECT_TRUE(report.value().applied) << apply_text(report.value());
        EXPECT_EQ(listed(seen(s / "lower")), kGoal);
      });
}

TEST(ApplyClosed, KilledAtAnyStepAndGivenUpItLeavesNothingOpened) {
  killed_at_any_step(
      2,
      [](const Scratch& s) {
        auto report = apply(s.layers(), options_of(s));
        return report.ok() && report.value().applied;
      },
      [](const Scratch& s, const Seen& old) {
        if (!pending_apply(s / "state").value()) return;
        ASSERT_OK(abandon_apply(s.layers(), s / "state"));
        const Seen now = seen(s / "lower");
        for (const auto& [path, what] : now) {
          EXPECT_EQ(path.find(".hotcell-"), path.npos) << path;
          auto was = old.find(path);
          if (!what.ends_with('/') || was == old.end() || !was->second.ends_with('/')) continue;
          EXPECT_TRUE(what == was->second || kGoal.find(cat("\n", path, " ", what)) != kGoal.npos) << path << " " << what;
        }
        EXPECT_FALSE(pending_apply(s / "state").value().has_value());
      });
}

// Its own way back is not known then; the next apply knows what is right.
TEST(ApplyClosed, ADiffThatIsKilledOpensAFolderToItsOwnerAlone) {
  if (::geteuid() == 0) {
    Scratch s;
    make_project(s);
    IN_CELL(s, kEverything);
    static int steps;
    steps = 0;
    set_step_hook([] { ++steps; });
    ASSERT_OK(diff(s.layers()));
    set_step_hook(nullptr);
    EXPECT_EQ(steps, 0) << "nothing is closed to root";
    return;
  }
  killed_at_any_step(1, [](const Scratch& s) { return diff(s.layers()).ok(); },
                     [](const Scratch& s, const Seen&) {
                       // Of a folder that is open its ctime tells, and that is new: a moved file is asked about once too often.
                       auto options = options_of(s);
                       options.force = true;
                       ASSERT_OK(apply(s.layers(), options));
                       // In the cell, too, it may have opened a folder, and no more than that.
                       for (auto& [path, what] : seen(s / "lower"))
                         EXPECT_TRUE(cat("\n", kGoal).find(cat("\n", path, " ", what)) != kGoal.npos || what == "700/") << path << " " << what;
                     });
}

TEST(ApplyClosed, WhatIsClosedAndSomebodyElsesIsNamed) {
  Scratch s;
  write_text(s / "lower/theirs/x", "old\n");
  write_text(s / "lower/readable/x", "old\n");
  write_text(s / "lower/file", "old\n");
  // Written by hand: in a cell of ours nobody gets that far.
  for (const char* path : {"upper/theirs/x", "upper/readable/y", "upper/file"}) write_text(s / path, "new\n");
  std::string before;
  Layers layers = s.layers();
  std::string theirs = "theirs", readable = "readable";
  if (::geteuid() != 0) {
    layers.lower = "/";
    std::filesystem::rename(s / "upper/theirs", s / "upper/root");
    std::filesystem::rename(s / "upper/readable", s / "upper/usr");
    theirs = "root";
    readable = "usr";
  } else {
    close_folders(s, {{"lower/theirs", 0700}, {"lower/readable", 0755}});
    before = listed(seen(s / "lower"));
    for (const char* path : {"", "lower", "lower/file", "upper", "upper/file", "upper/theirs", "upper/theirs/x", "upper/readable", "upper/readable/y", "state"})
      ASSERT_EQ(::chown((s / path).c_str(), 65534, 65534), 0);
  }
  auto as_somebody = [&](const std::vector<std::string>& paths, const std::string& expected) {
    pid_t pid = ::fork();
    if (pid == 0) {
      if (::geteuid() == 0 && (::setgroups(0, nullptr) != 0 || ::setgid(65534) != 0 || ::setuid(65534) != 0)) ::_exit(2);
      auto options = options_of(s);
      options.paths = paths;
      auto report = apply(layers, options);
      std::string got = report.ok() ? apply_text(report.value()) : report.error().message;
      if (got != expected) ::dprintf(2, "%s\n", got.c_str());
      ::_exit(got == expected ? 0 : 1);
    }
    int status = 0;
    ::waitpid(pid, &status, 0);
    EXPECT_EQ(status, 0) << expected;
    EXPECT_FALSE(pending_apply(s / "state").value().has_value());
    if (::geteuid() == 0) {
      EXPECT_EQ(listed(seen(s / "lower")), before);
    }
  };
  as_somebody({theirs}, cat("open ", theirs, ": Permission denied"));
  as_somebody({readable}, cat("the project's folder ", readable, " may not be written: Permission denied"));
}

TEST(DiscardClosed, WhatIsDiscardedShowsTheProjectAgain) {
  Scratch s;
  make_project(s);
  IN_CELL(s, kEverything);
  const std::string before = listed(seen(s / "lower"));
  ASSERT_OK(discard(s.layers(), {"shut/file", "shut/inner/more", "bare/file", "goes/inner/b", "tofolder", "new/deep"}));
  EXPECT_EQ(listed(seen(s / "lower")), before);
  auto got = diff(s.layers());
  ASSERT_OK(got);
  std::string paths;
  for (const auto& c : got.value().changes) paths += cat(to_string(c.kind), " ", c.path, "\n");
  EXPECT_EQ(paths, "deleted bare/gone\nmode closes\nmodified closes/x\ndeleted goes/a\nadded new\nadded new/empty\nmode opens\nmodified opens/x\n"
                   "deleted shut/gone\nmodified shut/inner/deep\nadded shut/moved\ndeleted shut/moves\ntype tofile\ndeleted tofile/a\n"
                   "deleted tofile/inner\ndeleted tofile/inner/b\n");
  EXPECT_EQ(s.in_cell("stat -c %a goes; chmod 700 goes goes/inner shut bare; cat goes/inner/b shut/file bare/file; ls goes").output, "0\nold\nold\nold\ninner\n");
}

}  // namespace
}  // namespace hotcell::cells
