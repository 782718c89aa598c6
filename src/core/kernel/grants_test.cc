#include "core/kernel/grants.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <atomic>
#include <filesystem>
#include <fstream>
#include <optional>
#include <thread>

namespace hotcell {
namespace {

class GrantsTest : public ::testing::Test {
 protected:
  void SetUp() override {
    char name[] = "/var/tmp/hotcell-grants-XXXXXX";
    ASSERT_NE(::mkdtemp(name), nullptr);
    dir_ = name;
    std::filesystem::create_directories(dir_ + "/sub/deep");
    std::ofstream(dir_ + "/sub/secret") << "s";
    std::filesystem::create_symlink(dir_ + "/sub", dir_ + "/link");
  }
  void TearDown() override { std::filesystem::remove_all(dir_); }

  Result<Grants> resolve(std::vector<std::pair<std::string, Access>> grants, std::vector<std::string> denies) {
    Filesystem fs;
    for (auto& [path, access] : grants) fs.grants.push_back({dir_ + path, access, ""});
    for (auto& d : denies) fs.deny.push_back({d[0] == '*' ? d : dir_ + d, ""});
    return resolve_grants(fs, true);
  }
  std::string dir_;
};

TEST_F(GrantsTest, ADeniedFileIsMasked) {
  auto out = resolve({{"", Access::kRead}}, {"/sub/secret"});
  ASSERT_TRUE(out.ok()) << out.error().message;
  ASSERT_EQ(out.value().masks.size(), 1u);
  EXPECT_EQ(out.value().masks[0].shown, dir_ + "/sub/secret");
}

TEST_F(GrantsTest, ADenialAboveAGrantIsNotIgnored) { EXPECT_FALSE(resolve({{"/sub", Access::kRead}}, {""}).ok()); }

TEST_F(GrantsTest, AGlobThatMatchesTheGrantedFolderIsNotIgnored) {
  EXPECT_FALSE(resolve({{"/sub", Access::kRead}}, {"**/sub"}).ok());
  EXPECT_FALSE(resolve({{"/sub/deep", Access::kRead}}, {"**/sub"}).ok());
}

TEST_F(GrantsTest, AGlobFindsNamesAtAnyDepth) {
  auto out = resolve({{"", Access::kRead}}, {"**/secret"});
  ASSERT_TRUE(out.ok()) << out.error().message;
  ASSERT_EQ(out.value().masks.size(), 1u);
}

TEST_F(GrantsTest, ADenialThroughASymlinkHoldsForTheRealName) {
  auto out = resolve({{"/sub", Access::kRead}}, {"/link/secret"});
  ASSERT_TRUE(out.ok()) << out.error().message;
  ASSERT_EQ(out.value().masks.size(), 1u);
  EXPECT_EQ(out.value().masks[0].shown, dir_ + "/sub/secret");
}

TEST_F(GrantsTest, AGrantThroughASymlinkDoesNotGetAroundADenial) {
  auto out = resolve({{"/link", Access::kRead}}, {"/sub/secret"});
  ASSERT_TRUE(out.ok()) << out.error().message;
  ASSERT_EQ(out.value().masks.size(), 1u);
  EXPECT_EQ(out.value().masks[0].shown, dir_ + "/link/secret");
}

TEST_F(GrantsTest, ANameThatDoesNotExistYetIsHeldByAPlaceholderThatGoesAgain) {
  {
    auto out = resolve({{"", Access::kWrite}}, {"/sub/ghost"});
    ASSERT_TRUE(out.ok()) << out.error().message;
    EXPECT_EQ(::access((dir_ + "/sub/ghost").c_str(), F_OK), 0);
  }
  EXPECT_NE(::access((dir_ + "/sub/ghost").c_str(), F_OK), 0);
}

TEST_F(GrantsTest, APlaceholderStaysAsLongAsAnyCellNeedsIt) {
  std::string ghost = dir_ + "/sub/ghost";
  auto first = std::make_optional(resolve({{"", Access::kWrite}}, {"/sub/ghost"}));
  auto second = std::make_optional(resolve({{"", Access::kWrite}}, {"/sub/ghost"}));
  ASSERT_TRUE(first->ok() && second->ok());
  ASSERT_EQ(second->value().masks.size(), 1u);
  first.reset();
  EXPECT_EQ(::access(ghost.c_str(), F_OK), 0) << "the second cell's mask would go with it";
  auto third = std::make_optional(resolve({{"", Access::kWrite}}, {"/sub/ghost"}));
  second.reset();
  EXPECT_EQ(::access(ghost.c_str(), F_OK), 0);
  third.reset();
  EXPECT_NE(::access(ghost.c_str(), F_OK), 0) << "the last one takes it away";
}

TEST_F(GrantsTest, NamesBelowTheSameMissingFolderShareItsPlaceholder) {
  auto first = std::make_optional(resolve({{"", Access::kWrite}}, {"/new/one"}));
  auto second = resolve({{"", Access::kWrite}}, {"/new/two/three"});
  ASSERT_TRUE(first->ok());
  ASSERT_TRUE(second.ok()) << second.error().message;
  ASSERT_EQ(second.value().masks.size(), 1u);
  EXPECT_EQ(second.value().masks[0].shown, dir_ + "/new");
  first.reset();
  EXPECT_EQ(::access((dir_ + "/new").c_str(), F_OK), 0);
}

TEST_F(GrantsTest, AnEmptyFileOfTheUsersOwnIsNoPlaceholder) {
  std::string own = dir_ + "/sub/empty";
  std::ofstream(own).close();
  ::chmod(own.c_str(), 0600);
  {
    auto first = resolve({{"", Access::kWrite}}, {"/sub/empty"});
    auto second = resolve({{"", Access::kWrite}}, {"/sub/empty"});
    ASSERT_TRUE(first.ok() && second.ok());
    EXPECT_EQ(first.value().placeholders.size() + second.value().placeholders.size(), 0u);
  }
  EXPECT_EQ(::access(own.c_str(), F_OK), 0);
}

TEST_F(GrantsTest, APlaceholderThatSomebodyWroteIntoIsKept) {
  std::string ghost = dir_ + "/sub/ghost";
  {
    auto out = resolve({{"", Access::kWrite}}, {"/sub/ghost"});
    ASSERT_TRUE(out.ok());
    std::ofstream(ghost) << "by the host";
  }
  EXPECT_EQ(::access(ghost.c_str(), F_OK), 0);
}

TEST_F(GrantsTest, CellsThatComeAndGoNeverLoseAPlaceholderTheyHold) {
  std::atomic<int> lost = 0, failed = 0;
  auto come_and_go = [&] {
    for (int i = 0; i < 300; ++i) {
      auto out = resolve({{"", Access::kWrite}}, {"/sub/ghost"});
      failed += !out.ok();
      struct stat st;
      lost += ::lstat((dir_ + "/sub/ghost").c_str(), &st) != 0;
    }
  };
  std::thread a(come_and_go), b(come_and_go), c(come_and_go);
  a.join(), b.join(), c.join();
  EXPECT_EQ(lost, 0);
  EXPECT_EQ(failed, 0);
  EXPECT_NE(::access((dir_ + "/sub/ghost").c_str(), F_OK), 0);
}

TEST_F(GrantsTest, AMaskWhoseFileTheHostReplacedIsKnownToBeLost) {
  auto out = resolve({{"", Access::kRead}}, {"/sub/secret", "/sub/deep"});
  ASSERT_TRUE(out.ok());
  EXPECT_EQ(lost_mask(out.value()), nullptr);
  std::ofstream(dir_ + "/sub/secret") << "written to, still the same file";
  EXPECT_EQ(lost_mask(out.value()), nullptr);
  std::ofstream(dir_ + "/sub/new") << "new";
  std::filesystem::rename(dir_ + "/sub/new", dir_ + "/sub/secret");
  ASSERT_NE(lost_mask(out.value()), nullptr);
  EXPECT_EQ(lost_mask(out.value())->shown, dir_ + "/sub/secret");
}

// As somebody who is not root, for whom modes count.
TEST_F(GrantsTest, AFolderThatCanBeEnteredButNotListedIsHiddenFromAGlob) {
  std::string closed = dir_ + "/sub/closed", shut = dir_ + "/sub/shut";
  for (const auto& folder : {closed, shut}) {
    std::filesystem::create_directory(folder);
    std::ofstream(folder + "/.env") << "s";
  }
  bool root = ::geteuid() == 0;
  ::chmod(dir_.c_str(), 0755);
  ::chmod(closed.c_str(), root ? 0711 : 0311);
  ::chmod(shut.c_str(), root ? 0700 : 0000);
  ASSERT_EQ(::seteuid(root ? 65534 : ::geteuid()), 0);
  auto out = resolve({{"", Access::kRead}}, {"**/.env"});
  int can_open = ::faccessat(AT_FDCWD, (closed + "/.env").c_str(), R_OK, AT_EACCESS);
  ASSERT_EQ(::seteuid(root ? 0 : ::geteuid()), 0);
  ::chmod(closed.c_str(), 0755);
  ::chmod(shut.c_str(), 0755);
  ASSERT_TRUE(out.ok()) << out.error().message;
  EXPECT_EQ(can_open, 0) << "the name inside could be opened: that is why";
  ASSERT_EQ(out.value().masks.size(), 1u) << "the one that cannot be entered needs none";
  EXPECT_EQ(out.value().masks[0].shown, closed);
  EXPECT_TRUE(out.value().masks[0].directory);
}

// Each level takes two descriptors; at which of them they run out depends on how many others are open.
TEST_F(GrantsTest, AFolderTooDeepToLookThroughIsRefusedAndNotPassedOver) {
  std::string deep = dir_ + "/sub/deep";
  for (int i = 0; i < 100; ++i) ASSERT_EQ(::mkdir((deep += "/d").c_str(), 0755), 0);
  std::ofstream(deep + "/.env") << "s";
  rlimit before{};
  ASSERT_EQ(::getrlimit(RLIMIT_NOFILE, &before), 0);
  for (rlim_t limit : {90, 91, 92, 93}) {
    rlimit few{limit, before.rlim_max};
    ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &few), 0);
    auto out = resolve({{"", Access::kRead}}, {"**/.env"});
    ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &before), 0);
    EXPECT_FALSE(out.ok()) << "with " << limit << " descriptors its .env was not found, and would be open";
  }
  auto out = resolve({{"", Access::kRead}}, {"**/.env"});
  ASSERT_TRUE(out.ok()) << out.error().message;
  EXPECT_EQ(out.value().masks.size(), 1u);
}

TEST_F(GrantsTest, AGlobInsideAWritableFolderIsRefused) { EXPECT_FALSE(resolve({{"", Access::kWrite}}, {"**/.env"}).ok()); }

TEST_F(GrantsTest, AGrantBehindALinkThatEveryCellHasIsShownWhereItLeads) {
  struct stat st;
  ASSERT_EQ(::lstat("/bin", &st), 0);
  Filesystem fs;
  fs.grants = {{"/bin", Access::kRead, ""}, {"/bin/sh", Access::kRead, ""}};
  auto out = resolve_grants(fs, false);
  ASSERT_TRUE(out.ok()) << out.error().message;
  ASSERT_EQ(out.value().grants.size(), 2u);
  EXPECT_EQ(out.value().grants[0].shown, S_ISLNK(st.st_mode) ? out.value().grants[0].canonical : "/bin");
  EXPECT_EQ(out.value().grants[1].shown.starts_with("/usr/"), S_ISLNK(st.st_mode)) << "a mount on a link fails";
}

TEST_F(GrantsTest, WhatCannotBeGrantedCannotBeGrantedByAnotherName) {
  for (auto [name, says] : {std::pair("/root", "/"), {"/dev", "/dev"}, {"/proc", "/proc"}, {"/self", "/proc/self"}, {"/sub/up", "/proc/self/root"}}) {
    std::filesystem::create_symlink(says, dir_ + name);
    for (auto access : {Access::kRead, Access::kWrite}) {
      auto out = resolve({{name, access}}, {});
      ASSERT_FALSE(out.ok()) << name;
      // What an ordinary user may not look at is not shown for that reason.
      EXPECT_NE(out.error().message.find("cannot be granted"), std::string::npos) << out.error().message;
    }
  }
  std::filesystem::create_symlink("/dev/shm", dir_ + "/shm");
  EXPECT_TRUE(resolve({{"/shm", Access::kWrite}}, {}).ok()) << "files, and no devices";
  EXPECT_TRUE(resolve({{"/link", Access::kWrite}}, {}).ok());
}

TEST_F(GrantsTest, SystemFoldersOfEveryCellCannotBeDeniedSilently) {
  Filesystem fs;
  fs.deny = {{"/etc/alternatives", ""}};
  EXPECT_FALSE(resolve_grants(fs, false).ok());
  fs.deny = {{"/usr/bin/ca*", ""}};
  EXPECT_FALSE(resolve_grants(fs, false).ok());
}

}  // namespace
}  // namespace hotcell
