#include "cells/files/snapshot.h"

#include <gtest/gtest.h>
#include <signal.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/xattr.h>

#include "base/sha256.h"
#include "cells/files/beside.h"
#include "cells/files/cells_testing.h"
#include "cells/files/diff.h"
#include "cells/files/snapshot_archive.h"
#include "cells/files/snapshot_manifest.h"
#include "cells/files/steps.h"
#include "sys/fault.h"
#include "sys/file.h"

namespace hotcell::cells {
namespace {

using Kind = SavedEntry::Kind;

std::string seen_in_cell(const Scratch& s) {
  return s.in_cell("LC_ALL=C; find . -mindepth 1 -printf '%P|%y|%m|%U:%G|%n|%l|%T@\\n' | sort; find . -type f -print0 | sort -z | xargs -0r sha256sum").output;
}

void make_project(Scratch& s) {
  write_text(s / "lower/kept", "kept\n");
  write_text(s / "lower/changed", "old\n");
  write_text(s / "lower/gone", "gone\n");
  write_text(s / "lower/folder/inner/file", "1\n");
  write_text(s / "lower/again/old", "2\n");
  s.project_is_as_it_was();
}
constexpr const char* kEverything =
    "echo new > changed; rm gone; rm -r folder; rm -r again; mkdir again; echo fresh > again/fresh; "          // deletions, an opaque folder
    "mkdir -p .hidden/.deeper; echo h > .hidden/.deeper/.file; "                                                 // hidden
    "head -c 3000000 /dev/urandom > large; "                                                                     // more than 1 MiB
    "echo x > tool; chmod 751 tool; mkdir closed; echo c > closed/c; chmod 500 closed; chmod 1770 again; "       // modes
    "ln -s fresh again/link; ln -s /nowhere/at/all dangling; echo l > h1; ln h1 h2; mkfifo pipe; "               // links
    "truncate -s 64M sparse; printf middle | dd of=sparse bs=1 seek=33554432 conv=notrunc status=none; "         // holes
    "truncate -s 5M hole; : > empty; printf 'a\\nb' > \"$(printf 'name\\nwith \\377 bytes')\"; "
    "python3 -c 'import os; os.setxattr(\"tool\", \"user.note\", b\"v\\0w\"); os.setxattr(\"again\", \"user.f\", b\"\")'; "
    "touch -d '2001-02-03 04:05:06.789' tool; touch -h -d '2002-02-03 04:05:06' dangling; touch -d '2003-01-01' closed";

std::string error_of(const Result<SnapshotInfo>& r) { return r.ok() ? "" : r.error().message; }

TEST(Snapshot, EverythingSurvives) {
  Scratch s;
  make_project(s);
  IN_CELL(s, kEverything);
  const std::string in_cell = seen_in_cell(s), upper = tree_listing(s / "upper");
  auto written = write_snapshot(s / "upper", s / "state/one.snap", "{\"a\": 1}");
  ASSERT_OK(written);
  EXPECT_GT(written.value().entries, 20u);
  EXPECT_EQ(written.value().left_out, std::vector<std::string>());
  EXPECT_LT(written.value().content.n, 3'200'000u);  // holes are not in it
  EXPECT_EQ(tree_listing(s / "upper"), upper);
  ASSERT_OK(verify_snapshot(s / "state/one.snap"));

  // Whatever came later goes: files that were not there are removed, those that were come back.
  IN_CELL(s, "echo later > later; rm large; mkdir folder; echo again > gone; chmod 700 tool; rm -rf .hidden");
  ASSERT_NE(tree_listing(s / "upper"), upper);
  auto restored = restore_snapshot(s / "state/one.snap", s / "upper");
  ASSERT_OK(restored);
  EXPECT_EQ(restored.value().meta, "{\"a\": 1}");
  EXPECT_TRUE(restored.value().owners_kept);
  EXPECT_EQ(tree_listing(s / "upper"), upper);
  ASSERT_OK(remove_tree(s / "work"));
  std::filesystem::create_directory(s / "work");
  EXPECT_EQ(seen_in_cell(s), in_cell);
  struct stat sparse {}, hole {}, a {}, b {};
  ASSERT_EQ(::stat((s / "upper/sparse").c_str(), &sparse), 0);
  EXPECT_EQ(sparse.st_size, 64 << 20);
  EXPECT_LT(sparse.st_blocks * 512, 1 << 20);
  ASSERT_EQ(::stat((s / "upper/hole").c_str(), &hole), 0);
  EXPECT_EQ(hole.st_blocks, 0);
  ASSERT_EQ(::stat((s / "upper/h1").c_str(), &a), 0);
  ASSERT_EQ(::stat((s / "upper/h2").c_str(), &b), 0);
  EXPECT_EQ(a.st_ino, b.st_ino);
  EXPECT_EQ(Scratch::run(s / "", "ls -d upper* state/*").output, "state/one.snap\nupper\n");
}

TEST(Snapshot, OwnersSurviveWhereTheyMay) {
  Scratch s;
  write_text(s / "upper/file", "x");
  if (::geteuid() == 0) {
    ASSERT_EQ(::chown((s / "upper/file").c_str(), 12345, 54321), 0);
    ASSERT_OK(write_snapshot(s / "upper", s / "state/one.snap", ""));
  } else {
    // What somebody else's snapshot says of owners is not ours to give.
    ASSERT_OK(write_snapshot(s / "upper", s / "state/plain.snap", ""));
    auto in = sys::open((s / "state/plain.snap").c_str(), O_RDONLY);
    auto archive = ArchiveReader::open(in.value().get());
    ASSERT_TRUE(archive.ok() && archive.value().next().ok());
    std::string text(1 << 16, '\0');
    text.resize(archive.value().read(text.data(), text.size()).value());
    auto manifest = parse_manifest(text, {});
    ASSERT_OK(manifest);
    manifest.value().entries[1].uid = 0;
    auto out = sys::open((s / "state/one.snap").c_str(), O_RDWR | O_CREAT, 0600);
    auto writer = ArchiveWriter::create(out.value().get());
    text = manifest_text(manifest.value());
    ASSERT_TRUE(writer.value().begin({"manifest", text.size()}).ok() && writer.value().add(text).ok() &&
                writer.value().begin({"tree/file", 1}).ok() && writer.value().add("x").ok() && writer.value().finish(0).ok());
  }
  ASSERT_OK(remove_tree(s / "upper"));
  auto restored = restore_snapshot(s / "state/one.snap", s / "upper");
  ASSERT_OK(restored);
  struct stat st {};
  ASSERT_EQ(::stat((s / "upper/file").c_str(), &st), 0);
  if (::geteuid() == 0) EXPECT_EQ(std::pair(st.st_uid, st.st_gid), std::pair(12345u, 54321u));
  else EXPECT_EQ(st.st_uid, ::geteuid());
  EXPECT_EQ(restored.value().owners_kept, ::geteuid() == 0);
}

TEST(Snapshot, AnyTarCanReadIt) {
  Scratch s;
  write_text(s / "upper/a/b", "hello\n");
  ASSERT_EQ(Scratch::run(s / "upper", "head -c 100000000 /dev/zero > zeros").exit_code, 0);  // with a frame of nothing behind it
  ASSERT_OK(write_snapshot(s / "upper", s / "state/one.snap", ""));
  auto read = Scratch::run(s / "state", "mkdir out; tar -C out --zstd -xf one.snap; cat out/tree/a/b; stat -c %s out/tree/zeros; head -1 out/manifest");
  EXPECT_EQ(read.output, "hello\n100000000\nhotcell-snapshot 1\n");
}

TEST(Snapshot, DoesNotOverwriteAndLeavesNothingWhenItFails) {
  Scratch s;
  write_text(s / "upper/a", std::string(300000, 'a'));
  ASSERT_OK(write_snapshot(s / "upper", s / "state/one.snap", "first"));
  auto again = write_snapshot(s / "upper", s / "state/one.snap", "second");
  ASSERT_FALSE(again.ok());
  EXPECT_NE(again.error().message.find("is there already"), std::string::npos);
  EXPECT_EQ(snapshot_info(s / "state/one.snap").value().meta, "first");
  for (const char* what : {"write", "fsync", "openat2"}) {
    sys::arm_fault(what, ENOSPC, 1);
    auto failed = write_snapshot(s / "upper", s / "state/two.snap", "");
    const bool given = sys::fault_given();
    sys::arm_fault(nullptr, 0);
    ASSERT_TRUE(given) << what;
    ASSERT_FALSE(failed.ok()) << what;
    EXPECT_EQ(failed.error().err, ENOSPC) << what;
    EXPECT_EQ(Scratch::run(s / "state", "ls").output, "one.snap\n") << what;
  }
}

TEST(Snapshot, SocketsAreLeftOutAndSaid) {
  Scratch s;
  ASSERT_EQ(Scratch::run(s / "upper", "python3 -c 'import socket; socket.socket(socket.AF_UNIX).bind(\"sock\")'").exit_code, 0);
  auto written = write_snapshot(s / "upper", s / "state/one.snap", "");
  ASSERT_OK(written);
  EXPECT_EQ(written.value().left_out, std::vector<std::string>{"sock: is a socket"});
  EXPECT_EQ(snapshot_info(s / "state/one.snap").value().left_out, std::vector<std::string>{"sock: is a socket"});
}

// ---- what a hostile archive may say

struct Hostile {
  std::string manifest;
  std::vector<std::pair<std::string, std::string>> members;
};
SavedEntry entry(Kind kind, std::string path, std::string target = {}) {
  SavedEntry e;
  e.kind = kind;
  e.path = std::move(path);
  e.mode = 0755;
  e.uid = ::geteuid();
  e.gid = ::getegid();
  e.target = std::move(target);
  return e;
}
SavedEntry file(std::string path, std::string_view bytes) {
  SavedEntry e = entry(Kind::kFile, std::move(path));
  e.size = bytes.size();
  e.sha256 = sha256_hex(bytes);
  return e;
}
Manifest manifest_with(std::vector<SavedEntry> entries) {
  Manifest m;
  m.entries.push_back(entry(Kind::kRoot, ""));
  for (auto& e : entries) {
    m.content += e.stored();
    m.entries.push_back(std::move(e));
  }
  return m;
}
void write_archive(const std::string& path, const Hostile& h) {
  auto out = sys::open(path.c_str(), O_RDWR | O_CREAT | O_TRUNC, 0600);
  ASSERT_OK(out);
  auto writer = ArchiveWriter::create(out.value().get());
  ASSERT_OK(writer);
  ASSERT_OK(writer.value().begin({"manifest", h.manifest.size()}));
  ASSERT_OK(writer.value().add(h.manifest));
  for (const auto& [name, bytes] : h.members) {
    ASSERT_OK(writer.value().begin({name, bytes.size()}));
    ASSERT_OK(writer.value().add(bytes));
  }
  ASSERT_OK(writer.value().finish(0));
}

class HostileSnapshot : public testing::Test {
 protected:
  void SetUp() override {
    write_text(s_ / "upper/mine", "mine\n");
    write_text(s_ / "outside/secret", "secret\n");
  }
  // Refused with these words by restore and by verify; nothing is written anywhere.
  void refused(const Hostile& h, std::string_view why, const SnapshotLimits& limits = {}) {
    write_archive(s_ / "state/evil.snap", h);
    refused_file(why, limits);
  }
  void refused_file(std::string_view why, const SnapshotLimits& limits = {}) {
    const std::string before = tree_listing(s_ / "");
    auto restored = restore_snapshot(s_ / "state/evil.snap", s_ / "upper", limits);
    EXPECT_FALSE(restored.ok());
    EXPECT_NE(error_of(restored).find(why), std::string::npos) << error_of(restored) << "\nexpected: " << why;
    EXPECT_FALSE(verify_snapshot(s_ / "state/evil.snap", limits).ok());
    EXPECT_EQ(tree_listing(s_ / ""), before);
  }
  void refused(Manifest m, std::string_view why, const SnapshotLimits& limits = {}) {
    Hostile h{manifest_text(m), {}};
    for (const auto& e : m.entries)
      if (e.kind == Kind::kFile) h.members.emplace_back(member_name(e), std::string(e.stored(), 'x'));
    refused(h, why, limits);
  }
  Scratch s_;
};

// The control of all that follow: what differs from it is what is refused.
TEST_F(HostileSnapshot, AnHonestOneMadeTheSameWayIsTaken) {
  write_archive(s_ / "state/good.snap", {manifest_text(manifest_with({entry(Kind::kFolder, "d"), file("d/f", "www"), entry(Kind::kHardLink, "g", "d/f")})), {{"tree/d/f", "www"}}});
  ASSERT_OK(verify_snapshot(s_ / "state/good.snap"));
  ASSERT_OK(restore_snapshot(s_ / "state/good.snap", s_ / "upper"));
  EXPECT_EQ(read_text(s_ / "upper/d/f"), "www");
  EXPECT_EQ(read_text(s_ / "upper/g"), "www");
  EXPECT_FALSE(std::filesystem::exists(s_ / "upper/mine"));
}

TEST_F(HostileSnapshot, ZipSlipIsRefused) {
  for (const char* path : {"../outside/new", "a/../../outside/new", "/tmp/hotcell-evil", "..", ".", "a//b", "a/./b", "a/"})
    refused(manifest_with({entry(Kind::kFolder, "a"), file(path, "x")}), "no path of a workspace");
  refused(manifest_with({file(std::string("a\0b", 3), "x")}), "no path of a workspace");
  // The names in the archive itself lead nowhere either.
  refused({manifest_text(manifest_with({file("a", "x")})), {{"tree/../../outside/new", "x"}}}, "not what the manifest has next");
  refused({manifest_text(manifest_with({file("a", "x")})), {{"/etc/evil", "x"}}}, "not what the manifest has next");
}

TEST_F(HostileSnapshot, WritingThroughASymlinkIsRefused) {
  refused(manifest_with({entry(Kind::kSymlink, "link", s_ / "outside"), file("link/new", "x")}), "in no folder of this snapshot");
  refused(manifest_with({entry(Kind::kSymlink, "link", "../outside/secret"), file("link", "x")}), "is there twice");
  refused(manifest_with({file("f", "x"), file("f/g", "x")}), "in no folder of this snapshot");
  refused(manifest_with({entry(Kind::kDeleted, "w"), file("w/g", "x")}), "in no folder of this snapshot");
}

TEST_F(HostileSnapshot, AHardLinkToTheOutsideIsRefused) {
  for (std::string target : {s_ / "outside/secret", std::string("../outside/secret"), std::string("later"), std::string("d")})
    refused(manifest_with({entry(Kind::kFolder, "d"), entry(Kind::kHardLink, "h", target), file("later", "x")}), "a second name of nothing");
}

TEST_F(HostileSnapshot, DevicesAndOtherKindsAreRefused) {
  for (const char* kind : {"c", "b", "D", "n", "ff", ""})
    refused({cat("hotcell-snapshot 1\ncreated 0\nmeta \\e\ncontent 0\nentries 2\n\nr - \\e 755 0 0 0\n", kind, " - dev 666 0 0 0\nend\n"), {}}, "not understood");
}

TEST_F(HostileSnapshot, RightsAreNotGiven) {
  SavedEntry e = file("f", "x");
  e.xattrs = {{"security.capability", "x"}};
  refused(manifest_with({e}), "no attribute that is kept");
  e.xattrs = {{"user.overlay.redirect", "/etc"}};
  refused(manifest_with({e}), "no attribute that is kept");
  e.xattrs = {{"trusted.overlay.opaque", "y"}};
  refused(manifest_with({e}), "no attribute that is kept");
  e.xattrs.clear();
  e.mode = 06755;
  write_archive(s_ / "state/setid.snap", {manifest_text(manifest_with({e})), {{"tree/f", "x"}}});
  auto restored = restore_snapshot(s_ / "state/setid.snap", s_ / "upper");
  ASSERT_OK(restored);
  EXPECT_EQ(restored.value().left_out, std::vector<std::string>{"f: set-id bits"});
  struct stat st {};
  ASSERT_EQ(::stat((s_ / "upper/f").c_str(), &st), 0);
  EXPECT_EQ(st.st_mode & 07777, 0755u);
}

TEST_F(HostileSnapshot, OtherBytesOrOtherMembersAreRefused) {
  const Manifest m = manifest_with({file("a", "www"), file("b", "yyy")});
  refused({manifest_text(m), {{"tree/a", "www"}, {"tree/b", "yyz"}}}, "the bytes are not those of the manifest");
  refused({manifest_text(m), {{"tree/a", "www"}}}, "b is missing");
  refused({manifest_text(m), {{"tree/b", "yyy"}, {"tree/a", "www"}}}, "not what the manifest has next");
  refused({manifest_text(m), {{"tree/a", "www"}, {"tree/b", "yyyy"}}}, "not what the manifest has next");
  refused({manifest_text(m), {{"tree/a", "www"}, {"tree/b", "yyy"}, {"tree/c", "zzz"}}}, "tree/c is not in the manifest");
  refused({manifest_text(m), {{"sparse/a", "www"}, {"tree/b", "yyy"}}}, "not what the manifest has next");
  refused({"", {}}, "no manifest of a snapshot");
  refused({"hotcell-snapshot 2\n", {}}, "no manifest of a snapshot");
  std::string cut = manifest_text(m);
  refused({cut.substr(0, cut.size() - 4), {{"tree/a", "www"}, {"tree/b", "yyy"}}}, "cut off");
  refused({cut + "f - c 755 0 0 0 0\n", {}}, "behind its end");
}

TEST_F(HostileSnapshot, BombsAreRefusedBeforeTheyAreWritten) {
  SnapshotLimits few;
  few.entries = 3;
  refused(manifest_with({file("a", "x"), file("b", "x"), file("c", "x"), file("d", "x")}), "more than 3 entries", few);
  SnapshotLimits small;
  small.bytes = Bytes{10};
  refused(manifest_with({file("a", "zzzzzz"), file("b", "zzzzzz")}), "more than 10 bytes of content", small);
  SnapshotLimits flat;
  flat.apparent = Bytes{1 << 20};
  SavedEntry hole = entry(Kind::kFile, "hole");
  hole.size = 2 << 20;
  hole.sparse = true;
  hole.sha256 = sha256_hex("");
  refused(manifest_with({hole}), "holes counted", flat);
  SnapshotLimits short_text;
  short_text.manifest = Bytes{64};
  refused(manifest_with({file("a", "x")}), "the manifest is longer", short_text);
  // 128 MiB of nothing in a few kilobytes.
  Hostile h{manifest_text(manifest_with({file("a", std::string(128 << 20, 'x'))})), {{"tree/a", std::string(128 << 20, 'x')}}};
  refused(h, "a bomb");
  // Sizes that overflow when they are added.
  SavedEntry huge = entry(Kind::kFile, "huge");
  huge.sha256 = sha256_hex("");
  huge.sparse = true;
  huge.size = INT64_MAX;
  SavedEntry other = huge;
  other.path = "other";
  refused(manifest_with({huge, other}), "holes counted");
}

TEST_F(HostileSnapshot, PartsOfASparseFileStayInIt) {
  for (auto segments : {std::vector<Segment>{{0, 11}}, {{5, 6}, {4, 1}}, {{11, 1}}, {{UINT64_MAX, 2}}, {{2, UINT64_MAX}}, {{3, 0}}, {{0, 3}, {2, 2}}}) {
    SavedEntry e = entry(Kind::kFile, "f");
    e.size = 10;
    e.sparse = true;
    e.sha256 = sha256_hex("");
    e.segments = segments;
    Manifest m = manifest_with({e});
    m.content = 0;
    refused({manifest_text(m), {{"sparse/f", "x"}}}, "no part of the file");
  }
}

// Zeros compress to nothing; an honest snapshot of many of them is no bomb.
TEST(Snapshot, WhatCompressesWellCanBeRestored) {
  Scratch s;
  ASSERT_EQ(Scratch::run(s / "upper", "head -c 100000000 /dev/zero > zeros").exit_code, 0);
  auto written = write_snapshot(s / "upper", s / "state/one.snap", "");
  ASSERT_OK(written);
  EXPECT_LT(written.value().size.n, 1u << 20);
  ASSERT_OK(remove_tree(s / "upper"));
  ASSERT_OK(restore_snapshot(s / "state/one.snap", s / "upper"));
  EXPECT_EQ(std::filesystem::file_size(s / "upper/zeros"), 100000000u);
}

class DamagedSnapshot : public testing::Test {
 protected:
  void SetUp() override {
    write_text(s_ / "upper/text", "some text\n");
    write_text(s_ / "upper/d/noise", Scratch::run("/", "head -c 20000 /dev/urandom").output);
    std::filesystem::create_symlink("text", s_ / "upper/link");
    ASSERT_OK(write_snapshot(s_ / "upper", s_ / "state/good.snap", "meta"));
    bytes_ = read_text(s_ / "state/good.snap");
    write_text(s_ / "upper/now", "what is there now\n");
    before_ = tree_listing(s_ / "upper");
  }
  void refused(const std::string& bytes, const std::string& how) {
    write_text(s_ / "state/bad.snap", bytes);
    auto restored = restore_snapshot(s_ / "state/bad.snap", s_ / "upper");
    ASSERT_FALSE(restored.ok()) << how;
    ASSERT_FALSE(verify_snapshot(s_ / "state/bad.snap").ok()) << how;
    ASSERT_EQ(Scratch::run(s_ / "", "ls").output, "lower\nmerged\nstate\nupper\nwork\n") << how;
  }
  Scratch s_;
  std::string bytes_, before_;
};

TEST_F(DamagedSnapshot, AFlippedBitAnywhereIsRefused) {
  ASSERT_GT(bytes_.size(), 20000u);
  // Every byte of the ends, and many in between.
  for (std::size_t at = 0; at < bytes_.size(); at += at < 300 || at + 120 > bytes_.size() ? 1 : 97) {
    std::string bad = bytes_;
    bad[at] = static_cast<char>(bad[at] ^ (1 << (at % 8)));
    refused(bad, cat("bit flipped at ", at));
  }
  EXPECT_EQ(tree_listing(s_ / "upper"), before_);
  // Control: the same file without the flip.
  ASSERT_OK(restore_snapshot(s_ / "state/good.snap", s_ / "upper"));
  EXPECT_FALSE(std::filesystem::exists(s_ / "upper/now"));
}

TEST_F(DamagedSnapshot, ACutOffOneIsRefusedAtAnyLength) {
  for (std::size_t length = 0; length < bytes_.size(); length += length < 100 || length + 100 > bytes_.size() ? 1 : 211)
    refused(bytes_.substr(0, length), cat("cut to ", length));
  refused(bytes_ + "x", "something behind it");
  refused(bytes_ + bytes_, "twice");
  EXPECT_EQ(tree_listing(s_ / "upper"), before_);
}

TEST_F(DamagedSnapshot, WhatIsNoFileIsRefused) {
  EXPECT_FALSE(restore_snapshot(s_ / "state/none.snap", s_ / "upper").ok());
  EXPECT_FALSE(restore_snapshot(s_ / "state", s_ / "upper").ok());
  ASSERT_EQ(::mkfifo((s_ / "state/fifo.snap").c_str(), 0600), 0);
  EXPECT_FALSE(restore_snapshot(s_ / "state/fifo.snap", s_ / "upper").ok());
  EXPECT_EQ(tree_listing(s_ / "upper"), before_);
}

TEST(Snapshot, AFullDiskDuringRestoreLeavesWhatWasThere) {
  Scratch s;
  write_text(s / "upper/a", "a");
  write_text(s / "upper/b", "b");
  ASSERT_OK(write_snapshot(s / "upper", s / "state/one.snap", ""));
  write_text(s / "upper/c", "c");
  const std::string before = tree_listing(s / "upper");
  for (const char* what : {"write", "syncfs", "rename", "openat2"}) {
    sys::arm_fault(what, ENOSPC, 1);
    auto restored = restore_snapshot(s / "state/one.snap", s / "upper");
    sys::arm_fault(nullptr, 0);
    ASSERT_FALSE(restored.ok()) << what;
    EXPECT_EQ(restored.error().err, ENOSPC) << what << ": " << restored.error().message;
    EXPECT_EQ(tree_listing(s / "upper"), before) << what;
    EXPECT_EQ(Scratch::run(s / "", "ls -d upper*").output, "upper\n") << what;
  }
}

int* g_steps = nullptr;  // shared with the child
int g_die_at = 0;

// kill -9 before each step of `task` in turn, and `then` looks at what is left. The last round survives.
template <typename Task, typename Then>
int killed_at_each_step(Task task, Then then) {
  g_steps = static_cast<int*>(::mmap(nullptr, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0));
  bool survived = false;
  for (g_die_at = 1; !survived && g_die_at < 300; ++g_die_at) {
    Scratch s;
    make_project(s);
    EXPECT_EQ(s.in_cell("echo new > changed; rm gone; mkdir d; echo 1 > d/1; echo 2 > d/2; ln d/1 d/3").exit_code, 0);
    pid_t pid = ::fork();
    if (pid == 0) {
      *g_steps = 0;
      set_step_hook([] {
        if (++*g_steps == g_die_at) ::raise(SIGKILL);
      });
      ::_exit(task(s) ? 0 : 1);
    }
    int status = 0;
    ::waitpid(pid, &status, 0);
    survived = WIFEXITED(status);
    if (survived) {
      EXPECT_EQ(WEXITSTATUS(status), 0);
    }
    then(s, survived);
  }
  ::munmap(g_steps, 4096);
  EXPECT_TRUE(survived);
  return g_die_at - 2;
}

TEST(Snapshot, KilledDuringRestoreLeavesOldOrNew) {
  // The child makes the snapshot before the steps count; what is restored differs from what is there.
  int old_seen = 0, new_seen = 0;
  const int steps = killed_at_each_step(
      [](Scratch& s) {
        set_step_hook(nullptr);
        if (!write_snapshot(s / "upper", s / "state/one.snap", "").ok()) return false;
        write_text(s / "state/new", tree_listing(s / "upper"));
        write_text(s / "upper/later", "later\n");
        std::filesystem::remove(s / "upper/changed");
        write_text(s / "state/old", tree_listing(s / "upper"));
        set_step_hook([] {
          if (++*g_steps == g_die_at) ::raise(SIGKILL);
        });
        return restore_snapshot(s / "state/one.snap", s / "upper").ok();
      },
      [&](Scratch& s, bool survived) {
        const std::string now = tree_listing(s / "upper"), old_tree = read_text(s / "state/old"), new_tree = read_text(s / "state/new");
        ASSERT_NE(old_tree, new_tree);
        ASSERT_TRUE(now == old_tree || now == new_tree) << "killed at step " << g_die_at << "\n" << now;
        ++(now == old_tree ? old_seen : new_seen);
        if (survived) {
          EXPECT_EQ(now, new_tree);
        }
        ASSERT_OK(clean_leftovers(s / "upper"));
        EXPECT_EQ(Scratch::run(s / "", "ls -d upper*").output, "upper\n");
        EXPECT_EQ(tree_listing(s / "upper"), now);
      });
  EXPECT_GT(steps, 8);
  EXPECT_GT(old_seen, 5);
  EXPECT_GT(new_seen, 1);
}

TEST(Snapshot, KilledWhileWritingLeavesAWholeOneOrNone) {
  int none = 0, whole = 0;
  killed_at_each_step([](Scratch& s) { return write_snapshot(s / "upper", s / "state/one.snap", "").ok(); },
                      [&](Scratch& s, bool survived) {
                        const bool there = std::filesystem::exists(s / "state/one.snap");
                        EXPECT_EQ(verify_snapshot(s / "state/one.snap").ok(), there);
                        EXPECT_TRUE(there || !survived);
                        ++(there ? whole : none);
                        ASSERT_OK(remove_old_snapshots(s / "state", {}, base_time_now()));
                        EXPECT_EQ(Scratch::run(s / "state", "ls").output, there ? "one.snap\n" : "");
                      });
  EXPECT_GT(none, 2);
  EXPECT_GT(whole, 1);
}

TEST(Copy, KilledAtAnyStepItIsThereWholeOrNot) {
  int none = 0, whole = 0;
  killed_at_each_step([](Scratch& s) { return copy_upper(s / "upper", s / "copied").ok(); },
                      [&](Scratch& s, bool survived) {
                        const bool there = std::filesystem::exists(s / "copied");
                        EXPECT_TRUE(!there || tree_listing(s / "copied") == tree_listing(s / "upper"));
                        EXPECT_TRUE(there || !survived);
                        ++(there ? whole : none);
                        ASSERT_OK(clean_leftovers(s / "copied"));
                        EXPECT_EQ(Scratch::run(s / "", "ls -d copied* 2> /dev/null || true").output, there ? "copied\n" : "");
                      });
  EXPECT_GT(none, 5);
  EXPECT_GE(whole, 1);
}

TEST(Snapshot, ListedNewestFirstAndRemovedByAgeAndNumber) {
  Scratch s;
  write_text(s / "upper/a", "a");
  for (const char* name : {"one", "two", "three"}) {
    ASSERT_OK(write_snapshot(s / "upper", cat(s / "state", "/", name, ".snap"), name));
    ::usleep(2000);
  }
  write_text(s / "state/noise.snap", "no snapshot");
  write_text(s / "state/other", "something else");
  auto listed = list_snapshots(s / "state");
  ASSERT_OK(listed);
  std::string names;
  for (const auto& i : listed.value()) names += i.meta + " ";
  EXPECT_EQ(names, "three two one ");
  auto removed = remove_old_snapshots(s / "state", {.max_age = std::chrono::seconds(0), .keep = 2}, base_time_now());
  ASSERT_OK(removed);
  EXPECT_EQ(removed.value(), std::vector<std::string>{s / "state/one.snap"});
  removed = remove_old_snapshots(s / "state", {.max_age = std::chrono::hours(1), .keep = 0}, base_time_now() + std::chrono::hours(2));
  ASSERT_OK(removed);
  EXPECT_EQ(removed.value().size(), 2u);
  EXPECT_EQ(Scratch::run(s / "state", "ls").output, "noise.snap\nother\n");
}

// A temporary file is another writer's while it holds its lock.
TEST(Snapshot, OneInTheMakingIsNotSwept) {
  Scratch s;
  write_text(s / "upper/a", "a");
  const std::string temporary = temporary_name(s / "state/x.snap", "snapshot");
  write_text(temporary, "half");
  auto held = sys::open(temporary.c_str(), O_RDONLY);
  ASSERT_OK(held);
  ASSERT_EQ(::flock(held.value().get(), LOCK_EX), 0);
  ASSERT_OK(remove_old_snapshots(s / "state", {}, base_time_now()));
  EXPECT_TRUE(std::filesystem::exists(temporary));
  held.value().reset();
  ASSERT_OK(remove_old_snapshots(s / "state", {}, base_time_now()));
  EXPECT_FALSE(std::filesystem::exists(temporary));
}

}  // namespace
}  // namespace hotcell::cells
