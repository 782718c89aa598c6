#include "store/api_keys.h"

#include <gtest/gtest.h>

#include <set>

#include "base/sha256.h"
#include "store/store_testing.h"

namespace hotcell {
namespace {

std::unique_ptr<ApiKeys> open_keys(const TestFolder& folder) { return std::move(ApiKeys::open(folder.file())).value(); }

ApiKey wish(std::string name, std::string_view scopes = "run,read") {
  ApiKey key;
  key.name = std::move(name);
  EXPECT_TRUE(set_scopes(key, scopes).ok());
  return key;
}

TEST(ApiKeys, ASecretOpensWhatItsKeySays) {
  TestFolder folder;
  auto keys = open_keys(folder);
  auto asked = wish("ci", "run");
  asked.max_running = 3;
  asked.per_minute = 60;
  auto secret = keys->create(asked);
  ASSERT_TRUE(secret.ok()) << secret.error().message;
  EXPECT_EQ(secret.value().size(), 43u);
  EXPECT_TRUE(secret.value().starts_with("hc_"));
  auto found = open_keys(folder)->check(secret.value());
  ASSERT_TRUE(found.ok() && found.value());
  EXPECT_EQ(found.value()->name, "ci");
  EXPECT_EQ(scope_words(*found.value()), "run");
  EXPECT_EQ(found.value()->max_running, 3u);
  EXPECT_EQ(found.value()->per_minute, 60u);
  EXPECT_GT(keys->list().value()[0].last_used.time_since_epoch().count(), 0);
}

TEST(ApiKeys, NothingElseOpensAnything) {
  TestFolder folder;
  auto keys = open_keys(folder);
  auto secret = keys->create(wish("a")).value();
  auto hash = sha256_hex(secret);
  for (std::size_t i = 0; i < secret.size(); ++i) {
    std::string other = secret;
    other[i] = other[i] == 'x' ? 'y' : 'x';
    EXPECT_FALSE(keys->check(other).value()) << i;
  }
  for (std::string other : {std::string(), std::string("hc_"), secret + "x", secret.substr(0, 42), hash, "hc_" + hash.substr(0, 40),
                            "' OR 1=1 --" + std::string(32, 'x'), secret + std::string(1, '\0')}) {
    EXPECT_FALSE(keys->check(other).value()) << other;
  }
  EXPECT_TRUE(keys->check(secret).value());
}

TEST(ApiKeys, ARevokedKeyIsRefusedAtOnceAndItsNameStaysTaken) {
  TestFolder folder;
  auto daemon = open_keys(folder), tool = open_keys(folder);
  auto secret = tool->create(wish("a")).value();
  EXPECT_TRUE(daemon->check(secret).value());
  EXPECT_TRUE(tool->revoke("a").value());
  EXPECT_FALSE(daemon->check(secret).value());
  EXPECT_FALSE(tool->revoke("a").value());
  EXPECT_FALSE(tool->revoke("b").value());
  EXPECT_TRUE(daemon->list().value()[0].is_revoked());
  auto again = daemon->create(wish("a"));
  ASSERT_FALSE(again.ok());
  EXPECT_EQ(again.error().code, ErrorCode::kInvalid);
}

TEST(ApiKeys, TheSecretIsNowhereInTheFolder) {
  TestFolder folder;
  std::string secret;
  {
    auto keys = open_keys(folder);
    secret = keys->create(wish("a")).value();
    ASSERT_TRUE(keys->check(secret).value());
    for (auto name : {"hotcell.db", "hotcell.db-wal", "hotcell.db-shm"}) {
      EXPECT_EQ(folder.read(name).find(secret.substr(3)), std::string::npos) << name;
    }
  }
  // What was written last may still be in the log.
  const std::string kept = folder.read("hotcell.db") + folder.read("hotcell.db-wal");
  EXPECT_EQ(kept.find(secret.substr(3)), std::string::npos);
  EXPECT_NE(kept.find(sha256_hex(secret)), std::string::npos);
}

TEST(ApiKeys, BadNamesAndScopesAreRefusedWithAReason) {
  TestFolder folder;
  auto keys = open_keys(folder);
  for (std::string name : {std::string(), std::string("local"), std::string("a b"), std::string("a/b"), std::string("ä"),
                           std::string(65, 'a'), std::string("a\n"), std::string("a\0b", 3)}) {
    auto made = keys->create(wish(name));
    ASSERT_FALSE(made.ok()) << name;
    EXPECT_EQ(made.error().code, ErrorCode::kInvalid);
  }
  EXPECT_FALSE(keys->create({.name = "none"}).ok());
  ApiKey key;
  for (auto words : {"", "run,", "Run", "run read", "root"}) EXPECT_FALSE(set_scopes(key, words).ok()) << words;
}

TEST(ApiKeys, SecretsUseEveryLetterAndNoneComesTwice) {
  TestFolder folder;
  auto keys = open_keys(folder);
  std::set<std::string> secrets;
  std::set<char> letters;
  for (int i = 0; i < 50; ++i) {
    auto secret = keys->create(wish(cat("k", i))).value();
    letters.insert(secret.begin() + 3, secret.end());
    secrets.insert(std::move(secret));
  }
  EXPECT_EQ(secrets.size(), 50u);
  EXPECT_EQ(letters.size(), 62u);  // 2000 letters: one is missing in a run of 10^12
}

}  // namespace
}  // namespace hotcell
