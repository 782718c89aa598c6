// The language that docs/guide/add-a-language.md adds, as its text has it.
#include <gtest/gtest.h>

#include "languages/plugins.h"

// What its line in registry.inc would declare.
#define LANGUAGE(plugin) namespace hotcell { extern const Language plugin; }
LANGUAGE(kLua)
#undef LANGUAGE
#include "guide_plugin.inc"

namespace hotcell {
namespace {

TEST(LanguageGuide, ItsExampleIsALanguage) {
  EXPECT_EQ(kLua.name, "lua");
  EXPECT_EQ(kLua.main_file, "main.lua");
  Sources sources{{{"main.lua", "print(1)"}}, "main.lua"};
  Policy policy = default_policy();
  ToolPaths tools = {{"lua5.4", "/usr/bin/lua5.4"}};
  auto step = kLua.run({sources, policy, tools});
  ASSERT_TRUE(step.ok());
  EXPECT_EQ(step.value().argv, (std::vector<std::string>{"/usr/bin/lua5.4", "/work/main.lua"}));
  ToolPaths none;
  auto missing = kLua.run({sources, policy, none});
  ASSERT_FALSE(missing.ok());
  EXPECT_NE(missing.error().message.find("lua5.4"), std::string::npos) << missing.error().message;
}

}  // namespace
}  // namespace hotcell
