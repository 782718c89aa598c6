#include "net/door/order.h"

#include <gtest/gtest.h>

#include "net/host.h"

namespace hotcell::net {
namespace {

Target target(const char* text) { return parse_authority(text, 443).value(); }

TEST(DoorWords, RulesGoThroughACommandLineAndBack) {
  RuleOptions rules;
  rules.mode = RuleMode::kBlocklist;
  rules.allow = {"*.good.test", "a.test:8080"};
  rules.block = {"evil.test"};
  rules.allow_private = {"10.0.0.0/8"};
  auto back = read_rule_words(rule_words(rules));
  ASSERT_TRUE(back.ok()) << back.error().message;
  EXPECT_EQ(back.value().mode, RuleMode::kBlocklist);
  EXPECT_EQ(back.value().allow, rules.allow);
  EXPECT_EQ(back.value().block, rules.block);
  EXPECT_EQ(back.value().allow_private, rules.allow_private);
}

TEST(DoorWords, ACeilingHasLimitsAndNames) {
  auto most = read_door_words({"allow=good.test", "map=good.test=127.0.0.1", "map=good.test=::1", "bytes=100", "rate=200", "connections=3", "time=4000", "life=500"});
  ASSERT_TRUE(most.ok()) << most.error().message;
  EXPECT_EQ(most.value().rules.allow, std::vector<std::string>{"good.test"});
  EXPECT_EQ(most.value().names.at("good.test").size(), 2u);
  EXPECT_EQ(most.value().limits.bytes, 100u);
  EXPECT_EQ(most.value().limits.bytes_per_second, 200u);
  EXPECT_EQ(most.value().limits.connections, 3u);
  EXPECT_EQ(most.value().limits.time, std::chrono::seconds(4));
  EXPECT_EQ(most.value().limits.life, std::chrono::milliseconds(500));
  EXPECT_EQ(limit_words(most.value().limits), (std::vector<std::string>{"bytes=100", "rate=200", "connections=3", "time=4000", "life=500"}));
  EXPECT_TRUE(limit_words({}).empty());
  for (std::string wrong : {"nonsense", "mode=loose", "map=good.test", "map=127.0.0.1=127.0.0.1", "map=a.test=b.test", "bytes=many", "time=long", "life=-1", ""})
    EXPECT_FALSE(read_door_words({wrong}).ok()) << wrong;
}

TEST(DoorWords, AnOrderStaysWithinTheCeilingWhateverItAsksFor) {
  RuleOptions most;
  most.allow = {"*.good.test"};
  auto rules = rules_within(most, {RuleMode::kOpen, {}, {}});
  ASSERT_TRUE(rules.ok());
  EXPECT_TRUE(rules.value()->check(target("a.good.test")).allowed);
  EXPECT_FALSE(rules.value()->check(target("evil.test")).allowed);
  rules = rules_within(most, {RuleMode::kAllowlist, {"a.good.test", "evil.test"}, {"b.good.test"}});
  ASSERT_TRUE(rules.ok());
  EXPECT_TRUE(rules.value()->check(target("a.good.test")).allowed);
  EXPECT_FALSE(rules.value()->check(target("b.good.test")).allowed);
  EXPECT_FALSE(rules.value()->check(target("c.good.test")).allowed);
  EXPECT_FALSE(rules.value()->check(target("evil.test")).allowed);
  rules = rules_within(most, {RuleMode::kAllowlist, {"@registries"}, {}});
  ASSERT_TRUE(rules.ok());
  EXPECT_TRUE(rules.value()->check(target("c.good.test")).allowed);
  EXPECT_FALSE(rules.value()->check(target("evil.test")).allowed);
}

TEST(DoorWords, ARefusalSaysWhoseRulesItWas) {
  auto most = read_door_words({"allow=good.test", "by=cell"});
  ASSERT_TRUE(most.ok());
  auto decide = [&](Whose whose) { return rules_within(most.value().rules, {RuleMode::kOpen, {}, {}}, whose).value()->check(target("evil.test")); };
  EXPECT_EQ(decide(most.value().whose).how, "--allow-domain evil.test for hotcell cell create");
  EXPECT_NE(decide(Whose::kDaemon).how.find("in the daemon's configuration"), std::string::npos);
}

TEST(DoorWords, WhatIsCoveredByWhat) {
  RuleOptions most;
  most.allow = {"*.good.test", "one.test:8080", "203.0.113.7:8080"};
  most.block = {"bad.good.test"};
  for (std::string pattern : {"*.good.test", "a.good.test", "a.good.test:443", ".good.test", "one.test", "203.0.113.7"}) EXPECT_TRUE(covers(most, pattern)) << pattern;
  for (std::string pattern : {"*", "*.test", "*.one.test", "evil.test", "203.0.113.8", "203.0.113.0/24", "bad.good.test", ""}) EXPECT_FALSE(covers(most, pattern)) << pattern;
  EXPECT_TRUE(check_order(most, {"@development", "a.good.test"}, {"evil.test"}).ok());
  EXPECT_EQ(check_order(most, {"evil.test"}, {}).error().code, ErrorCode::kUnsupported);
  EXPECT_EQ(check_order(most, {}, {"https://x.test"}).error().code, ErrorCode::kInvalid);
}

TEST(DoorOrder, OrdersAndAccountsArePackedAndCutOnesAreRefused) {
  DoorAccount account;
  account.entries.push_back({.time = {}, .method = "GET", .host = "a", .port = 80, .allowed = true, .rule = "r", .reason = {}, .how = {}, .up = 1, .down = 2, .duration = {}, .number = 3, .notice = false});
  account.refusals.push_back({account.entries[0], {}, 9});
  account.stats.allowed = 7;
  account.stats.hosts["a"] = 7;
  std::string bytes = pack(account);
  auto back = unpack_door_account(bytes);
  ASSERT_TRUE(back);
  EXPECT_EQ(back->entries.at(0).host, "a");
  EXPECT_EQ(back->stats.hosts.at("a"), 7u);
  EXPECT_EQ(back->entries[0].number, 3u);
  EXPECT_EQ(back->refusals.at(0).count, 9u);
  for (std::size_t i = 0; i < bytes.size(); ++i) EXPECT_FALSE(unpack_door_account(bytes.substr(0, i))) << i;
  std::string order = pack(DoorOrder{RuleMode::kOpen, {"x"}, {"y"}});
  ASSERT_TRUE(unpack_door_order(order));
  EXPECT_EQ(unpack_door_order(order)->block.at(0), "y");
  EXPECT_FALSE(unpack_door_order(order + "x"));
}

}  // namespace
}  // namespace hotcell::net
