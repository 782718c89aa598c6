#include "hotcell/mode.h"

#include <gtest/gtest.h>

#include <thread>

namespace hotcell {
namespace {

TEST(Mode, UnknownOrUnsetIsStrict) {
  EXPECT_EQ(parse_mode(""), Mode::kStrict);
  EXPECT_EQ(parse_mode("of"), Mode::kStrict);
  EXPECT_EQ(parse_mode("OFF"), Mode::kStrict);
  EXPECT_EQ(parse_mode("workspace"), Mode::kWorkspace);
  EXPECT_EQ(parse_mode("off"), Mode::kOff);
  EXPECT_EQ(process_mode(), Mode::kStrict);
  EXPECT_EQ(Context().mode(), Mode::kStrict);
  EXPECT_EQ(Mode{}, Mode::kStrict);
}

TEST(Mode, IsTheWholeProcesssAndOfEveryContextThatHasNoneOfItsOwn) {
  Context before;
  Context own = before.with_mode(Mode::kOff);
  set_process_mode(Mode::kWorkspace);
  std::thread([&] {
    EXPECT_EQ(before.mode(), Mode::kWorkspace);
    EXPECT_EQ(own.mode(), Mode::kOff);
  }).join();
  set_process_mode(Mode::kStrict);
  EXPECT_EQ(before.mode(), Mode::kStrict);
  EXPECT_EQ(backend_in(before), "native");
  EXPECT_EQ(backend_in(own), "none");
}

TEST(Mode, WhatIsHandedOnNeverGrows) {
  Context workspace = Context().with_mode(Mode::kWorkspace);
  EXPECT_EQ(workspace.delegated(Mode::kOff).mode(), Mode::kWorkspace);
  EXPECT_EQ(workspace.delegated(Mode::kStrict).mode(), Mode::kStrict);
  EXPECT_EQ(workspace.delegated(Mode::kStrict).delegated(Mode::kOff).mode(), Mode::kStrict);
  Context copy = workspace;
  EXPECT_EQ(copy.mode(), Mode::kWorkspace);
}

TEST(Mode, StrictTakesWritingAway) {
  Policy policy = default_policy();
  ASSERT_TRUE(policy.filesystem.writable_scratch);
  EXPECT_FALSE(policy_in(Context(), policy).value().filesystem.writable_scratch);
  EXPECT_EQ(policy_in(Context().with_mode(Mode::kWorkspace), policy).value(), policy);
  policy.filesystem.grants.push_back({"/data", Access::kRead, "--read"});
  EXPECT_TRUE(policy_in(Context(), policy).ok());
  policy.filesystem.grants.push_back({"/out", Access::kWrite, "--write"});
  auto refused = policy_in(Context(), policy);
  ASSERT_FALSE(refused.ok());
  EXPECT_NE(refused.error().message.find("/out"), std::string::npos);
  EXPECT_TRUE(policy_in(Context().with_mode(Mode::kWorkspace), policy).ok());
}

}  // namespace
}  // namespace hotcell
