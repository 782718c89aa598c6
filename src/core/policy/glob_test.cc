#include "core/policy/glob.h"

#include <gtest/gtest.h>

#include <chrono>

namespace hotcell {
namespace {

using namespace std::string_view_literals;

TEST(Glob, StarAndQuestionMarkNeverCrossASlash) {
  EXPECT_TRUE(glob_match("/a/*.pem", "/a/x.pem"));
  EXPECT_FALSE(glob_match("/a/*.pem", "/a/b/x.pem"));
  EXPECT_FALSE(glob_match("/a/*", "/a"));
  EXPECT_TRUE(glob_match("/a/?", "/a/x"));
  EXPECT_FALSE(glob_match("/a?b", "/a/b"));
  EXPECT_FALSE(glob_match("/a/?", "/a/"));
  EXPECT_FALSE(glob_match("/a[!x]b", "/a/b"));
}

TEST(Glob, DoubleStarCrossesAnyNumber) {
  EXPECT_TRUE(glob_match("/home/**/.ssh", "/home/.ssh"));
  EXPECT_TRUE(glob_match("/home/**/.ssh", "/home/a/b/c/.ssh"));
  EXPECT_FALSE(glob_match("/home/**/.ssh", "/home/a/.sshx"));
  EXPECT_FALSE(glob_match("/home/**/.ssh", "/homes/a/.ssh"));
  EXPECT_TRUE(glob_match("/a/**/b/**/c", "/a/x/b/b/y/c"));
  EXPECT_TRUE(glob_match("/a/**/b/*/c", "/a/b/x/b/y/c"));
  EXPECT_FALSE(glob_match("/a/**/b/*/c", "/a/b/x/y/c"));
}

TEST(Glob, ATrailingDoubleStarIsWhatLiesInside) {
  EXPECT_TRUE(glob_match("/s/**", "/s/x"));
  EXPECT_TRUE(glob_match("/s/**", "/s/x/y"));
  EXPECT_FALSE(glob_match("/s/**", "/s"));
  EXPECT_FALSE(glob_match("/s/**", "/sx/y"));
}

TEST(Glob, RelativePatternsStartAtAnyDepth) {
  EXPECT_TRUE(glob_match("*.key", "/x.key"));
  EXPECT_TRUE(glob_match("*.key", "/a/b/x.key"));
  EXPECT_TRUE(glob_match("**/.env", "/.env"));
  EXPECT_TRUE(glob_match("**/.env", "/a/b/.env"));
  EXPECT_FALSE(glob_match("**/.env", "/a/b/x.env"));
  EXPECT_TRUE(glob_match("secrets/**", "/p/secrets/a/b"));
  EXPECT_FALSE(glob_match("secrets/**", "/p/secretss/a"));
}

TEST(Glob, SetsAndTheirNegation) {
  EXPECT_TRUE(glob_match("/[a-c]x", "/bx"));
  EXPECT_FALSE(glob_match("/[a-c]x", "/dx"));
  EXPECT_TRUE(glob_match("/[!a-c]x", "/dx"));
  EXPECT_FALSE(glob_match("/[!a-c]x", "/ax"));
  EXPECT_TRUE(glob_match("/[ab-]", "/-"));
  EXPECT_TRUE(glob_match("/*[0-9]", "/ab12"));
  EXPECT_TRUE(glob_match("/[а-я]", "/ж"));
  EXPECT_FALSE(glob_match("/[abc", "/a"));
}

TEST(Glob, DotsAndOddBytesAreNoHoles) {
  EXPECT_TRUE(glob_match("/a/*", "/a/.hidden"));
  EXPECT_TRUE(glob_match("/a/?", "/a/é"));
  EXPECT_TRUE(glob_match("/a/?", "/a/\xff"));
  EXPECT_TRUE(glob_match("*.key", "/a/\xff\xfe.key"));
  EXPECT_TRUE(glob_match("/a/*z", "/a/\xe9z"));
  EXPECT_TRUE(glob_match("/a/*", "/a/x\ny"));
}

TEST(Glob, WhatIsDeniedTakesEverythingBelowAlong) {
  EXPECT_TRUE(glob_covers("**/.ssh", "/home/x/.ssh/id_rsa"));
  EXPECT_TRUE(glob_covers("/data", "/data"));
  EXPECT_TRUE(glob_covers("/data", "/data/x"));
  EXPECT_FALSE(glob_covers("/data", "/database"));
  EXPECT_FALSE(glob_covers("**/.ssh", "/home/x"));
}

TEST(Glob, HostilePatternsCostNoMoreThanTheProductOfTheLengths) {
  std::string pattern = "/", deep = "/**", path, name = "/";
  for (int i = 0; i < 500; ++i) pattern += "a*";
  for (int i = 0; i < 200; ++i) deep += "/a/**";
  for (int i = 0; i < 2000; ++i) name += 'a', path += "/a";
  auto start = std::chrono::steady_clock::now();
  EXPECT_FALSE(glob_match(pattern + "b", name));
  EXPECT_FALSE(glob_match(deep + "/b", path));
  EXPECT_TRUE(glob_match(pattern, name));
  // Exponential would be longer than the age of the universe; a second only says "not that".
  EXPECT_LT(std::chrono::steady_clock::now() - start, std::chrono::seconds(5));
}

TEST(Glob, PortablePatternsPass) {
  for (auto pattern : {"**/*.pem", "**/.env", "secrets/**", "/home/**/.ssh", "*.key", "/data", ".env", "/a/[a-z]?",
                       "[!a]b", "**/a/**/b"})
    EXPECT_EQ(glob_problem(pattern), std::nullopt) << pattern;
}

TEST(Glob, PatternsThatReadersDisagreeAboutAreNamed) {
  struct Case {
    std::string_view pattern, word;
  };
  for (auto [pattern, word] : {Case{"{a,b}", "{ }"},
                               {"a}", "{ }"},
                               {"a\\*b", "backslash"},
                               {"a**", "stand alone"},
                               {"**a/b", "stand alone"},
                               {"***", "stand alone"},
                               {"[]a]", "first of a set"},
                               {"[!]a]", "first of a set"},
                               {"[]", "first of a set"},
                               {"[[:alpha:]]", "POSIX"},
                               {"[a[:digit:]]", "POSIX"},
                               {"[a[b]", "inside a set"},
                               {"[abc", "not closed"},
                               {"[a/b]", "not closed"},
                               {"[", "not closed"},
                               {"a]", "without its ["},
                               {"[^a]", "[!"},
                               {"[z-a]", "backwards"},
                               {"", "empty"},
                               {"/", "everything"},
                               {"**", "every file"},
                               {"/**", "every file"},
                               {"*", "every file"},
                               {"a//b", "empty segment"},
                               {"a/", "empty segment"},
                               {"/a/../b", ".."},
                               {"./a", "segment ."},
                               {"!a", "exceptions"},
                               {"~/.ssh", "not expanded"},
                               {"a\0b"sv, "NUL"},
                               {"a\nb", "line break"}}) {
    auto problem = glob_problem(pattern);
    ASSERT_TRUE(problem) << pattern;
    EXPECT_NE(problem->find(word), std::string::npos) << pattern << ": " << *problem;
  }
}

}  // namespace
}  // namespace hotcell
