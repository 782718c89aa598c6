#include "core/policy/same_cell.h"

#include <gtest/gtest.h>

namespace hotcell {
namespace {

TEST(SameCell, WhateverBecomesOfLongOutput) {
  Policy kill = default_policy(), cut = kill;
  kill.on_output = OnOutput::kKill;
  cut.on_output = OnOutput::kTruncate;
  EXPECT_TRUE(same_cell(kill, kill));
  EXPECT_TRUE(same_cell(kill, cut));
  EXPECT_TRUE(same_cell(cut, kill));
}

TEST(SameCell, NothingElseMayDiffer) {
  for (OnOutput other : {OnOutput::kKill, OnOutput::kTruncate}) {
    const Policy policy = default_policy();
    auto differs = [&](auto change) {
      Policy changed = policy;
      changed.on_output = other;
      change(changed);
      return !same_cell(policy, changed) && !same_cell(changed, policy);
    };
    EXPECT_FALSE(differs([](Policy&) {}));
    EXPECT_TRUE(differs([](Policy& p) { p.name = "other"; }));
    EXPECT_TRUE(differs([](Policy& p) { p.limits.output = Bytes{1}; }));
    EXPECT_TRUE(differs([](Policy& p) { p.network.mode = NetworkMode::kProxy; }));
    EXPECT_TRUE(differs([](Policy& p) { p.syscalls.deny.push_back("ptrace"); }));
    EXPECT_TRUE(differs([](Policy& p) { p.filesystem.grants.push_back({"/opt", Access::kRead, ""}); }));
    EXPECT_TRUE(differs([](Policy& p) { p.env.set["A"] = "b"; }));
    EXPECT_TRUE(differs([](Policy& p) { p.explain_denials = true; }));
    EXPECT_TRUE(differs([](Policy& p) { p.warm = false; }));
  }
}

}  // namespace
}  // namespace hotcell
