#include "languages/verify_wire.h"
#include "sys/framed_child.h"

#include <gtest/gtest.h>

#include <random>

namespace hotcell {
namespace {

WireRequest request() {
  WireRequest r;
  r.language = "python";
  r.file = "a.py";
  r.source = std::string("x\0y", 3);
  r.options.level = VerifyLevel::kStrict;
  r.options.off = {"a-*"};
  r.options.imports_allowed = {"math", ""};
  r.options.blocklist = {{"m", "a"}};
  r.options.patterns = {"p+"};
  r.options.allowed_paths = {"/tmp"};
  Rule rule;
  rule.id = "own";
  rule.at_default = Severity::kInfo;
  rule.on = FactKind::kHost;
  rule.match = {"h"};
  rule.unless = {"u"};
  r.options.rules = {rule};
  return r;
}

WireReply reply() {
  WireReply r;
  Finding f;
  f.rule = "python-x";
  f.type = "system_call";
  f.severity = "error";
  f.message = "m";
  f.snippet = "s";
  f.fix = "f";
  f.line = 3;
  f.column = 4;
  r.findings = {f, f};
  return r;
}

TEST(VerifyWire, ARequestArrivesAsItWas) {
  auto back = unpack_request(pack(request()));
  ASSERT_TRUE(back);
  EXPECT_EQ(pack(*back), pack(request()));
  EXPECT_EQ(back->source, request().source);
  EXPECT_EQ(back->options.rules.at(0).unless, std::vector<std::string>{"u"});
  EXPECT_EQ(back->options.rules.at(0).on, FactKind::kHost);
}

TEST(VerifyWire, FramesOfAnotherMakeOrSizeAreNone) {
  std::string f = sys::frame("abc");
  EXPECT_EQ(sys::frame_length(f, 10), 3u);
  EXPECT_EQ(sys::frame_length(f, 2), std::nullopt);
  EXPECT_EQ(sys::frame_length(f.substr(0, 7), 10), std::nullopt);
  f[0] ^= 1;
  EXPECT_EQ(sys::frame_length(f, 10), std::nullopt);
}

TEST(VerifyWire, EveryCutAndEveryChangedByteIsReadOrRefusedButNeverBelieved) {
  std::string bytes = pack(reply());
  ASSERT_TRUE(unpack_reply(bytes));
  for (std::size_t n = 0; n < bytes.size(); ++n) EXPECT_FALSE(unpack_reply(bytes.substr(0, n))) << n;
  EXPECT_FALSE(unpack_reply(bytes + "x"));
  std::mt19937 random(7);
  for (int i = 0; i < 20'000; ++i) {
    std::string changed = bytes;
    for (int k = 0; k < 3; ++k) changed[random() % changed.size()] = static_cast<char>(random());
    auto back = unpack_reply(changed);
    if (!back) continue;
    for (const Finding& f : back->findings) {
      EXPECT_TRUE(f.severity == "error" || f.severity == "warning" || f.severity == "info");
      EXPECT_GE(f.line, 0);
      EXPECT_EQ(f.message.find('\x1b'), std::string::npos);
    }
  }
  std::string whole = pack(request());
  for (std::size_t n = 0; n < whole.size(); ++n) EXPECT_FALSE(unpack_request(whole.substr(0, n))) << n;
}

TEST(VerifyWire, WhatNoRuleWouldSayIsRefused) {
  auto refused = [](auto change) {
    WireReply r = reply();
    change(r.findings[0]);
    return !unpack_reply(pack(r));
  };
  EXPECT_TRUE(refused([](Finding& f) { f.rule = "../x"; }));
  EXPECT_TRUE(refused([](Finding& f) { f.rule = ""; }));
  EXPECT_TRUE(refused([](Finding& f) { f.type = "trust_me"; }));
  EXPECT_TRUE(refused([](Finding& f) { f.severity = "none"; }));
  EXPECT_TRUE(refused([](Finding& f) { f.line = 2'000'000'000; }));
  WireReply r = reply();
  r.findings[0].message = "\x1b[2J\xff";
  auto back = unpack_reply(pack(r));
  ASSERT_TRUE(back);
  EXPECT_EQ(back->findings[0].message, "\\x1b[2J\\xff");
}

}  // namespace
}  // namespace hotcell
