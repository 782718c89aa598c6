#include "net/rules.h"

#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <netinet/in.h>

#include "base/strings.h"

namespace hotcell::net {
namespace {

RuleSet rules(RuleOptions options) {
  auto made = RuleSet::create(options);
  EXPECT_TRUE(made) << (made ? "" : made.error().message);
  return made ? std::move(made).value() : RuleSet();
}

bool allows(const RuleSet& r, std::string_view target) {
  auto t = parse_authority(target, 443);
  return t && r.check(t.value()).allowed;
}

TEST(Rules, DomainsMatchAtTheirDots) {
  auto r = rules({.allow = {"api.good.test", "*.pkg.test", ".below.test"}});
  for (const char* yes : {"api.good.test", "API.GOOD.TEST.", "pkg.test", "a.pkg.test", "a.b.pkg.test", "x.below.test"}) EXPECT_TRUE(allows(r, yes)) << yes;
  for (const char* no : {"good.test", "x.api.good.test", "evilpkg.test", "below.test", "xbelow.test", "api.good.test-evil.test", "pkg.test.evil.test"})
    EXPECT_FALSE(allows(r, no)) << no;
}

// The founding list had registry.*.io in it, which never matched anything.
TEST(Rules, AStarInsideAListOfLabelsMatchesOneLabel) {
  auto r = rules({.allow = {"registry.*.io", "cdn-*.x.test", "*.a*.test"}});
  for (const char* yes : {"registry.npm.io", "Registry.Other.IO.", "cdn-1.x.test", "abc.test", "q.w.abc.test"}) EXPECT_TRUE(allows(r, yes)) << yes;
  for (const char* no : {"registry.io", "registry.a.b.io", "x.registry.a.io", "registry.evil.io.test", "cdn.x.test", "cdn-1.y.x.test", "bac.test"})
    EXPECT_FALSE(allows(r, no)) << no;
}

TEST(Rules, ATrailingDotIsTheSameName) {
  auto r = rules({.mode = RuleMode::kBlocklist, .block = {"evil.test."}});
  EXPECT_FALSE(allows(r, "evil.test"));
  EXPECT_FALSE(allows(r, "evil.test."));
  EXPECT_TRUE(allows(r, "good.test"));
}

TEST(Rules, PortsAndNetworks) {
  auto r = rules({.allow = {"a.test:443", "b.test:8000-8010", "203.0.113.0/24:443", "[2001:db8::1]:80", "2001:db8:1::/48", "*:9418"}});
  for (const char* yes : {"a.test:443", "b.test:8005", "203.0.113.7:443", "[2001:db8::1]:80", "[2001:db8:1::9]:22", "any.test:9418"})
    EXPECT_TRUE(allows(r, yes)) << yes;
  for (const char* no : {"a.test:80", "b.test:8011", "203.0.113.7:80", "203.0.114.7:443", "[2001:db8::1]:81", "[2001:db8:2::9]:22"})
    EXPECT_FALSE(allows(r, no)) << no;
}

TEST(Rules, DenyWinsInEveryModeAndOrder) {
  for (auto mode : {RuleMode::kAllowlist, RuleMode::kBlocklist, RuleMode::kOpen}) {
    auto r = rules({.mode = mode, .allow = {"*", "bad.good.test"}, .block = {"bad.good.test", "*.evil.test:443", "203.0.113.66"}});
    EXPECT_TRUE(allows(r, "good.test"));
    EXPECT_FALSE(allows(r, "bad.good.test"));
    EXPECT_FALSE(allows(r, "x.evil.test:443"));
    EXPECT_TRUE(allows(r, "x.evil.test:80"));
    EXPECT_FALSE(allows(r, "203.0.113.66:1"));
    Target t{parse_host("good.test").value(), 443};
    EXPECT_FALSE(r.check_address(t, *parse_v4("203.0.113.66")).allowed) << "a name whose address is blocked";
    EXPECT_TRUE(r.check_address(t, *parse_v4("203.0.113.67")).allowed);
  }
}

TEST(Rules, ModesSayWhatTheRestMayDo) {
  EXPECT_FALSE(allows(rules({}), "a.test"));  // an empty list is nothing, not everything
  EXPECT_TRUE(allows(rules({.mode = RuleMode::kBlocklist}), "a.test"));
  EXPECT_TRUE(allows(rules({.mode = RuleMode::kOpen}), "a.test"));
  EXPECT_FALSE(allows(rules({.mode = RuleMode::kClosed, .allow = {"*"}}), "a.test"));
}

TEST(Rules, WhatLeadsInwardIsOutOfReachInEveryMode) {
  for (auto mode : {RuleMode::kAllowlist, RuleMode::kBlocklist, RuleMode::kOpen}) {
    auto r = rules({.mode = mode, .allow = {"*"}});
    for (const char* no : {"127.0.0.1", "127.9.9.9", "0.0.0.0", "0.1.2.3", "10.0.0.5", "172.16.0.1", "172.31.255.255", "192.168.1.1", "169.254.169.254",
                           "169.254.1.1", "100.64.0.1", "100.100.100.200", "224.0.0.1", "255.255.255.255", "198.18.0.1", "168.63.129.16", "[::]", "[::1]",
                           "[::127.0.0.1]", "[::ffff:10.0.0.1]", "[::ffff:0:10.0.0.1]", "[64:ff9b::7f00:1]", "[64:ff9b:1::1]", "[2002:7f00:1::]",
                           "[2002:a00:1::]", "[2001::1]", "[fc00::1]", "[fd00:ec2::254]", "[fe80::1]", "[fec0::1]", "[ff02::1]", "[2001:db8::5efe:a00:1]",
                           "localhost", "LOCALHOST.", "x.localhost", "metadata.google.internal", "metadata", "printer.local", "2130706433", "0x7f.1"})
      EXPECT_FALSE(allows(r, no)) << no;
    for (const char* yes : {"8.8.8.8", "172.32.0.1", "172.15.0.1", "100.128.0.1", "[2606:4700::1]", "[2002:808:808::]", "localhost.test", "internal"})
      EXPECT_TRUE(allows(r, yes)) << yes;
  }
}

TEST(Rules, AnAddressThatANameWasFoundToHaveIsCheckedAgain) {
  auto r = rules({.allow = {"api.good.test"}});
  Target t{parse_host("api.good.test").value(), 443};
  EXPECT_TRUE(r.check(t).allowed);
  EXPECT_TRUE(r.check_address(t, *parse_v4("203.0.113.10")).allowed);
  EXPECT_FALSE(r.check_address(t, *parse_v4("127.0.0.1")).allowed);
  EXPECT_FALSE(r.check_address(t, *parse_v6("::ffff:10.0.0.1")).allowed);
  EXPECT_FALSE(r.check_address(t, *parse_v6("fd00::1")).allowed);
}

// An address has more than one spelling on the wire, too: the kernel dials a mapped one as what it is, a gateway translates others.
TEST(Rules, ABlockedNetworkIsBlockedByEveryAddressThatLeadsThere) {
  auto r = rules({.mode = RuleMode::kOpen, .block = {"203.0.113.0/24"}});
  Target t{parse_host("x.test").value(), 443};
  auto raw = [](const char* text) {
    sockaddr_in6 in{};
    in.sin6_family = AF_INET6;
    EXPECT_EQ(::inet_pton(AF_INET6, text, &in.sin6_addr), 1) << text;
    return *Address::from(reinterpret_cast<const sockaddr*>(&in));
  };
  EXPECT_EQ(raw("::ffff:203.0.113.66").text(), "203.0.113.66") << "as a name server may give it";
  for (const char* there : {"::ffff:203.0.113.66", "64:ff9b::cb00:7142", "2002:cb00:7142::1", "::203.0.113.66"}) {
    EXPECT_FALSE(r.check_address(t, raw(there)).allowed) << there;
    EXPECT_FALSE(allows(r, cat("[", there, "]"))) << there;
  }
  for (const char* elsewhere : {"::ffff:203.0.114.66", "64:ff9b::cb00:7242", "2606:4700::1"}) {
    EXPECT_TRUE(r.check_address(t, raw(elsewhere)).allowed) << elsewhere;
    EXPECT_TRUE(allows(r, cat("[", elsewhere, "]"))) << elsewhere;
  }
  auto mapped = rules({.mode = RuleMode::kOpen, .block = {"::ffff:203.0.113.0/120"}});
  EXPECT_FALSE(allows(mapped, "203.0.113.66"));
  EXPECT_FALSE(allows(mapped, "[::ffff:203.0.113.66]"));
  EXPECT_TRUE(allows(mapped, "203.0.114.66"));
  EXPECT_FALSE(allows(rules({.allow = {"203.0.113.0/24"}}), "[64:ff9b::cb00:7142]")) << "what is allowed is allowed as it is written";
}

TEST(Rules, ABlockOfSomePortsDoesNotHideTheAddresses) {
  auto r = rules({.mode = RuleMode::kOpen, .block = {"a.test:443"}});
  Target t{parse_host("a.test").value(), 443};
  EXPECT_TRUE(r.check_name(t.host).allowed);
  EXPECT_TRUE(r.check_address(t, *parse_v4("203.0.113.1")).allowed) << "whether the name is blocked was asked before";
}

TEST(Rules, ThisMachinesOwnAddressesLeadInward) {
  auto r = rules({.mode = RuleMode::kOpen, .allow_private = {"mine.test", "203.0.113.8"}});
  Target t{parse_host("x.test").value(), 443}, mine{parse_host("mine.test").value(), 443};
  EXPECT_TRUE(r.check_address(t, *parse_v4("203.0.113.7"), false).allowed);
  auto d = r.check_address(t, *parse_v4("203.0.113.7"), true);
  EXPECT_FALSE(d.allowed);
  EXPECT_EQ(d.rule, "private");
  EXPECT_EQ(d.how, "--allow-private x.test");
  EXPECT_TRUE(r.check_address(mine, *parse_v4("203.0.113.7"), true).allowed);
  EXPECT_TRUE(r.check_address(t, *parse_v4("203.0.113.8"), true).allowed);
}

TEST(Rules, InwardIsLiftedByNameOrNetworkAlone) {
  auto r = rules({.allow = {"*"}, .allow_private = {"127.0.0.1:8080", "mirror.internal"}});
  EXPECT_TRUE(allows(r, "127.0.0.1:8080"));
  EXPECT_FALSE(allows(r, "127.0.0.1:8081"));
  EXPECT_FALSE(allows(r, "127.0.0.2:8080"));
  EXPECT_TRUE(allows(r, "mirror.internal"));
  Target mirror{parse_host("mirror.internal").value(), 443}, other{parse_host("other.test").value(), 443};
  EXPECT_TRUE(r.check_address(mirror, *parse_v4("10.0.0.9")).allowed);
  EXPECT_FALSE(r.check_address(other, *parse_v4("10.0.0.9")).allowed);
}

TEST(Rules, PatternsThatMeanNothingAreErrors) {
  for (const char* bad : {"", "[*]", "http://a.test", "a.test/path", "a..b", "*.1.2.3.4", "a.test:0", "a.test:99999", "a.test:9-1", ".*.a", "10.0.0.0/33", "a b", "*.", "."})
    EXPECT_FALSE(HostPattern::parse(bad)) << bad;
}

TEST(Rules, NetworksWrittenWithAStar) {
  auto r = rules({.mode = RuleMode::kBlocklist, .block = {"203.0.*", "11.*"}});
  EXPECT_FALSE(allows(r, "203.0.113.9"));
  EXPECT_FALSE(allows(r, "11.255.1.1"));
  EXPECT_TRUE(allows(r, "203.1.0.1"));
}

TEST(Rules, ARefusalNamesItsRuleAndTheWayOut) {
  auto r = rules({.allow = {"a.test"}, .block = {"*.evil.test"}});
  auto d = r.check({parse_host("b.test").value(), 443});
  EXPECT_EQ(d.rule, "default");
  EXPECT_EQ(d.how, "--allow-domain b.test");
  d = r.check({parse_host("x.evil.test").value(), 443});
  EXPECT_EQ(d.rule, "*.evil.test");
  d = r.check({parse_host("10.0.0.1").value(), 443});
  EXPECT_EQ(d.rule, "private");
  EXPECT_EQ(d.how, "--allow-domain 10.0.0.1 --allow-private 10.0.0.1") << "both are needed";
}

TEST(Rules, NamesAreLookedUpForPatternsWithAPort) {
  auto r = rules({.allow = {"a.test:22"}});
  EXPECT_TRUE(r.check_name(parse_host("a.test").value()).allowed);
  EXPECT_FALSE(r.check_name(parse_host("b.test").value()).allowed);
}

// Whatever the lists say of ports, and of whichever of two lists: a name is answered if it may be talked to on one.
TEST(Rules, NamesAreLookedUpForAnyPortThatIsLeft) {
  const Host a = parse_host("a.test").value();
  EXPECT_TRUE(rules({.mode = RuleMode::kOpen, .block = {"a.test:443", "a.test:80"}}).check_name(a).allowed);
  EXPECT_TRUE(rules({.mode = RuleMode::kOpen, .block = {"a.test:2-65535"}}).check_name(a).allowed);
  EXPECT_FALSE(rules({.mode = RuleMode::kOpen, .block = {"a.test:1-1000", "a.test:1001-65535"}}).check_name(a).allowed);
  EXPECT_TRUE(rules({.allow = {"a.test:22-30"}, .block = {"a.test:22-25"}}).check_name(a).allowed);
  EXPECT_FALSE(rules({.allow = {"a.test:22-30"}, .block = {"a.test:20-40"}}).check_name(a).allowed);
  auto within = [&](RuleOptions mine, RuleOptions others) {
    auto r = rules(std::move(mine));
    r.stay_within(std::make_shared<const RuleSet>(rules(std::move(others))), Whose::kDaemon);
    return r.check_name(a).allowed;
  };
  EXPECT_TRUE(within({.mode = RuleMode::kOpen}, {.allow = {"a.test:22"}}));
  EXPECT_FALSE(within({.allow = {"a.test:80"}}, {.allow = {"a.test:22"}}));
}

TEST(Rules, NamesAndTheirAddressesAreAllowedOnOnePort) {
  const Host a = parse_host("a.test").value();
  const std::vector<Address> inside = {*parse_v4("10.0.0.7")}, outside = {*parse_v4("203.0.113.7")};
  auto own = [](const Address& address) { return address.text() == "203.0.113.7"; };
  auto ssh = rules({.allow = {"a.test:22"}, .allow_private = {"10.0.0.0/8:22"}}), web = rules({.allow = {"a.test:443"}, .allow_private = {"10.0.0.0/8:22"}});
  EXPECT_TRUE(ssh.check_name(a, inside, {}).allowed);
  EXPECT_FALSE(web.check_name(a, inside, {}).allowed);
  EXPECT_TRUE(rules({.allow = {"a.test"}, .block = {"203.0.113.0/24:443"}}).check_name(a, outside, {}).allowed);
  EXPECT_FALSE(rules({.allow = {"a.test:443"}, .block = {"203.0.113.0/24:443"}}).check_name(a, outside, {}).allowed);
  EXPECT_TRUE(web.check_name(a, outside, {}).allowed);
  auto d = web.check_name(a, outside, own);
  EXPECT_FALSE(d.allowed);
  EXPECT_EQ(d.rule, "private");
  EXPECT_FALSE(web.check_name(a, {outside[0], inside[0]}, {}).allowed) << "one that leads inward spoils them all";
}

}  // namespace
}  // namespace hotcell::net
