#include "base/pattern.h"

#include <gtest/gtest.h>

namespace hotcell {
namespace {

TEST(Pattern, FindsTheFirstMatch) {
  auto p = Pattern::compile("b+");
  ASSERT_TRUE(p.ok());
  EXPECT_EQ(p.value().find("aabbb"), 2u);
  EXPECT_EQ(p.value().find("aaa"), std::nullopt);
}

TEST(Pattern, AnErrorNamesThePart) {
  auto p = Pattern::compile("ab(c");
  ASSERT_FALSE(p.ok());
  EXPECT_NE(p.error().message.find("missing )"), std::string::npos) << p.error().message;
  p = Pattern::compile("x[z-a]");
  ASSERT_FALSE(p.ok());
  EXPECT_NE(p.error().message.find("z-a"), std::string::npos) << p.error().message;
  EXPECT_FALSE(Pattern::compile("").ok());
  EXPECT_FALSE(Pattern::compile(std::string(5000, 'a')).ok());
}

// A backtracking matcher needs longer than the universe has existed for this one.
TEST(Pattern, HostilePatternsAndTextsTakeLinearTime) {
  auto p = Pattern::compile("(a*)*(a*)*(a*)*b$");
  ASSERT_TRUE(p.ok());
  EXPECT_EQ(p.value().find(std::string(100'000, 'a')), std::nullopt);
}

}  // namespace
}  // namespace hotcell
