#include "store/settings.h"

#include <gtest/gtest.h>

#include "store/store_testing.h"

namespace hotcell {
namespace {

TEST(Settings, StayUntilTheyAreChangedOrRemoved) {
  TestFolder folder;
  {
    auto settings = std::move(Settings::open(folder.file())).value();
    EXPECT_FALSE(settings.get("config").value());
    ASSERT_TRUE(settings.set("config", R"({"a":1})").ok());
    ASSERT_TRUE(settings.set("config", R"({"a":2})").ok());
    ASSERT_TRUE(settings.set("other'; DROP TABLE settings; --", "3").ok());
  }
  auto settings = std::move(Settings::open(folder.file())).value();
  EXPECT_EQ(settings.get("config").value(), R"({"a":2})");
  EXPECT_EQ(settings.all().value().size(), 2u);
  ASSERT_TRUE(settings.remove("config").ok());
  EXPECT_FALSE(settings.get("config").value());
}

TEST(Settings, TwoConnectionsSeeEachOther) {
  TestFolder folder;
  auto one = std::move(Settings::open(folder.file())).value(), two = std::move(Settings::open(folder.file())).value();
  ASSERT_TRUE(one.set("a", "1").ok());
  EXPECT_EQ(two.get("a").value(), "1");
  ASSERT_TRUE(two.set("a", "2").ok());
  EXPECT_EQ(one.get("a").value(), "2");
}

}  // namespace
}  // namespace hotcell
