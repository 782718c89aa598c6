// What a cell changes is its own until somebody applies it; what is saved of it comes back as it was.
#include <fcntl.h>
#include <signal.h>
#include <sys/stat.h>

#include <cstdlib>
#include <filesystem>
#include <thread>

#include "base/sha256.h"
#include "base/strings.h"
#include "cells/cells.h"
#include "cells/files/snapshot_archive.h"
#include "cells/files/snapshot_manifest.h"
#include "sys/file.h"

namespace hotcell::testing {
namespace {

namespace fs = std::filesystem;

class CellFiles : public Cells {
 protected:
  std::string project_listing() const {
    int code = 0;
    return shell_output({"/bin/sh", "-c", "cd " + project() + "; find . -mindepth 1 -printf '%P|%y|%m|%l\\n' | LC_ALL=C sort; find . -type f -print0 | LC_ALL=C sort -z | xargs -0r sha256sum"}, "", &code);
  }
};

TEST_F(CellFiles, TheProjectIsUntouchedUntilItIsApplied) {
  put("a", "one\ntwo\nthree\n");
  put("gone", "gone\n");
  put("bin/tool", "#!/bin/sh\n", 0755);
  const std::string before = project_listing();
  create("work");
  settle();
  sh("work", "cd /work; printf 'one\\n2\\nthree\\n' > a; rm gone; mkdir -p new/deep; echo n > new/deep/n; chmod 700 bin/tool");
  EXPECT_EQ(project_listing(), before);
  Json d = json({"diff", "work"});
  EXPECT_EQ(d.text("added"), "3");
  EXPECT_EQ(d.text("modified"), "1");
  EXPECT_EQ(d.text("deleted"), "1");
  EXPECT_EQ(d.text("mode_changed"), "1");
  std::string stat = good({"diff", "work"});
  EXPECT_NE(stat.find(" M a          | 2 +-\n"), std::string::npos) << stat;
  EXPECT_NE(stat.find(" D gone       | 1 -\n"), std::string::npos) << stat;
  EXPECT_NE(stat.find(" m bin/tool   | mode 0755 became 0700\n"), std::string::npos) << stat;
  EXPECT_NE(stat.find(" 6 paths changed, 3 added, 1 modified, 1 deleted, 1 with another type or mode, 2 lines added(+), 2 lines removed(-)\n"), std::string::npos) << stat;
  EXPECT_EQ(good({"diff", "work", "new"}).find(" M a"), std::string::npos);
  std::string patch = good({"diff", "work", "a", "--patch"});
  EXPECT_NE(patch.find("--- a/a\n+++ b/a\n@@ -1,3 +1,3 @@\n one\n-two\n+2\n three\n"), std::string::npos) << patch;

  std::string plan = good({"apply", "work", "--dry-run"});
  EXPECT_NE(plan.find("nothing stands in the way"), std::string::npos);
  EXPECT_EQ(project_listing(), before);
  std::string said = good({"apply", "work"});
  EXPECT_NE(said.find("5 written, 1 removed\n"), std::string::npos) << said;
  EXPECT_EQ(in_project("a"), "one\n2\nthree\n");
  EXPECT_FALSE(fs::exists(project() + "/gone"));
  EXPECT_EQ(in_project("new/deep/n"), "n\n");
  EXPECT_EQ(fs::status(project() + "/bin/tool").permissions(), fs::perms(0700));
  EXPECT_EQ(good({"diff", "work"}), "no changes\n");
}

TEST_F(CellFiles, OnlyWhatIsNamedIsApplied) {
  create("work");
  settle();
  sh("work", "cd /work; echo 1 > one; echo 2 > two");
  good({"apply", "work", "/work/one"});
  EXPECT_EQ(in_project("one"), "1\n");
  EXPECT_FALSE(fs::exists(project() + "/two"));
  refused({"apply", "work", "../etc"}, ".. is not allowed");
}

TEST_F(CellFiles, AProjectChangedUnderneathIsAConflictThatIsListed) {
  put("a", "old\n");
  put("b", "old\n");
  create("work");
  settle();
  sh("work", "cd /work; echo mine > a; echo mine > b");
  put("a", "theirs\n");
  Called called = cell({"apply", "work"});
  EXPECT_EQ(called.code, 1) << called.describe();
  EXPECT_NE(called.out.find("conflict: a: changed in the project\n"), std::string::npos) << called.out;
  EXPECT_NE(called.out.find("nothing was applied: 1 conflict (--force overwrites)\n"), std::string::npos) << called.out;
  EXPECT_EQ(in_project("a"), "theirs\n");
  EXPECT_EQ(in_project("b"), "old\n");
  called = cell({"apply", "work", "--json"});
  EXPECT_EQ(called.code, 1);
  EXPECT_EQ(Json(called.out).text("conflicts/0/path"), "a");
  // Control: the file that nobody else touched goes by itself, the other one when it is forced.
  good({"apply", "work", "b"});
  EXPECT_EQ(in_project("b"), "mine\n");
  good({"apply", "work", "--force"});
  EXPECT_EQ(in_project("a"), "mine\n");
}

TEST_F(CellFiles, ProtectedPathsAreAppliedOnlyWhenTold) {
  put(".git/config", "[core]\n");
  put(".env", "K=1\n");
  create("work");
  settle();
  sh("work", "cd /work; echo evil >> .git/config; echo K=2 > .env; echo fine > fine");
  Called called = cell({"apply", "work"});
  EXPECT_EQ(called.code, 1) << called.describe();
  EXPECT_NE(called.out.find("refused: .env: protected by .env\nrefused: .git/config: protected by .git\n"), std::string::npos) << called.out;
  EXPECT_EQ(in_project(".env"), "K=1\n");
  EXPECT_FALSE(fs::exists(project() + "/fine"));
  // Forced or not, what was not written is not said to be.
  put("fine", "theirs\n");
  called = cell({"apply", "work", "--force"});
  EXPECT_EQ(called.code, 1) << called.describe();
  EXPECT_EQ(called.out.find("overwritten"), std::string::npos) << called.out;
  EXPECT_NE(called.out.find("conflict: fine: "), std::string::npos) << called.out;
  EXPECT_NE(called.out.find("nothing was applied: 1 conflict, 2 refused (--allow-protected lets them)\n"), std::string::npos) << called.out;
  EXPECT_EQ(in_project("fine"), "theirs\n");
  good({"apply", "work", "--allow-protected", "--force"});
  EXPECT_EQ(in_project(".env"), "K=2\n");
  EXPECT_EQ(in_project("fine"), "fine\n");
}

// The project is not unlocked to be looked at: it would count as changed underneath.
TEST_F(CellFiles, AFileOfTheProjectThatNobodyMayReadIsAChangeLikeAnother) {
  put("locked", "old\n", 0000);
  put("gone", "old\n", 0000);
  put("a", "old\n");
  create("work");
  settle();
  sh("work", "cd /work; rm -f locked gone; echo new > locked; echo new > a");
  struct stat before {}, after {};
  ASSERT_EQ(::stat((project() + "/locked").c_str(), &before), 0);
  std::string told = good({"diff", "work"});
  EXPECT_NE(told.find(" M locked"), std::string::npos) << told;
  EXPECT_NE(told.find(" D gone"), std::string::npos) << told;
  EXPECT_NE(told.find(" M a"), std::string::npos) << told;
  std::string patch = good({"diff", "work", "--patch"});
  EXPECT_NE(patch.find("+new"), std::string::npos) << patch;
  ASSERT_EQ(::stat((project() + "/locked").c_str(), &after), 0);
  EXPECT_EQ(before.st_ctim.tv_nsec, after.st_ctim.tv_nsec);
  good({"apply", "work"});
  EXPECT_EQ(in_project("locked"), "new\n");
  EXPECT_FALSE(fs::exists(project() + "/gone"));
}

// A kernel that stamps finely what somebody looks at gives every later file a stamp no earlier than that, ahead of the coarse
// clock: what was written just before the cell was made is not a change underneath.
TEST_F(CellFiles, WhatWasWrittenJustBeforeIsNoConflict) {
  for (int i = 0; i < 12; ++i) {
    const std::string name = cat("w", i);
    struct stat st {};
    put("seen", "1\n");
    ASSERT_EQ(::stat((project() + "/seen").c_str(), &st), 0);
    put("seen", "2\n");
    put("file", "old\n");
    create(name, {"--stopped"});
    good({"start", name});
    sh(name, "echo new > /work/file");
    good({"apply", name});
    EXPECT_EQ(in_project("file"), "new\n");
    good({"rm", name});
  }
}

// SEEDS §2.10: paths were joined by their letters alone, so a link in the project led the apply out of it.
TEST_F(CellFiles, SeedsApplyNeverFollowsASymlinkOutOfTheProject) {
  TempDir outside;
  write_text(outside.path() + "/file", "outside\n");
  put("folder/file", "inside\n");
  create("work");
  settle();
  sh("work", "cd /work; echo changed > folder/file; echo more > folder/more");
  fs::remove_all(project() + "/folder");
  fs::create_symlink(outside.path(), project() + "/folder");
  // Control: by its letters the path leads outside.
  ASSERT_EQ(read_text(project() + "/folder/file"), "outside\n");
  EXPECT_EQ(cell({"apply", "work"}).code, 1);
  good({"apply", "work", "--force"});
  EXPECT_EQ(read_text(outside.path() + "/file"), "outside\n");
  EXPECT_FALSE(fs::exists(outside.path() + "/more"));
  EXPECT_TRUE(fs::is_directory(fs::symlink_status(project() + "/folder")));
  EXPECT_EQ(in_project("folder/file"), "changed\n");
}

// Nor where the project itself has become one, or a folder above it.
TEST_F(CellFiles, AProjectThatIsReachedByALinkNowIsLeftAlone) {
  put("top/p/a", "old\n");
  put("other/p/a", "theirs\n");
  const std::string p = project() + "/top/p";
  fs::create_directory_symlink(project() + "/top", project() + "/way");
  good({"create", "--name", "work", "--from", project() + "/way/p"});  // the control: links are followed when the cell is made
  EXPECT_EQ(inspect("work").text("work_dir"), fs::canonical(p).native());
  sh("work", "echo new > a; echo new > b");
  for (const char* moved : {"top/p", "top"}) {
    fs::rename(project() + "/" + moved, project() + "/kept");
    fs::create_directory_symlink(project() + (std::string(moved) == "top" ? "/other" : "/other/p"), project() + "/" + moved);
    refused({"apply", "work"}, "leads through a link now");
    refused({"apply", "work", "--force"}, "leads through a link now");
    refused({"diff", "work", "--patch"}, "leads through a link now");
    if (is_root()) {
      good({"stop", "work"});
      EXPECT_EQ(cell({"start", "work"}).code, 125);
    }
    fs::remove(project() + "/" + moved);
    fs::rename(project() + "/kept", project() + "/" + moved);
    if (is_root()) good({"start", "work"});
  }
  EXPECT_EQ(in_project("other/p/a"), "theirs\n");
  EXPECT_FALSE(fs::exists(project() + "/other/p/b"));
  good({"apply", "work"});
  EXPECT_EQ(in_project("top/p/a"), "new\n");
}

// SEEDS §2.10: `a/../../x` was cleaned by its letters. Here no such path is taken at all.
TEST_F(CellFiles, SeedsPathsAreNotCleanedByTheirLetters) {
  TempDir outside;
  put("a/x", "x\n");
  create("work");
  settle();
  sh("work", "cd /work; echo y > a/x; ln -s " + outside.path() + " out; mkdir real; ln -s ../real a/in");
  for (const char* path : {"a/../../x", "../x", "out/../x", "/etc/passwd"}) EXPECT_EQ(cell({"apply", "work", path}).code, 125) << path;
  Called called = cell({"apply", "work"});
  EXPECT_EQ(called.code, 1);
  EXPECT_NE(called.out.find("refused: out: is a link out of the project"), std::string::npos) << called.out;
  EXPECT_EQ(in_project("a/x"), "x\n");
}

// SEEDS §2.10: everything was written 0644.
TEST_F(CellFiles, SeedsApplyKeepsModes) {
  put("tool", "old\n", 0755);
  create("work");
  settle();
  sh("work", "cd /work; echo new > tool; echo s > secret; chmod 600 secret; echo r > run; chmod 751 run");
  good({"apply", "work"});
  EXPECT_EQ(fs::status(project() + "/tool").permissions(), fs::perms(0755));
  EXPECT_EQ(fs::status(project() + "/secret").permissions(), fs::perms(0600));
  EXPECT_EQ(fs::status(project() + "/run").permissions(), fs::perms(0751));
}

TEST_F(CellFiles, WhatIsDiscardedIsTheProjectsAgain) {
  put("a", "old\n");
  put("b", "old\n");
  create("work");
  sh("work", "cd /work; echo new > a; rm b; echo c > c");
  Called called = cell({"discard", "work", "a", "b"});
  EXPECT_EQ(called.code, 0) << called.describe();
  EXPECT_NE(called.err.find("runs again; its processes are gone"), std::string::npos) << called.err;
  EXPECT_EQ(sh("work", "cd /work; cat a b c"), "old\nold\nc\n");
  refused({"discard", "work", "a"}, "a is not changed in the cell");
  EXPECT_EQ(inspect("work").text("status"), "running");
  good({"stop", "work"});
  EXPECT_EQ(cell({"discard", "work"}).err, "");
  EXPECT_EQ(inspect("work").text("status"), "stopped");
  EXPECT_EQ(good({"diff", "work"}), "no changes\n");
}

// SEEDS §2.8, one by one: what a snapshot used to lose.
struct Lost {
  const char* name;
  const char* script;  // in /work
};
class SeedsSnapshotKeeps : public CellFiles, public ::testing::WithParamInterface<Lost> {};
TEST_P(SeedsSnapshotKeeps, It) {
  put("kept", "kept\n");
  put("gone", "gone\n");
  put("folder/inner", "inner\n");
  create("work");
  sh("work", std::string("cd /work; ") + GetParam().script);
  const std::string before = everything("work");
  Json saved = json({"snapshot", "work", "one"});
  EXPECT_EQ(saved.text("label"), "one");
  EXPECT_TRUE(fs::exists(saved.text("file")));
  sh("work", "cd /work; chmod -R u+rwX . ; find . -mindepth 1 -delete; echo extra > extra; mkdir -p other/extra");
  ASSERT_NE(everything("work"), before);
  good({"restore", "work", "one"});
  EXPECT_EQ(everything("work"), before);
  EXPECT_EQ(in_project("gone"), "gone\n");
}
INSTANTIATE_TEST_SUITE_P(CellFiles, SeedsSnapshotKeeps,
                         ::testing::Values(Lost{"HiddenFolders", "mkdir -p .hidden/.deeper; echo h > .hidden/.deeper/.h"},
                                           Lost{"FilesOverOneMebibyte", "head -c 3000000 /dev/urandom > large"},
                                           Lost{"UnreadableFiles", "echo s > secret; chmod 000 secret; mkdir closed; echo c > closed/c; chmod 500 closed"},
                                           Lost{"Modes", "echo t > tool; chmod 751 tool; mkdir d; chmod 1770 d"},
                                           Lost{"NotFilesThatCameLater", "echo x > x"},  // extra files are removed
                                           Lost{"Links", "echo l > l1; ln l1 l2; ln -s l1 s; ln -s /nowhere dangling"},
                                           Lost{"Holes", "truncate -s 8M hole; echo end >> hole"},
                                           Lost{"Deletions", "rm gone; rm -r folder; mkdir folder; echo new > folder/new"}),
                         [](const auto& p) { return std::string(p.param.name); });

// SEEDS §2.8: what was kept of a sandbox was written 0644, with everything its variables and files said.
TEST_F(CellFiles, SeedsWhatIsKeptIsClosedToOthers) {
  create("work", {"--env", "TOKEN=secret"});
  sh("work", "echo secret > /work/s");
  good({"snapshot", "work", "one"});
  good({"pause", "work"});
  const std::string cells = state() + "/cells", folder = cells + "/" + inspect("work").text("id");
  auto mode = [](const std::string& path) {
    struct stat st {};
    EXPECT_EQ(::lstat(path.c_str(), &st), 0) << path;
    return st.st_mode & 0777;
  };
  EXPECT_EQ(mode(cells), 0700u);
  EXPECT_EQ(mode(folder), 0700u);
  EXPECT_EQ(mode(folder + "/snapshots"), 0700u);
  int seen = 0;
  for (const auto& pattern : {folder + "/*", folder + "/snapshots/*", cells + "/keeper*"})
    for (const auto& path : matches(pattern)) {
      if (!fs::is_regular_file(path)) continue;
      EXPECT_EQ(mode(path), 0600u) << path;
      ++seen;
    }
  EXPECT_GE(seen, 4);
}

// SEEDS §2.8: a restored sandbox had the id of the one it was taken from, and wrote into its folder.
TEST_F(CellFiles, SeedsARestoredCellHasAnIdAndFilesOfItsOwn) {
  put("a", "project\n");
  const std::string id = create("work");
  sh("work", "echo saved > /work/a");
  good({"snapshot", "work", "one"});
  sh("work", "echo later > /work/a");
  Json made = json({"restore", "work", "one", "--name", "other"});
  EXPECT_NE(made.text("id"), id);
  EXPECT_EQ(made.text("forked_from"), id);
  EXPECT_EQ(inspect("work").text("id"), id);
  EXPECT_EQ(sh("other", "cat /work/a; echo mine > /work/a"), "saved\n");
  EXPECT_EQ(sh("work", "cat /work/a"), "later\n");
  EXPECT_EQ(in_project("a"), "project\n");
  good({"rm", "work"});
  EXPECT_EQ(sh("other", "cat /work/a"), "mine\n") << "it needs nothing of the other";
}

// SEEDS §2.8: `../` in a snapshot was written outside, and links were followed.
TEST_F(CellFiles, SeedsASnapshotThatLeadsOutsideIsRefusedAndTheCellGoesOn) {
  TempDir files;
  put("a", "a\n");
  create("work");
  sh("work", "echo mine > /work/mine");
  good({"exec", "work", "--detach", "--", "sleep", "86412"});
  ASSERT_TRUE(seen_within("86412", 1, std::chrono::seconds(20)));
  using cells::SavedEntry;
  auto entry = [](SavedEntry::Kind kind, std::string path) {
    SavedEntry e;
    e.kind = kind;
    e.path = std::move(path);
    e.mode = 0755;
    e.uid = ::geteuid();
    e.gid = ::getegid();
    return e;
  };
  auto write = [&](const std::string& name, std::vector<SavedEntry> entries) {
    cells::Manifest m;
    m.entries.push_back(entry(SavedEntry::Kind::kRoot, ""));
    for (auto& e : entries) m.entries.push_back(std::move(e));
    m.content = m.entries.back().stored();
    std::string text = cells::manifest_text(m), path = files.path() + "/" + name;
    auto out = sys::open(path.c_str(), O_RDWR | O_CREAT | O_TRUNC, 0644);
    auto writer = cells::ArchiveWriter::create(out.value().get());
    EXPECT_TRUE(writer.value().begin({"manifest", text.size()}).ok() && writer.value().add(text).ok() &&
                writer.value().begin({cells::member_name(m.entries.back()), 1}).ok() && writer.value().add("x").ok() && writer.value().finish(0).ok());
    return path;
  };
  SavedEntry file = entry(SavedEntry::Kind::kFile, "ok");
  file.size = 1;
  file.sha256 = sha256_hex("x");
  SavedEntry slip = file, through = file, link = entry(SavedEntry::Kind::kSymlink, "link");
  slip.path = "../escaped";
  through.path = "link/escaped";
  link.target = files.path();
  refused({"restore", "work", write("slip.snap", {slip})}, "no path of a workspace");
  refused({"restore", "work", write("link.snap", {link, through})}, "in no folder of this snapshot");
  refused({"restore", "work", write("cut.snap", {}) + ".none"}, "No such file");
  EXPECT_EQ(sh("work", "cat /work/mine"), "mine\n");
  EXPECT_TRUE(seen_within("86412", 1, std::chrono::seconds(1))) << "what cannot be restored must not stop the cell";
  EXPECT_FALSE(fs::exists(files.path() + "/escaped"));
  // Control: an honest one made the same way.
  good({"restore", "work", write("good.snap", {file})});
  EXPECT_EQ(sh("work", "cd /work; cat ok a; ls"), "xa\na\nok\n");
  EXPECT_TRUE(gone_within("86412", std::chrono::seconds(20)));
}

TEST_F(CellFiles, SnapshotsAreListedRemovedAndBroughtIntoANewCell) {
  put("a", "a\n");
  create("work", {"--env", "K=V", "--label", "l=m"});
  sh("work", "echo 1 > /work/one");
  good({"snapshot", "work", "first"});
  sh("work", "echo 2 > /work/two; rm /work/a");
  good({"snapshot", "work", "second"});
  refused({"snapshot", "work", "first"}, "has a snapshot first already");
  refused({"snapshot", "work", "../x"}, "is no label");
  Json all = json({"snapshots", "work"});
  ASSERT_EQ(all.size(""), 2u);
  EXPECT_EQ(all.text("0/label"), "second");
  EXPECT_EQ(all.text("1/label"), "first");
  refused({"restore", "work", "third"}, "has no snapshot third");
  EXPECT_EQ(good({"restore", "work", "second", "--name", "copy"}), "copy\n");
  EXPECT_EQ(sh("copy", "cd /work; cat one two; ls; echo $K"), "1\n2\none\ntwo\nV\n");
  EXPECT_EQ(inspect("copy").text("labels/l"), "m");
  refused({"restore", "work", "first", "--name", "copy"}, "there is a cell copy already");
  good({"snapshots", "work", "rm", "second"});
  EXPECT_EQ(json({"snapshots", "work"}).size(""), 1u);
  refused({"snapshots", "work", "rm", "second"}, "has no snapshot second");
}

TEST_F(CellFiles, AForkGoesItsOwnWay) {
  put("a", "old\n");
  put("b", "old\n");
  std::string id = create("work", {"--env", "K=V"});
  settle();
  sh("work", "cd /work; echo new > a; rm b; mkdir .h; echo h > .h/h; chmod 640 a");
  good({"exec", "work", "--detach", "--", "sleep", "86413"});
  ASSERT_TRUE(seen_within("86413", 1, std::chrono::seconds(20)));
  const std::string before = everything("work");
  EXPECT_EQ(good({"fork", "work", "try"}), "try\n");
  EXPECT_TRUE(seen_within("86413", 1, std::chrono::seconds(1))) << "the cell that was forked goes on";
  Json j = inspect("try");
  EXPECT_EQ(j.text("forked_from"), id);
  EXPECT_NE(j.text("id"), id);
  EXPECT_EQ(j.text("env_vars/K"), "V");
  EXPECT_EQ(j.text("status"), "running");
  EXPECT_EQ(everything("try"), before);
  sh("try", "echo fix > /work/a");
  EXPECT_EQ(sh("work", "cat /work/a"), "new\n");
  good({"apply", "try"});
  EXPECT_EQ(in_project("a"), "fix\n");
  // What one has applied is a change underneath for the other.
  EXPECT_EQ(cell({"apply", "work"}).code, 1);
  refused({"fork", "work", "try"}, "there is a cell try already");
  refused({"fork", "work", "no/name"}, "is no name");
  EXPECT_EQ(good({"fork", "work", "quiet", "--stopped"}), "quiet\n");
  EXPECT_EQ(inspect("quiet").text("status"), "stopped");
}

TEST_F(CellFiles, TheLimitOfCellsHoldsForForksToo) {
  auto held = keeper_with("HOTCELL_MAX_CELLS=2");
  create("work");
  good({"snapshot", "work", "one"});
  good({"fork", "work", "second"});
  refused({"fork", "work", "third"}, "maximum cell limit (2) reached");
  refused({"restore", "work", "one", "--name", "third"}, "maximum cell limit (2) reached");
}

TEST_F(CellFiles, ACellIsStillWhileItIsLookedAt) {
  create("work");
  // A writer that never rests: without the freezer files would change while they are read.
  good({"exec", "work", "--detach", "--", "sh", "-c", "cd /work; while :; do date +%N > counter; cp counter copy; mv copy moved; done # 86414"});
  ASSERT_TRUE(seen_within("86414", 1, std::chrono::seconds(20)));
  for (int i = 0; i < 5; ++i) {
    Called called = cell({"snapshot", "work", cat("s", i)});
    EXPECT_EQ(called.code, 0) << called.describe();
    EXPECT_EQ(cell({"diff", "work"}).code, 0);
  }
  // And it goes on afterwards.
  std::string at = sh("work", "cat /work/counter /work/moved 2> /dev/null || true");
  EXPECT_EQ(inspect("work").text("status"), "running");
  bool moved = false;
  for (int i = 0; i < 200 && !moved; ++i) moved = sh("work", "cat /work/counter /work/moved 2> /dev/null || true") != at;
  EXPECT_TRUE(moved);
}

// A process that gives back much memory is listed for long while it ends, and cannot be moved to where it would be frozen. That
// is done once in a cell's life, so there are several of them.
TEST_F(CellFiles, ProgramsThatEndDoNotKeepACellFromStandingStill) {
  for (int i = 0; i < 12; ++i) {
    create("work");
    for (int n = 0; n < 2; ++n)
      good({"exec", "work", "--detach", "--", "sh", "-c", "while :; do dd if=/dev/zero of=/dev/null bs=100M count=1 2> /dev/null; done"});
    std::this_thread::sleep_for(std::chrono::milliseconds(100 + 7 * i));
    Called called = cell({"diff", "work"});
    ASSERT_EQ(called.code, 0) << called.describe();
    EXPECT_EQ(sh("work", "echo on"), "on\n");
    good({"rm", "work"});
  }
}

// Where no freezer may be used each of these waits for an answer of the spawner, and the cell is started anew between them.
TEST_F(CellFiles, WhatOneSpawnerDidNotAnswerIsNotAskedOfTheNext) {
  put("a", "a\n");
  create("work");
  for (int i = 0; i < 8; ++i) {
    sh("work", "echo " + std::to_string(i) + " > /work/a");
    EXPECT_NE(good({"diff", "work"}).find("a"), std::string::npos);
    good({"discard", "work", "a"});
    EXPECT_EQ(good({"diff", "work"}), "no changes\n");
    good({"pause", "work"});
    good({"resume", "work"});
    good({"snapshot", "work", "s" + std::to_string(i)});
    good({"stop", "work"});
    good({"start", "work"});
  }
}

TEST_F(CellFiles, ACellWithoutAProjectIsToldSo) {
  good({"create", "--name", "bare"});
  sh("bare", "echo x > /work/x");
  refused({"apply", "bare"}, "has no project to apply to");
  EXPECT_EQ(json({"diff", "bare"}).text("added"), "1");
}

TEST_F(CellFiles, APausedCellStaysPaused) {
  put("a", "a\n");
  create("work");
  settle();
  sh("work", "echo b > /work/a");
  good({"pause", "work"});
  EXPECT_EQ(json({"diff", "work"}).text("modified"), "1");
  good({"snapshot", "work", "one"});
  good({"apply", "work"});
  EXPECT_EQ(inspect("work").text("status"), "paused");
  good({"resume", "work"});
  EXPECT_EQ(sh("work", "cat /work/a"), "b\n");
}

}  // namespace
}  // namespace hotcell::testing
