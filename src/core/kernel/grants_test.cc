#include "core/kernel/grants.h"

#include <gtest/gtest.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

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

TEST_F(GrantsTest, AGlobInsideAWritableFolderIsRefused) { EXPECT_FALSE(resolve({{"", Access::kWrite}}, {"**/.env"}).ok()); }

TEST_F(GrantsTest, SystemFoldersOfEveryCellCannotBeDeniedSilently) {
  Filesystem fs;
  fs.deny = {{"/etc/alternatives", ""}};
  EXPECT_FALSE(resolve_grants(fs, false).ok());
  fs.deny = {{"/usr/bin/ca*", ""}};
  EXPECT_FALSE(resolve_grants(fs, false).ok());
}

}  // namespace
}  // namespace hotcell
