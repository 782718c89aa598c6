// The profile key `rules`: what verification minds.
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "core/policy/profile.h"
#include "core/policy/validate.h"

namespace hotcell {
namespace {

constexpr const char* kMine = R"(extends: strict
rules:
  level: default
  off: [python-*]
  functions: [eval]
  modules: [socket]
  patterns: ['\bfoo\(', "x{2}"]
  allowed_paths: [/srv/data]
)";

TEST(SourceRules, AreReadMergedAndWrittenOut) {
  auto p = parse_profile(kMine, "mine.yaml", {});
  ASSERT_TRUE(p.ok()) << p.error().message;
  const SourceRules& r = p.value().rules;
  EXPECT_EQ(r.level, VerifyLevel::kDefault);
  EXPECT_EQ(r.off, std::vector<std::string>{"python-*"});
  EXPECT_EQ(r.functions, std::vector<std::string>{"eval"});
  EXPECT_EQ(r.modules, std::vector<std::string>{"socket"});
  EXPECT_EQ(r.patterns, (std::vector<std::string>{"\\bfoo\\(", "x{2}"}));
  EXPECT_EQ(r.allowed_paths, std::vector<std::string>{"/srv/data"});
  auto again = parse_profile(to_yaml(p.value()), "again.yaml", {});
  ASSERT_TRUE(again.ok()) << again.error().message;
  EXPECT_EQ(again.value(), p.value());
}

TEST(SourceRules, StrictAndMinimalAndWhatExtendsThemAreStrict) {
  for (const char* name : {"strict", "minimal"}) EXPECT_EQ(preset(name)->rules.level, VerifyLevel::kStrict) << name;
  for (const char* name : {"default", "dev", "build", "test", "ci"})
    EXPECT_EQ(preset(name)->rules.level, VerifyLevel::kDefault) << name;
  EXPECT_EQ(parse_profile("extends: minimal\n", "a.yaml", {}).value().rules.level, VerifyLevel::kStrict);
}

TEST(SourceRules, ABadOneIsAnErrorWithItsPlace) {
  auto message = [](const char* yaml) {
    auto p = parse_profile(yaml, "p.yaml", {});
    return p.ok() ? std::string() : p.error().message;
  };
  EXPECT_EQ(message("rules:\n  patterns:\n    - ok\n    - 'a(b'\n"),
            "p.yaml:4: rules.patterns: \"a(b\" is no regular expression: missing ): a(b");
  EXPECT_EQ(message("rules: {level: lax}\n"), "p.yaml:1: rules.level: \"lax\" is none of default, strict");
  EXPECT_EQ(message("rules: {of: [a]}\n"), "p.yaml:1: unknown key \"of\" in rules; did you mean \"off\"?");
  EXPECT_EQ(message("rules:\n  allowed_paths: [data]\n"), "p.yaml:2: rules.allowed_paths: \"data\" is not absolute");
  EXPECT_EQ(message("rules:\n  functions: ['a b']\n"), "p.yaml:2: rules.functions: \"a b\" is no name of a function");
}

class ProjectRules : public ::testing::Test {
 protected:
  void SetUp() override {
    char name[] = "/tmp/hotcell-rules-XXXXXX";
    ASSERT_NE(::mkdtemp(name), nullptr);
    folder_ = name;
    search_.project = folder_ + "/project";
    search_.user = folder_ + "/user";
    std::filesystem::create_directories(search_.project);
    std::filesystem::create_directories(search_.user);
    std::ofstream(search_.user + "/mine.yaml") << "extends: strict\nrules: {functions: [eval], allowed_paths: [/srv]}\n";
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }

  std::string project_says(const char* rules) {
    std::ofstream(search_.project + "/mine.yaml") << "extends: mine\nrules: " << rules << "\n";
    auto p = load_profile("mine", search_);
    return p.ok() ? "" : p.error().message;
  }

  std::string folder_;
  ProfileSearch search_;
};

TEST_F(ProjectRules, MayAddAndNeverTakeAway) {
  EXPECT_EQ(project_says("{functions: [open], patterns: [x], modules: [m], allowed_paths: [/srv/a]}"), "");
  EXPECT_NE(project_says("{level: default}").find("rules.level: must stay strict"), std::string::npos);
  EXPECT_NE(project_says("{off: [python-eval]}").find("rules.off: \"python-eval\" must stay on"), std::string::npos);
  EXPECT_NE(project_says("{allowed_paths: [/etc]}").find("\"/etc\" is not allowed there"), std::string::npos);
  std::ofstream(search_.project + "/mine.yaml") << "extends: strict\nrules: {level: strict}\n";
  // What the user's profile minds is taken over, whatever the project extends.
  auto p = load_profile("mine", search_);
  ASSERT_TRUE(p.ok()) << p.error().message;
  EXPECT_EQ(p.value().rules.functions, std::vector<std::string>{"eval"});
}

}  // namespace
}  // namespace hotcell
