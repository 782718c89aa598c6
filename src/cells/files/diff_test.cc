#include "cells/files/diff.h"

#include <gtest/gtest.h>

#include "cells/files/cells_testing.h"
#include "cells/files/text_diff.h"

namespace hotcell::cells {
namespace {

std::string kinds(const Diff& diff) {
  std::string out;
  for (const auto& c : diff.changes) out += cat(to_string(c.kind), " ", c.path, "\n");
  return out;
}

Diff diff_of(const Scratch& s, const DiffOptions& options = {}) {
  auto got = diff(s.layers(), options);
  EXPECT_TRUE(got.ok()) << got.error().message;
  return got.ok() ? std::move(got).value() : Diff();
}

std::string numbered(int from, int to) {
  std::string out;
  for (int i = from; i < to; ++i) out += cat("line ", i, "\n");
  return out;
}

TEST(Diff, WhatAnOverlayHoldsIsTold) {
  Scratch s;
  write_text(s / "lower/same", "same\n");
  write_text(s / "lower/touched", "touched\n");
  write_text(s / "lower/changed", "a\nb\nc\n");
  write_text(s / "lower/gone", "x\n");
  write_text(s / "lower/mode", "#!/bin/sh\n");
  write_text(s / "lower/folder/inner", "1\n");
  write_text(s / "lower/tofolder", "file\n");
  write_text(s / "lower/again/old", "old\n");
  write_text(s / "lower/again/kept", "kept\n");
  IN_CELL(s, "printf 'a\\nB\\nc\\n' > changed; rm gone; chmod +x mode; rm -r folder; rm tofolder; mkdir tofolder; "
             "touch touched; : >> same; echo new > new; mkdir empty; ln -s new link; "
             "rm -r again; mkdir again; echo fresh > again/fresh; echo kept > again/kept");
  auto got = diff_of(s);
  EXPECT_EQ(kinds(got), "added again/fresh\ndeleted again/old\nmodified changed\nadded empty\ndeleted folder\n"
                        "deleted folder/inner\ndeleted gone\nadded link\nmode mode\nadded new\ntype tofolder\n");
  EXPECT_EQ(got.lines_added, 4u);  // B, new, fresh, and one for the link; the mode has none
  auto at = [&](std::string_view path) {
    for (const auto& c : got.changes)
      if (c.path == path) return c;
    return Change();
  };
  EXPECT_EQ(at("changed").patch, "diff --git a/changed b/changed\n--- a/changed\n+++ b/changed\n@@ -1,3 +1,3 @@\n a\n-b\n+B\n c\n");
  EXPECT_EQ(at("mode").patch, "diff --git a/mode b/mode\nold mode 100644\nnew mode 100755\n");
  EXPECT_EQ(at("link").target, "new");
  EXPECT_EQ(at("tofolder").old_type, FileType::kFile);
}

TEST(Diff, OnlyWhatIsAskedFor) {
  Scratch s;
  write_text(s / "lower/d/x", "x\n");
  IN_CELL(s, "rm -r d; mkdir -p e/f; echo 1 > e/f/g; echo 2 > h");
  EXPECT_EQ(kinds(diff_of(s, {.paths = {"./e/"}})), "added e\nadded e/f\nadded e/f/g\n");
  EXPECT_EQ(kinds(diff_of(s, {.paths = {"d/x", "h"}})), "deleted d/x\nadded h\n");
  EXPECT_FALSE(diff(s.layers(), {.paths = {"../lower"}}).ok());
  EXPECT_FALSE(diff(s.layers(), {.paths = {"/etc"}}).ok());
}

TEST(Diff, WithoutAProjectAllIsAdded) {
  Scratch s;
  write_text(s / "upper/a/b", "1\n");
  auto got = diff({.lower = "", .upper = s / "upper"});
  ASSERT_OK(got);
  EXPECT_EQ(kinds(got.value()), "added a\nadded a/b\n");
}

TEST(Diff, ALinkInTheProjectIsNotFollowed) {
  Scratch s;
  write_text(s / "outside/secret", "secret\n");
  std::filesystem::create_symlink(s / "outside", s / "lower/way");
  // As a hostile upper folder could be: a folder where the project has a link.
  write_text(s / "upper/way/secret", "mine\n");
  auto got = diff_of(s);
  EXPECT_EQ(kinds(got), "type way\nadded way/secret\n");
  EXPECT_EQ(diff_patch(got).find("-secret"), std::string::npos);
}

TEST(Diff, BinaryAndLargeFilesHaveNoPatch) {
  Scratch s;
  write_text(s / "lower/large", "x\n");
  IN_CELL(s, "printf 'a\\0b' > binary; yes | head -c 2000000 > large");
  auto got = diff_of(s);
  ASSERT_EQ(got.changes.size(), 2u);
  EXPECT_TRUE(got.changes[0].binary);
  EXPECT_EQ(got.changes[0].patch_left_out, "binary");
  EXPECT_EQ(got.changes[1].patch_left_out, "too large");
  EXPECT_NE(diff_patch(got).find("# not in this patch: large (modified, too large)"), std::string::npos);
  auto small = diff_of(s, {.largest_text = 4_MiB, .most_patches = 1_KiB});
  EXPECT_EQ(small.changes[1].patch_left_out, "all patches together would be too large");
}

TEST(Diff, ClosedFoldersAreReadAndStayClosed) {
  Scratch s;
  write_text(s / "upper/closed/inner/file", "x\n");
  ::chmod((s / "upper/closed/inner/file").c_str(), 0);
  ::chmod((s / "upper/closed/inner").c_str(), 0);
  ::chmod((s / "upper/closed").c_str(), 0);
  auto got = diff_of(s);
  EXPECT_EQ(kinds(got), "added closed\nadded closed/inner\nadded closed/inner/file\n");
  EXPECT_EQ(got.changes.back().lines_added, 1u);
  struct stat st {};
  ::stat((s / "upper/closed").c_str(), &st);
  EXPECT_EQ(st.st_mode & 0777, 0u);
}

TEST(Diff, MoreChangesThanAllowedIsAnError) {
  Scratch s;
  IN_CELL(s, "touch a b c");
  auto got = diff(s.layers(), {.most_changes = 2});
  ASSERT_FALSE(got.ok());
  EXPECT_EQ(got.error().code, ErrorCode::kLimit);
}

TEST(Diff, JsonSaysNamesThatAreNoText) {
  Scratch s;
  IN_CELL(s, "printf x > $'bad\\xff'");
  auto json = diff_json(diff_of(s));
  EXPECT_NE(json.find("\"path_base64\":\"YmFk/w==\""), std::string::npos) << json;
  EXPECT_NE(json.find("\"added\":1"), std::string::npos);
}

// The patch, applied to a copy of the project by two other programs, gives the workspace as the cell sees it.
TEST(Diff, PatchAndGitAcceptIt) {
  Scratch s;
  write_text(s / "lower/changed", numbered(0, 100));
  write_text(s / "lower/no newline", "a\nb");
  write_text(s / "lower/now newline", "a\nb");
  write_text(s / "lower/gone", numbered(0, 5));
  write_text(s / "lower/emptied", "x\n");
  write_text(s / "lower/was empty", "");
  write_text(s / "lower/mode", "1\n2\n");
  write_text(s / "lower/folder/a", "1\n");
  write_text(s / "lower/folder/b", "2\n");
  write_text(s / "lower/crlf", "a\r\nb\r\n");
  std::filesystem::create_symlink("gone", s / "lower/link");
  write_text(s / "lower/becomes link", "text\n");
  IN_CELL(s, "sed -i -e 's/line 5$/five/' -e '/line 50/d' -e '90i new' changed; printf 'a\\nc' > 'no newline'; echo b >> 'now newline'; "
             "rm gone; : > emptied; echo y > 'was empty'; chmod +x mode; echo 3 >> mode; rm -r folder; "
             "printf 'a\\r\\nB\\r\\n' > crlf; ln -sf changed link; rm 'becomes link'; ln -s mode 'becomes link'; "
             "mkdir -p new/deep; echo n > new/deep/file; : > new/empty; printf 'ü\\n' > 'nämë \"q\"'; echo t > $'tab\\there'; "
             "printf '#!/bin/sh\\n' > run; chmod 755 run");
  auto patch = diff_patch(diff_of(s));
  write_text(s / "patch", patch);
  auto expected = s.in_cell("LC_ALL=C; find . \\( -type f -o -type l \\) -printf '%P|%y|%l|%m\\n' | sort; find . -type f -print0 | sort -z | xargs -0 sha256sum");
  for (std::string tool : {"git init -q . && git apply --whitespace=nowarn ../patch && rm -r .git", "patch -s -p1 < ../patch"}) {
    std::filesystem::remove_all(s / "copy");
    std::filesystem::copy(s / "lower", s / "copy", std::filesystem::copy_options::recursive | std::filesystem::copy_options::copy_symlinks);
    auto applied = Scratch::run(s / "copy", tool);
    ASSERT_EQ(applied.exit_code, 0) << applied.output << patch;
    auto got = Scratch::run(s / "copy", "LC_ALL=C; find . \\( -type f -o -type l \\) -printf '%P|%y|%l|%m\\n' | sort; find . -type f -print0 | sort -z | xargs -0 sha256sum");
    EXPECT_EQ(got.output, expected.output) << tool;
  }
}

// GNU patch removes files last, so this it cannot do; git can.
TEST(Diff, AFolderThatBecameAFileIsAcceptedByGit) {
  Scratch s;
  write_text(s / "lower/folder/a", "1\n");
  IN_CELL(s, "rm -r folder; echo file > folder");
  write_text(s / "patch", diff_patch(diff_of(s)));
  auto applied = Scratch::run(s / "lower", "git init -q . && git apply ../patch");
  ASSERT_EQ(applied.exit_code, 0) << applied.output;
  EXPECT_EQ(read_text(s / "lower/folder"), "file\n");
}

std::string rebuilt(std::string_view old_text, std::string_view new_text) {
  auto a = lines_of(old_text), b = lines_of(new_text);
  std::string out;
  std::uint32_t at = 0;
  for (const auto& e : edits_between(a, b)) {
    for (; at < e.a; ++at) out += a[at];
    for (std::uint32_t i = 0; i < e.added; ++i) out += b[e.b + i];
    at += e.removed;
  }
  for (; at < a.size(); ++at) out += a[at];
  return out;
}

TEST(TextDiff, AppliedToTheOldItGivesTheNew) {
  unsigned seed = 1;
  auto random = [&](unsigned n) { return (seed = seed * 1664525 + 1013904223) / 65536 % n; };
  for (int round = 0; round < 3000; ++round) {
    auto make = [&] {
      std::string text;
      for (unsigned i = random(30); i > 0; --i) text += cat(static_cast<char>('a' + random(1 + static_cast<unsigned>(round % 6))), "\n");
      if (random(4) == 0) text += "end";
      return text;
    };
    auto a = make(), b = make();
    ASSERT_EQ(rebuilt(a, b), b) << a << "---\n" << b;
  }
}

TEST(TextDiff, IsAsShortAsCanBe) {
  // The textbook case: ABCABBA to CBABAC takes five edits.
  auto a = lines_of("A\nB\nC\nA\nB\nB\nA\n"), b = lines_of("C\nB\nA\nB\nA\nC\n");
  std::uint32_t edits = 0;
  for (const auto& e : edits_between(a, b)) edits += e.added + e.removed;
  EXPECT_EQ(edits, 5u);
}

TEST(TextDiff, TextsWithNothingInCommonEnd) {
  // Same lines, another order: the worst there is. Without a bound this takes hours.
  std::string a, b;
  unsigned seed = 7;
  for (int i = 0; i < 200'000; ++i) {
    a += cat((seed = seed * 1664525 + 1013904223) / 65536 % 50, "\n");
    b += cat((seed = seed * 1664525 + 1013904223) / 65536 % 50, "\n");
  }
  EXPECT_EQ(rebuilt(a, b), b);
}

}  // namespace
}  // namespace hotcell::cells
