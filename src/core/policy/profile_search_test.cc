#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "base/strings.h"
#include "core/policy/profile.h"

namespace hotcell {
namespace {

namespace fs = std::filesystem;

class Search : public testing::Test {
 protected:
  void SetUp() override {
    std::string name = (fs::temp_directory_path() / "policy_test.XXXXXX").string();
    ASSERT_NE(::mkdtemp(name.data()), nullptr);
    root_ = name;
    for (auto folder : {"project", "user", "system", "other"}) fs::create_directory(root_ / folder);
    search_ = {path("project"), path("user"), path("system"), true};
  }
  void TearDown() override { fs::remove_all(root_); }

  std::string path(std::string_view name) const { return (root_ / name).string(); }
  void write(std::string_view name, std::string_view text) const { std::ofstream(root_ / name) << text; }
  std::string error_of(std::string_view name) const {
    auto result = load_profile(name, search_);
    return result.ok() ? "accepted" : result.error().message;
  }

  fs::path root_;
  ProfileSearch search_;
};

TEST_F(Search, TheNearestOfANameWins) {
  write("system/team.yaml", "limits: {memory: 1M}\n");
  EXPECT_EQ(load_profile("team", search_).value().limits.memory, 1_MiB);
  write("user/team.yaml", "limits: {memory: 3M}\n");
  EXPECT_EQ(load_profile("team", search_).value().limits.memory, 3_MiB);
  write("project/team.yaml", "limits: {memory: 2M}\n");
  auto loaded = load_profile_details("team", search_);
  ASSERT_TRUE(loaded.ok()) << loaded.error().message;
  EXPECT_EQ(loaded.value().policy.limits.memory, 2_MiB);
  EXPECT_EQ(loaded.value().origins.at("limits.memory"), path("project/team.yaml") + ":1");
  EXPECT_EQ(load_profile("strict", search_).value(), strict_policy());
}

TEST_F(Search, UnknownNamesAreNamedWithANearMiss) {
  write("user/team.yaml", "name: team\n");
  EXPECT_EQ(error_of("taem"), "there is no profile \"taem\"; did you mean \"team\"?");
  EXPECT_EQ(error_of("nothing-like-it"), "there is no profile \"nothing-like-it\"");
  EXPECT_NE(error_of("./missing.yaml").find("there is no profile file"), std::string::npos);
  EXPECT_NE(error_of("").find("is no name"), std::string::npos);
  EXPECT_NE(error_of(std::string_view("a\0b", 3)).find("is no name"), std::string::npos);
  EXPECT_NE(error_of(std::string_view("/a\0b", 4)).find("NUL"), std::string::npos);
}

TEST_F(Search, ExtendsByNamePathAndOwnName) {
  write("user/base.yaml", "limits: {memory: 5M, disk: 6M}\nfilesystem: {deny: [\"*.key\"]}\n");
  write("user/child.yaml", "extends: base\nlimits: {memory: 4M}\nfilesystem: {deny: [\"*.pem\"]}\n");
  auto p = load_profile("child", search_);
  ASSERT_TRUE(p.ok()) << p.error().message;
  EXPECT_EQ(p.value().limits.memory, 4_MiB);
  EXPECT_EQ(p.value().limits.disk, 6_MiB);
  EXPECT_EQ(p.value().name, "child");
  EXPECT_EQ(p.value().filesystem.deny, (std::vector<FsDeny>{{"*.key", ""}, {"*.pem", ""}}));
  EXPECT_EQ(p.value().filesystem.deny[0].origin, path("user/base.yaml") + ":2");

  write("other/x.yaml", "extends: ../user/base.yaml\n");
  EXPECT_EQ(load_profile(path("other/x.yaml"), search_).value().limits.disk, 6_MiB);

  write("user/strict.yaml", "extends: strict\nlimits: {memory: 96M}\n");
  p = load_profile("strict", search_);
  ASSERT_TRUE(p.ok()) << p.error().message;
  EXPECT_EQ(p.value().limits.memory, 96_MiB);
  EXPECT_EQ(p.value().limits.processes, 1U);
}

TEST_F(Search, CyclesAndLongChainsAreErrors) {
  write("user/a.yaml", "extends: b\n");
  write("user/b.yaml", "name: b\nextends: ./a.yaml\n");
  EXPECT_NE(error_of("a").find("extends itself"), std::string::npos) << error_of("a");
  write("user/self.yaml", "extends: ../user/./self.yaml\n");
  EXPECT_NE(error_of("self").find("extends itself"), std::string::npos) << error_of("self");
  for (int i = 0; i < 17; ++i)
    write(cat("user/c", i, ".yaml"), i == 16 ? "name: end\n" : cat("extends: c", i + 1, "\n"));
  EXPECT_NE(error_of("c0").find("more than 16 deep"), std::string::npos) << error_of("c0");
  auto fine = load_profile("c1", search_);
  EXPECT_TRUE(fine.ok()) << fine.error().message;
}

TEST_F(Search, AProjectMayTightenTheDefault) {
  write("project/p.yaml", "limits: {memory: 64M}\nfilesystem: {deny: [\"**/.env\"]}\nsyscalls: {base: strict}\n");
  auto p = load_profile("p", search_);
  ASSERT_TRUE(p.ok()) << p.error().message;
  EXPECT_EQ(p.value().limits.memory, 64_MiB);
  EXPECT_EQ(p.value().limits.wall, default_policy().limits.wall);
}

TEST_F(Search, AProjectCannotWidenTheDefault) {
  write("project/p.yaml", "name: p\nlimits:\n  memory: 1G\n");
  EXPECT_TRUE(error_of("p").starts_with(path("project/p.yaml") + ":3: limits.memory: 1G is more than the 256M allowed"))
      << error_of("p");
  EXPECT_NE(error_of(path("project/p.yaml")).find("limits.memory"), std::string::npos) << "also by its path";
  EXPECT_NE(error_of(path("other/../project/p.yaml")).find("limits.memory"), std::string::npos)
      << "however it is spelled";
  write("project/p.yaml", "name: p\nfilesystem:\n  read:\n    - /home\n");
  EXPECT_TRUE(error_of("p").starts_with(path("project/p.yaml") + ":4: filesystem.read: \"/home\"")) << error_of("p");
  write("project/p.yaml", "name: p\nextends: dev\n");
  EXPECT_TRUE(error_of("p").starts_with(path("project/p.yaml") + ":2: limits.")) << error_of("p");
  write("other/wide.yaml", "limits: {memory: 1G}\n");
  write("project/p.yaml", "extends: ../other/wide.yaml\n");
  EXPECT_NE(error_of("p").find("limits.memory"), std::string::npos) << "not by way of a file elsewhere";
  auto chosen = load_profile(path("other/wide.yaml"), search_);
  EXPECT_TRUE(chosen.ok()) << "the same by the user's own word";
  auto text = parse_profile("limits: {memory: 1G}\n", path("project/x.yaml"), search_);
  EXPECT_FALSE(text.ok());
}

TEST_F(Search, AProjectsFileOfAKnownNameCannotWidenThatOne) {
  // The user asks for `strict`; the project's strict.yaml must not hand out the default instead.
  write("project/strict.yaml", "extends: default\n");
  EXPECT_NE(error_of("strict").find("limits."), std::string::npos) << error_of("strict");
  write("project/strict.yaml", "limits: {memory: 32M}\n");
  auto p = load_profile("strict", search_);
  ASSERT_TRUE(p.ok()) << p.error().message;
  EXPECT_EQ(p.value().limits.memory, 32_MiB);
  EXPECT_EQ(p.value().syscalls.base, "strict");
  // And within what `dev` allows it may move.
  write("project/dev.yaml", "limits: {memory: 512M}\n");
  EXPECT_EQ(load_profile("dev", search_).value().limits.memory, 512_MiB);
}

TEST_F(Search, TheUsersCeilingDecidesHowFarAProjectMayGo) {
  write("user/ceiling.yaml", "limits: {memory: 2G}\nfilesystem: {read: [/data], deny: [\"**/.env\"]}\n");
  write("project/p.yaml", "extends: default\nlimits: {memory: 1G}\nfilesystem: {read: [/data/set]}\n");
  auto p = load_profile("p", search_);
  ASSERT_TRUE(p.ok()) << p.error().message;
  EXPECT_EQ(p.value().limits.memory, 1_GiB);
  EXPECT_EQ(p.value().filesystem.deny, (std::vector<FsDeny>{{"**/.env", ""}})) << "the user's denials come along";
  write("project/p.yaml", "filesystem: {read: [/data2]}\n");
  EXPECT_NE(error_of("p").find("\"/data2\" is not granted there"), std::string::npos) << error_of("p");
}

TEST_F(Search, WhatACeilingSaysOfProcessesIsNobodysToRaise) {
  write("project/p.yaml", "name: p\n");
  EXPECT_EQ(origin_of(load_profile_details("p", search_).value().origins, "limits.processes"), "") << "nobody has said anything";
  write("user/ceiling.yaml", "limits: {processes: 10}\n");
  auto p = load_profile_details("p", search_);
  ASSERT_TRUE(p.ok()) << p.error().message;
  EXPECT_EQ(origin_of(p.value().origins, "limits.processes"), path("user/ceiling.yaml") + ":1");
}

TEST_F(Search, PreimportComesFromUserAndSystemAndNeverFromAProject) {
  constexpr std::string_view why = "preimport: only the user's and the system's profiles may say it, never a project's";
  write("user/warm.yaml", "imports: {allowed: [json]}\npreimport: [json]\n");
  write("system/other.yaml", "preimport: [json]\n");
  for (auto name : {"warm", "other"})
    EXPECT_EQ(load_profile(name, search_).value().preimport, std::vector<std::string>{"json"}) << name;
  write("project/warm.yaml", "extends: warm\npreimport: [json]\n");
  EXPECT_EQ(error_of("warm"), cat(path("project/warm.yaml"), ":2: ", why)) << "not even what the user says as well";
  write("project/warm.yaml", "extends: warm\npreimport: []\n");
  EXPECT_EQ(error_of("warm"), cat(path("project/warm.yaml"), ":2: ", why));
  write("project/warm.yaml", "extends: warm\nlimits: {memory: 1M}\n");
  EXPECT_EQ(load_profile("warm", search_).value().preimport, std::vector<std::string>{"json"}) << "the user's, kept";
  // A file beside the project's folder is the project's when it is the project that names it.
  write("other/p.yaml", "name: p\npreimport: [json]\n");
  write("other/middle.yaml", "extends: ./p.yaml\n");
  write("project/way.yaml", "extends: ../other/middle.yaml\n");
  EXPECT_EQ(error_of("way"), cat(path("project/../other/./p.yaml"), ":2: ", why));
  EXPECT_EQ(load_profile(path("other/middle.yaml"), search_).value().preimport.size(), 1U) << "named by the user";
  write("project/way.yaml", cat("extends: ", path("user/warm.yaml"), "\n"));
  EXPECT_EQ(load_profile("way", search_).value().preimport.size(), 1U) << "the user's, by its path";
  EXPECT_EQ(error_of(path("project/warm.yaml")), "accepted");
}

TEST_F(Search, AUsersFileNeverFindsAProjectsName) {
  write("project/base.yaml", "limits: {memory: 1M}\n");
  write("user/mine.yaml", "extends: base\n");
  EXPECT_EQ(error_of("mine"), path("user/mine.yaml") + ":1: there is no profile \"base\"");
  write("user/round.yaml", cat("extends: ", path("project/round.yaml"), "\n"));
  write("project/round.yaml", "name: round\n");
  EXPECT_NE(error_of("round").find("extends itself"), std::string::npos) << error_of("round");
}

TEST_F(Search, OnlyRegularReadableFilesOfBoundedSize) {
  ASSERT_EQ(::mkfifo(path("user/pipe.yaml").c_str(), 0600), 0);
  EXPECT_NE(error_of("pipe").find("not a regular file"), std::string::npos);
  fs::create_directory(root_ / "user/dir.yaml");
  EXPECT_NE(error_of("dir").find("not a regular file"), std::string::npos);
  write("user/big.yaml", std::string((1 << 20) + 1, '#'));
  EXPECT_NE(error_of("big").find("larger than 1M"), std::string::npos);
  fs::create_symlink("nowhere", root_ / "user/dangling.yaml");
  EXPECT_NE(error_of("dangling").find("there is no profile"), std::string::npos);
}

TEST_F(Search, ErrorsInAParentNameTheParent) {
  write("user/base.yaml", "limits:\n  memory: 12Q\n");
  write("user/child.yaml", "extends: base\n");
  EXPECT_TRUE(error_of("child").starts_with(path("user/base.yaml") + ":2: limits.memory")) << error_of("child");
}

TEST_F(Search, ListingShowsTheNearestOfEach) {
  write("project/x.yaml", "");
  write("user/x.yaml", "");
  write("user/strict.yaml", "");
  write("user/.hidden.yaml", "");
  write("user/note.txt", "");
  auto list = list_profiles(search_);
  ASSERT_EQ(list.size(), 8U);
  EXPECT_EQ(list[0], (ProfileEntry{"x", path("project/x.yaml")}));
  EXPECT_EQ(list[1], (ProfileEntry{"strict", path("user/strict.yaml")}));
  EXPECT_EQ(list[2], (ProfileEntry{"default", "built-in"}));
}

TEST(StandardSearch, FoldersAreWhereTheDocumentsSay) {
  auto search = standard_search("/w", "/home/u");
  EXPECT_EQ(search.project, "/w/.hotcell");
  EXPECT_EQ(search.user, "/home/u/.config/hotcell/profiles");
  EXPECT_EQ(search.system, "/etc/hotcell/profiles");
  EXPECT_EQ(standard_search("/w", "").user, "");
}

}  // namespace
}  // namespace hotcell
