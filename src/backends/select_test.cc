#include "backends/select.h"

#include <gtest/gtest.h>

namespace hotcell::backends {
namespace {

std::vector<Fact> working(std::vector<std::string> names) {
  std::vector<Fact> out;
  for (auto name : {"native", "landlock", "bwrap", "firejail", "nspawn", "crun", "runc", "runsc", "docker", "podman", "lxc", "vm", "wasm", "basic", "none"}) {
    bool works = std::find(names.begin(), names.end(), name) != names.end();
    out.push_back({name, works, works ? "" : "not installed"});
  }
  return out;
}

struct Row {
  Level level;
  std::vector<std::string> works;
  std::string expected;  // empty: refused
};

TEST(Select, TakesTheFirstThatHoldsTheLevel) {
  const Row rows[] = {
      {Level::kDefault, {"native", "landlock", "bwrap", "runsc"}, "native"},
      {Level::kDefault, {"landlock", "bwrap"}, "landlock"},
      {Level::kDefault, {"bwrap", "firejail"}, "bwrap"},
      {Level::kDefault, {"firejail", "docker"}, "firejail"},
      {Level::kDefault, {"docker"}, "docker"},
      {Level::kEnhanced, {"native", "runsc"}, "native"},
      {Level::kContainer, {"native", "runsc", "runc"}, "runsc"},
      {Level::kContainer, {"native", "podman", "runc"}, "podman"},
      {Level::kContainer, {"crun", "runc"}, "crun"},
      {Level::kContainer, {"lxc"}, "lxc"},
      {Level::kMaximum, {"vm", "runsc"}, "vm"},
      {Level::kMaximum, {"runsc", "native"}, "runsc"},
      {Level::kWasm, {"native", "wasm"}, "wasm"},
  };
  for (const auto& row : rows) {
    auto chosen = select(row.level, working(row.works));
    ASSERT_TRUE(chosen.ok()) << to_string(row.level);
    EXPECT_EQ(chosen.value().backend, row.expected) << to_string(row.level);
    EXPECT_NE(chosen.value().reason.find(row.expected), std::string::npos);
  }
}

TEST(Select, IsNeverWeakerThanAsked) {
  // basic and none work everywhere, and are never fallen back to; a container is no virtual machine's place.
  for (auto level : {Level::kDefault, Level::kEnhanced, Level::kContainer, Level::kMaximum}) {
    auto refused = select(level, working({"basic", "none"}));
    ASSERT_FALSE(refused.ok()) << to_string(level);
    EXPECT_NE(refused.error().message.find("not installed"), std::string::npos) << refused.error().message;
  }
  EXPECT_FALSE(select(Level::kMaximum, working({"native", "runc", "docker"})).ok());
  EXPECT_FALSE(select(Level::kContainer, working({"native", "bwrap"})).ok());
  EXPECT_FALSE(select(Level::kEnhanced, working({"landlock", "bwrap"})).ok());
  EXPECT_FALSE(select(Level::kWasm, working({"native", "vm", "runsc"})).ok());
}

TEST(Select, EnhancedWantsEveryLayer) {
  EXPECT_TRUE(select(Level::kEnhanced, working({"native"})).value().every_layer);
  EXPECT_FALSE(select(Level::kDefault, working({"native"})).value().every_layer);
}

TEST(Select, OldNamesOfLevels) {
  EXPECT_EQ(parse_level("none"), Level::kOff);
  EXPECT_EQ(parse_level("process"), Level::kDefault);
  EXPECT_EQ(parse_level("auto"), Level::kDefault);
  EXPECT_EQ(parse_level("namespace"), Level::kNative);
  EXPECT_EQ(parse_level("chroot"), Level::kNative);
  EXPECT_EQ(parse_level("docker"), Level::kDocker);
  EXPECT_EQ(parse_level("seatbelt"), Level::kSeatbelt);
  EXPECT_EQ(parse_level("vm"), Level::kVm);
  EXPECT_EQ(parse_level("wasm"), Level::kWasm);
  EXPECT_EQ(parse_level("stronger"), std::nullopt);
}

// Who says the name of a wall gets that one.
TEST(Select, AWallThatWasNamedIsNotReplaced) {
  const auto all = working({"native", "landlock", "bwrap", "firejail", "nspawn", "crun", "runc", "runsc", "docker", "podman", "lxc", "vm", "wasm"});
  for (auto [level, name] : {std::pair{Level::kVm, "vm"}, std::pair{Level::kNative, "native"}, std::pair{Level::kDocker, "docker"}}) {
    EXPECT_EQ(select(level, all).value().backend, name);
    auto facts = all;
    for (auto& f : facts)
      if (f.name == name) f = {name, false, "gone"};
    auto refused = select(level, facts);
    ASSERT_FALSE(refused.ok()) << name;
    EXPECT_NE(refused.error().message.find(std::string(name) + ": gone"), std::string::npos) << refused.error().message;
  }
  auto elsewhere = select(Level::kSeatbelt, all);
  ASSERT_FALSE(elsewhere.ok());
  EXPECT_NE(elsewhere.error().message.find("only on macOS"), std::string::npos) << elsewhere.error().message;
}

TEST(Select, OnMacOS) {
  const std::vector<Fact> everything = {{"seatbelt", true, ""}, {"hypervisor", true, ""}, {"docker", true, ""}, {"podman", true, ""}, {"native", true, ""}, {"vm", true, ""}};
  const std::vector<Fact> seatbelt_alone = {{"seatbelt", true, ""}, {"hypervisor", false, "not supported by this processor"}, {"docker", false, "no engine is running here"}};
  struct MacRow {
    Level level;
    std::string all, alone;  // empty: refused
  };
  const MacRow rows[] = {{Level::kDefault, "seatbelt", "seatbelt"}, {Level::kEnhanced, "seatbelt", "seatbelt"}, {Level::kSeatbelt, "seatbelt", "seatbelt"},
                         {Level::kContainer, "docker", ""}, {Level::kDocker, "docker", ""}, {Level::kMaximum, "hypervisor", ""}, {Level::kVm, "hypervisor", ""},
                         {Level::kWasm, "", ""}, {Level::kNative, "", ""}, {Level::kOff, "none", "none"}};
  for (const auto& row : rows) {
    auto of = [&](const std::vector<Fact>& facts) {
      auto chosen = select(row.level, facts, System::kMac);
      return chosen.ok() ? chosen.value().backend : std::string();
    };
    EXPECT_EQ(of(everything), row.all) << to_string(row.level);
    EXPECT_EQ(of(seatbelt_alone), row.alone) << to_string(row.level);
  }
  EXPECT_TRUE(select(Level::kEnhanced, everything, System::kMac).value().every_layer);
  EXPECT_NE(select(Level::kVm, seatbelt_alone, System::kMac).error().message.find("not supported by this processor"), std::string::npos);
}

}  // namespace
}  // namespace hotcell::backends
