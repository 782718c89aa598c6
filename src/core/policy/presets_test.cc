#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "base/source_folder_testing.h"
#include "base/strings.h"
#include "core/policy/profile.h"
#include "core/policy/validate.h"

namespace hotcell {
namespace {

using std::chrono::seconds;

std::string profiles_dir() {
  return source_path("profiles");
}

TEST(Presets, DefaultHasTheFoundingNumbers) {
  Policy p = default_policy();
  EXPECT_EQ(p.limits.cpu_time, seconds(30));
  EXPECT_EQ(p.limits.memory, 256_MiB);
  EXPECT_EQ(p.limits.disk, 100_MiB);
  EXPECT_EQ(p.limits.wall, seconds(60));
  EXPECT_EQ(p.limits.processes, 10U);
  EXPECT_EQ(p.limits.open_files, 100U);
  EXPECT_EQ(p.limits.output, 1_MiB);
  EXPECT_EQ(p.uid, 1000U);
  EXPECT_EQ(p.gid, 1000U);
  EXPECT_EQ(p.syscalls.base, "default");
  EXPECT_TRUE(p.filesystem.writable_scratch);
  EXPECT_TRUE(p.filesystem.grants.empty());
  EXPECT_EQ(p.network.mode, NetworkMode::kNone);
  EXPECT_EQ(p.audit.at("verification"), AuditMode::kObserve);
}

TEST(Presets, StrictHasTheFoundingNumbersAndWritesNowhere) {
  Policy p = strict_policy();
  EXPECT_EQ(p.limits.cpu_time, seconds(5));
  EXPECT_EQ(p.limits.memory, 64_MiB);
  EXPECT_EQ(p.limits.disk, 10_MiB);
  EXPECT_EQ(p.limits.wall, seconds(10));
  EXPECT_EQ(p.limits.processes, 1U);
  EXPECT_EQ(p.limits.open_files, 20U);
  EXPECT_EQ(p.limits.output, 64_KiB);
  EXPECT_EQ(p.uid, 65534U);
  EXPECT_EQ(p.gid, 65534U);
  EXPECT_EQ(p.syscalls.base, "strict");
  EXPECT_FALSE(p.filesystem.writable_scratch);
  EXPECT_EQ(p.network.mode, NetworkMode::kNone);
  EXPECT_EQ(p.audit.at("verification"), AuditMode::kEnforce);
}

TEST(Presets, ToolchainPresetsHaveTheirTimesAndMemory) {
  struct Row {
    const char* name;
    Bytes memory;
    seconds wall;
  };
  for (auto [name, memory, wall] : {Row{"dev", 1_GiB, seconds(300)}, Row{"build", 2_GiB, seconds(300)},
                                    Row{"test", 1_GiB, seconds(600)}, Row{"ci", 2_GiB, seconds(600)}}) {
    auto p = preset(name);
    ASSERT_TRUE(p) << name;
    EXPECT_EQ(p->limits.memory, memory) << name;
    EXPECT_EQ(p->limits.wall, wall) << name;
    EXPECT_EQ(p->network.mode, NetworkMode::kNone) << name;
  }
}

TEST(Presets, MinimalAllowsSixteenImports) {
  auto p = preset("minimal");
  ASSERT_TRUE(p);
  EXPECT_EQ(p->imports_allowed.size(), 16U);
  EXPECT_EQ(p->language, "python");
  EXPECT_EQ(p->stages_pre, std::vector<std::string>{"ast_scan"});
  EXPECT_EQ(p->limits.wall, seconds(30));
  EXPECT_EQ(p->audit.at("verification"), AuditMode::kEnforce);
}

TEST(Presets, EveryNameIsAPresetOfThatNameAndValid) {
  EXPECT_EQ(preset_names(),
            (std::vector<std::string_view>{"default", "strict", "dev", "build", "test", "ci", "minimal"}));
  for (auto name : preset_names()) {
    auto p = preset(name);
    ASSERT_TRUE(p) << name;
    EXPECT_EQ(p->name, name);
    EXPECT_FALSE(p->description.empty());
    auto valid = validate(*p);
    EXPECT_TRUE(valid.ok()) << valid.error().message;
  }
  EXPECT_FALSE(preset("Strict"));
  EXPECT_FALSE(preset(""));
}

TEST(Presets, TheYamlFilesSayExactlyWhatThePresetsAre) {
  std::size_t files = 0;
  for (const auto& entry : std::filesystem::directory_iterator(profiles_dir()))
    files += entry.path().extension() == ".yaml" ? 1 : 0;
  EXPECT_GE(files, preset_names().size());
  for (auto name : preset_names()) {
    auto loaded = load_profile(cat(profiles_dir(), "/", name, ".yaml"), {});
    ASSERT_TRUE(loaded.ok()) << loaded.error().message;
    EXPECT_EQ(loaded.value(), *preset(name)) << to_yaml(loaded.value()) << "\n--- preset:\n" << to_yaml(*preset(name));
  }
}

TEST(Presets, EveryLineOfAProfileHasItsReason) {
  for (const auto& entry : std::filesystem::directory_iterator(profiles_dir())) {
    if (entry.path().extension() != ".yaml") continue;
    std::ifstream file(entry.path());
    int number = 0;
    for (std::string line; std::getline(file, line);) {
      ++number;
      auto hash = line.find("# ");
      EXPECT_TRUE(trim(line).empty() || (hash != std::string::npos && line.size() > hash + 3))
          << entry.path() << ":" << number;
    }
    EXPECT_GT(number, 0) << entry.path();
  }
}

TEST(Presets, ModesAreSpelledAsInProfiles) {
  EXPECT_EQ(to_string(NetworkMode::kProxy), "proxy");
  EXPECT_EQ(to_string(RuleMode::kBlocklist), "blocklist");
}

TEST(Describe, SaysWhatMattersAndNoSecrets) {
  Policy p = strict_policy();
  p.filesystem.grants.push_back({"/data\x1b", Access::kRead, "team.yaml:4"});
  p.env.set["TOKEN"] = "hunter2";
  auto text = join(describe(p), "\n");
  for (auto part : {"memory 64M", "wall 10s", "read /data\\x1b  (team.yaml:4)", "network: none", "strict allowlist",
                    "uid 65534", "set: TOKEN", "read-only", "errors keep a program from starting"})
    EXPECT_NE(text.find(part), std::string::npos) << part << "\n" << text;
  EXPECT_EQ(text.find("hunter2"), std::string::npos);
  EXPECT_EQ(text.find('\x1b'), std::string::npos);
  EXPECT_NE(join(describe(default_policy()), "\n").find("verification: errors are only reported"),
            std::string::npos);
}

}  // namespace
}  // namespace hotcell
