#include "core/policy/profile.h"

#include <gtest/gtest.h>

#include <chrono>

#include "core/policy/units.h"
#include "core/policy/yaml_tree.h"

namespace hotcell {
namespace {

using namespace std::string_literals;
using std::chrono::seconds;

ProfileSearch presets_only() {
  ProfileSearch search;
  search.read_files = false;
  return search;
}
Result<Policy> parse(std::string_view yaml) { return parse_profile(yaml, "p.yaml", presets_only()); }
std::string error_of(std::string_view yaml) {
  auto result = parse(yaml);
  if (result.ok()) return "accepted: " + to_yaml(result.value());
  EXPECT_EQ(result.error().code, ErrorCode::kInvalid);
  return result.error().message;
}

TEST(Profile, EveryKeyReachesThePolicy) {
  auto result = parse_profile(R"(
name: everything
description: all of it
language: python
limits: {memory: 1G, disk: 2G, output: 3K, cpu_time: 4s, timeout: 5m, cpus: 1.5, processes: 6,
  open_files: 7, stack: 16M, address_space: 8G, on_output: truncate}
filesystem:
  read: [/data, "/with space"]
  write: [/out]
  deny: ["**/.env", /data/secret]
  tmp: false
network: {mode: proxy, rules: blocklist, allow: [a.example], block: ["*.b.example"]}
syscalls: {base: strict, allow: [mmap], deny: [ptrace], file: oci.json}
env:
  pass: [TERM]
  set: {A: "1", B: 2, C: ""}
imports: {allowed: [math], additional: [json]}
blocklist: [[numpy, ctypeslib]]
stages: {pre: [ast_scan, blocklist_audit], post: []}
preimport: [numpy]
audit: {mode: {landlock: observe, verification: enforce}}
warm: false
user: {uid: 2000, gid: 3000}
require: [seccomp, landlock]
time_ns: true
)",
                              "/etc/h/p.yaml", presets_only());
  ASSERT_TRUE(result.ok()) << result.error().message;
  const Policy& p = result.value();
  EXPECT_EQ(p.name, "everything");
  EXPECT_EQ(p.description, "all of it");
  EXPECT_EQ(p.language, "python");
  Limits limits{1_GiB, 2_GiB, 3_KiB, seconds(4), seconds(300), 1.5, 6, 7, 16_MiB, 8_GiB};
  EXPECT_EQ(p.limits, limits);
  EXPECT_EQ(p.on_output, OnOutput::kTruncate);
  EXPECT_EQ(p.filesystem.grants,
            (std::vector<FsGrant>{
                {"/data", Access::kRead, ""}, {"/with space", Access::kRead, ""}, {"/out", Access::kWrite, ""}}));
  EXPECT_EQ(p.filesystem.grants[2].origin, "/etc/h/p.yaml:9");
  EXPECT_EQ(p.filesystem.deny, (std::vector<FsDeny>{{"**/.env", ""}, {"/data/secret", ""}}));
  EXPECT_EQ(p.filesystem.deny[1].origin, "/etc/h/p.yaml:10");
  EXPECT_FALSE(p.filesystem.writable_scratch);
  EXPECT_EQ(p.network, (Network{NetworkMode::kProxy, RuleMode::kBlocklist, {"a.example"}, {"*.b.example"}}));
  EXPECT_EQ(p.syscalls, (Syscalls{"strict", {"mmap"}, {"ptrace"}, "/etc/h/oci.json"}));
  EXPECT_EQ(p.env, (Environment{{"TERM"}, {{"A", "1"}, {"B", "2"}, {"C", ""}}}));
  EXPECT_EQ(p.imports_allowed, (std::vector<std::string>{"math", "json"}));
  EXPECT_EQ(p.blocklist, (std::vector<std::pair<std::string, std::string>>{{"numpy", "ctypeslib"}}));
  EXPECT_EQ(p.stages_pre, (std::vector<std::string>{"ast_scan", "blocklist_audit"}));
  EXPECT_EQ(p.preimport, std::vector<std::string>{"numpy"});
  EXPECT_EQ(p.audit, (std::map<std::string, AuditMode>{{"landlock", AuditMode::kObserve},
                                                       {"verification", AuditMode::kEnforce}}));
  EXPECT_FALSE(p.warm);
  EXPECT_EQ(p.uid, 2000U);
  EXPECT_EQ(p.gid, 3000U);
  EXPECT_EQ(p.required, (std::set<Layer>{Layer::kSeccomp, Layer::kLandlock}));
  EXPECT_TRUE(p.time_ns);

  auto again = parse_profile(to_yaml(p), "again.yaml", presets_only());
  ASSERT_TRUE(again.ok()) << again.error().message << "\n" << to_yaml(p);
  EXPECT_EQ(again.value(), p);
}

TEST(Profile, WhatIsNotSaidIsTheDefault) {
  auto result = parse("limits: {memory: 1M}\n");
  ASSERT_TRUE(result.ok()) << result.error().message;
  Policy expected = default_policy();
  expected.name = "p";
  expected.description.clear();
  expected.limits.memory = 1_MiB;
  EXPECT_EQ(result.value(), expected);
}

TEST(Profile, PresetsAndOddTextSurviveBeingWrittenOut) {
  for (auto name : preset_names()) {
    auto again = parse(to_yaml(*preset(name)));
    ASSERT_TRUE(again.ok()) << again.error().message;
    EXPECT_EQ(again.value(), *preset(name));
  }
  Policy p = default_policy();
  p.description = "line one\nline \"two\" \\ # no comment\t\x01 é 🦀";
  p.env.set = {{"YES", "true"}, {"NULLISH", "~"}, {"STAR", "*x"}, {"EMPTY", ""}, {"COLON", ": - {"}};
  p.filesystem.grants = {{"/a b/#c: [d]", Access::kWrite, ""}};
  p.limits.wall = Nanoseconds(1'234'567'891);
  p.limits.memory = Bytes{12345};
  p.limits.cpus = 1.0 / 3;
  p.audit.clear();
  auto again = parse(to_yaml(p));
  ASSERT_TRUE(again.ok()) << again.error().message << "\n" << to_yaml(p);
  EXPECT_EQ(again.value(), p) << to_yaml(p);
}

TEST(Profile, ModulesAreNamedAsTheirLanguageNamesThem) {
  auto result = parse("imports: {allowed: [\"std::fs\", encoding/json, \"@scope/name\", bits/stdc++.h, os.path]}\n"
                      "blocklist: [[\"std::fs\", remove_file], [io/ioutil, ReadAll]]\n");
  ASSERT_TRUE(result.ok()) << result.error().message;
  EXPECT_EQ(result.value().imports_allowed.size(), 5U);
  EXPECT_EQ(parse(to_yaml(result.value())).value(), result.value());
}

TEST(Profile, InheritanceFollowsEachFieldsRule) {
  auto result = parse(R"(
extends: minimal
limits: {memory: 512M}
imports: {additional: [numpy, math]}
preimport: [numpy]
)");
  ASSERT_TRUE(result.ok()) << result.error().message;
  EXPECT_EQ(result.value().limits.memory, 512_MiB);
  EXPECT_EQ(result.value().limits.wall, seconds(30));
  EXPECT_EQ(result.value().imports_allowed.size(), 17U);
  EXPECT_EQ(result.value().stages_pre, std::vector<std::string>{"ast_scan"}) << "stages are kept when not mentioned";
  EXPECT_EQ(result.value().audit.at("verification"), AuditMode::kEnforce);

  result = parse(
      "extends: minimal\nstages: {post: []}\naudit: {mode: {ast_scan: observe}}\nlimits: {address_space: none, "
      "cpus: none}\n");
  ASSERT_TRUE(result.ok()) << result.error().message;
  EXPECT_TRUE(result.value().stages_pre.empty()) << "stages are replaced as a whole";
  EXPECT_FALSE(result.value().audit.contains("verification")) << "audit is replaced as a whole";
  EXPECT_FALSE(result.value().limits.address_space);
  EXPECT_EQ(result.value().limits.cpus, 0);
}

std::string deep_list() {
  std::string out = "  ";
  for (int i = 0; i < 20; ++i) out += "- ";
  return out + "a\n";
}

struct Bad {
  std::string yaml;
  std::string starts, has = "";
};
class BadProfile : public testing::TestWithParam<Bad> {};
TEST_P(BadProfile, IsRefusedWithFileAndLine) {
  auto message = error_of(GetParam().yaml);
  EXPECT_TRUE(message.starts_with(GetParam().starts)) << message;
  EXPECT_NE(message.find(GetParam().has), std::string::npos) << message;
  EXPECT_EQ(message.find('\n'), std::string::npos) << "one line";
}
INSTANTIATE_TEST_SUITE_P(
    Keys, BadProfile,
    testing::Values(Bad{"name: a\nlimitz: {}\n", "p.yaml:2: unknown key \"limitz\"", "did you mean \"limits\"?"},
                    Bad{"limits:\n  memory: 1M\n  memroy: 1M\n", "p.yaml:3: unknown key \"memroy\" in limits",
                        "did you mean \"memory\"?"},
                    Bad{"limits: {cpu-time: 1s}\n", "p.yaml:1: unknown key", "did you mean \"cpu_time\"?"},
                    Bad{"filesystem:\n\n  reed: [/a]\n", "p.yaml:3: unknown key \"reed\" in filesystem", "\"read\""},
                    Bad{"zzzzzz: 1\n", "p.yaml:1: unknown key \"zzzzzz\""},
                    Bad{"<<: {name: a}\n", "p.yaml:1: unknown key \"<<\""},
                    Bad{"limits:\n  memory: 1M\n  memory: 2M\n", "p.yaml:3: the key \"memory\" is there twice",
                        "line 2"},
                    Bad{"name: a\nlimits: {}\nname: b\n", "p.yaml:3: the key \"name\" is there twice", "line 1"},
                    Bad{"limits: {wall: 1s, timeout: 2s}\n", "p.yaml:1: limits.timeout", "give one"},
                    Bad{"env: {set: {A: 1, A: 2}}\n", "p.yaml:1: the key \"A\" is there twice"},
                    Bad{"\x1b[31m: 1\n", "p.yaml:1: control character \"\\x1b\""}));
INSTANTIATE_TEST_SUITE_P(
    Values, BadProfile,
    testing::Values(
        Bad{"limits:\n  memory: 12Q\n", "p.yaml:2: limits.memory: \"12Q\" is not a size", "K, M or G"},
        Bad{"limits: {memory: 0}\n", "p.yaml:1: limits.memory: \"0\""},
        Bad{"limits: {memory: -5M}\n", "p.yaml:1: limits.memory"},
        Bad{"limits: {memory: 99999999999999999999999G}\n", "p.yaml:1: limits.memory", "too large"},
        Bad{"limits: {wall: 0s}\n", "p.yaml:1: limits.wall"},
        Bad{"limits: {timeout: forever}\n", "p.yaml:1: limits.timeout"},
        Bad{"limits: {wall: none}\n", "p.yaml:1: limits.wall"}, Bad{"limits: {cpus: .nan}\n", "p.yaml:1: limits.cpus"},
        Bad{"limits: {cpus: 1e9}\n", "p.yaml:1: limits.cpus"},
        Bad{"limits: {processes: 99999999}\n", "p.yaml:1: limits.processes", "4194304"},
        Bad{"limits: {open_files: 4294967296}\n", "p.yaml:1: limits.open_files"},
        Bad{"limits: {memory: [1M]}\n", "p.yaml:1: limits.memory", "not a list"},
        Bad{"limits: 5\n", "p.yaml:1: limits: wants keys"}, Bad{"limits:\n", "p.yaml:1: limits", "not nothing"},
        Bad{"limits: {on_output: kil}\n", "p.yaml:1: limits.on_output: \"kil\" is none of kill, truncate",
            "did you mean \"kill\"?"},
        Bad{"warm: yes\n", "p.yaml:1: warm: \"yes\" is neither true nor false"},
        Bad{"warm: \"true\"\n", "p.yaml:1: warm"},
        Bad{"network:\n  mode: hosts\n", "p.yaml:2: network.mode", "did you mean \"host\"?"},
        Bad{"network: {rules: any}\n", "p.yaml:1: network.rules"},
        Bad{"network: {allow: [\"a b\"]}\n", "p.yaml:1: network.allow"},
        Bad{"syscalls: {base: docker}\n", "p.yaml:1: syscalls.base"},
        Bad{"syscalls:\n  allow:\n    - read\n    - rm -rf\n", "p.yaml:4: syscalls.allow: \"rm -rf\""},
        Bad{"name: [a]\n", "p.yaml:1: name: wants text"}, Bad{"name: a b\n", "p.yaml:1: name"},
        Bad{"name: ~\n", "p.yaml:1: name", "not nothing"}, Bad{"name: \"\"\n", "p.yaml:1: name"},
        Bad{"user: {uid: 0}\n", "p.yaml:1: user.uid", "root"}, Bad{"user: {gid: 4294967295}\n", "p.yaml:1: user.gid"},
        Bad{"user: {uid: -1}\n", "p.yaml:1: user.uid"},
        Bad{"require:\n  - landlok\n", "p.yaml:2: require: \"landlok\" is no layer", "did you mean \"landlock\"?"},
        Bad{"audit: {mode: {seccmp: observe}}\n", "p.yaml:1: audit.mode: \"seccmp\"", "did you mean \"seccomp\"?"},
        Bad{"audit: {mode: {seccomp: off}}\n", "p.yaml:1: audit.mode.seccomp: \"off\" is none of enforce, observe"},
        Bad{"blocklist:\n  - [a, b]\n  - [a]\n", "p.yaml:3: blocklist", "two words"},
        Bad{"blocklist: [a, b]\n", "p.yaml:1: blocklist"}, Bad{"blocklist: [[a, b, c]]\n", "p.yaml:1: blocklist"},
        Bad{"blocklist: [[a, [b]]]\n", "p.yaml:1: blocklist"},
        Bad{"imports: {additional: [\"os; x\"]}\n", "p.yaml:1: imports"},
        Bad{"stages: {pre: [\"\"]}\n", "p.yaml:1: stages.pre"},
        Bad{"stages:\n  pre:\n    - blocklist_audit\n    - ast_scn\n",
            "p.yaml:4: stages.pre: Unknown pre-execution stage: ast_scn", "did you mean \"ast_scan\"?"},
        Bad{"stages:\n  post: [ast_scan]\n", "p.yaml:2: stages.post: Unknown post-execution stage: ast_scan",
            "it belongs into stages.pre"},
        Bad{"stages: {post: [scan]}\n", "p.yaml:1: stages.post: Unknown post-execution stage: scan", "there is inspect"}));
INSTANTIATE_TEST_SUITE_P(
    PathsAndEnv, BadProfile,
    testing::Values(Bad{"filesystem:\n  read:\n    - /ok\n    - relative\n",
                        "p.yaml:4: filesystem.read: \"relative\" is not absolute"},
                    Bad{"filesystem: {read: [/a/../b]}\n", "p.yaml:1: filesystem.read", ".."},
                    Bad{"filesystem: {write: [/a/]}\n", "p.yaml:1: filesystem.write"},
                    Bad{"filesystem: {read: [/a//b]}\n", "p.yaml:1: filesystem.read"},
                    Bad{"filesystem: {read: [~/x]}\n", "p.yaml:1: filesystem.read", "not expanded"},
                    Bad{"filesystem: {read: [\"/a\\0b\"]}\n", "p.yaml:1: filesystem.read", "NUL"},
                    Bad{"filesystem: {write: [\"/a\\nb\"]}\n", "p.yaml:1: filesystem.write", "line break"},
                    Bad{"filesystem: {read: /a}\n", "p.yaml:1: filesystem.read: wants a list"},
                    Bad{"filesystem:\n  read: [/a]\n  deny:\n    - /a\n",
                        "p.yaml:2: filesystem.read: \"/a\" is granted here and denied in p.yaml:4"},
                    Bad{"filesystem:\n  deny:\n    - \"**/.env\"\n    - \"{a,b}\"\n",
                        "p.yaml:4: filesystem.deny: \"{a,b}\" uses { }"},
                    Bad{"filesystem: {deny: [\"a\\0\"]}\n", "p.yaml:1: filesystem.deny", "NUL"},
                    Bad{"env: {pass: [\"LC_*\"]}\n", "p.yaml:1: env.pass: \"LC_*\"", "exact name"},
                    Bad{"env: {pass: [A=B]}\n", "p.yaml:1: env.pass"},
                    Bad{"env:\n  set:\n    OK: 1\n    1X: 2\n", "p.yaml:4: env.set: \"1X\""},
                    Bad{"env: {set: {A: \"x\\0y\"}}\n", "p.yaml:1: env.set", "NUL"},
                    Bad{"env: {set: {A: }}\n", "p.yaml:1: env.set.A"},
                    Bad{"env: {set: {A: [b]}}\n", "p.yaml:1: env.set.A"},
                    Bad{"env: {set: {A: \"" + std::string(131072, 'x') + "\"}}\n", "p.yaml:1: env.set", "128 KiB"}));
INSTANTIATE_TEST_SUITE_P(
    Yaml, BadProfile,
    testing::Values(
        Bad{"", "p.yaml:1: "}, Bad{"# only a comment\n", "p.yaml:1: "}, Bad{"- a\n", "p.yaml:1: "},
        Bad{"just text\n", "p.yaml:1: "}, Bad{"name: a\nb: &x [1]\n", "p.yaml:2: anchors and aliases"},
        Bad{"name: &x a\n", "p.yaml:1: anchors"}, Bad{"name: a\n*x : b\n", "p.yaml:2: "},
        Bad{"a: &a [1]\nb: [*a, *a]\n", "p.yaml:1: anchors"},
        Bad{"name: a\nlimits: !!python/object {}\n", "p.yaml:2: the tag"}, Bad{"name: !!str a\n", "p.yaml:1: the tag"},
        Bad{"---\nname: a\n---\nname: b\n", "p.yaml:", "more than one document"},
        Bad{"? [a]\n: b\n", "p.yaml:1: a key must be a word"}, Bad{"~: b\n", "p.yaml:1: a key must be a word"},
        Bad{"name: a\nlimits: {memory: 1M\n", "p.yaml:"}, Bad{"name: \"abc\n", "p.yaml:"},
        Bad{"name: a\n\tlimits: {}\n", "p.yaml:"}, Bad{"name: a\0b\n"s, "p.yaml:1: control character \"\\x00\""},
        Bad{"name: a\nlimits: {}\n\x04hidden: 1\n", "p.yaml:3: control character"},
        Bad{"name: a\ndescription: \xff\xfe\n", "p.yaml:2: not valid UTF-8"},
        Bad{"name: a\nfilesystem: {read: [\"/a\\_b\"]}\n", "p.yaml:2: ", "is not valid UTF-8"}, Bad{"\xff\xfen\0"s, "p.yaml:1: "},
        Bad{"name: " + std::string(kMaxProfileBytes, 'a'), "p.yaml:1: larger than 1M"},
        Bad{"a: " + std::string(1000, '['), "p.yaml:1: "},
        Bad{"preimport:\n" + deep_list(), "p.yaml:2: nested too deeply"}, Bad{std::string(100000, '{'), "p.yaml:1: "},
        Bad{std::string(500000, '['), "p.yaml:1: "}, Bad{"preimport: [" + std::string(200000, ',') + "]", "p.yaml:1: "},
        Bad{"extends: [a]\n", "p.yaml:1: extends"}, Bad{"extends: \"\"\n", "p.yaml:1: extends"},
        Bad{"name: a\nextends: strct\n", "p.yaml:2: there is no profile \"strct\"", "did you mean \"strict\"?"},
        Bad{"extends: ../x.yaml\n", "p.yaml:1: \"../x.yaml\": files cannot be used here"},
        Bad{"extends: a b\n", "p.yaml:1: \"a b\" is no name"}, Bad{"extends: ..\n", "p.yaml:1: \"..\" is no name"}));

TEST(Profile, ManyValuesAreRefusedBeforeTheyAreHeld) {
  std::string yaml = "preimport: [";
  for (int i = 0; i < 60000; ++i) yaml += "a,";
  EXPECT_NE(error_of(yaml + "a]").find("more than 50000 values"), std::string::npos);
}

// Texts of the largest size that made scanners quadratic. The bound is generous for a loaded machine; quadratic is
// minutes.
TEST(Profile, HostileTextOfFullSizeIsAnsweredSoon) {
  for (std::string unit : {"[", "{",  "- ",  "? ",  "a: ",  "&a ", "*a ", "!a ", "\"", "'",  "|\n",
                           "#", "\n", "a\n", "-\n", "a:\n", "%",   "[a,", "{a:", "[]", ": ", "\"a\" "}) {
    std::string yaml;
    while (yaml.size() + unit.size() <= kMaxProfileBytes) yaml += unit;
    auto start = std::chrono::steady_clock::now();
    (void)parse(yaml).ok();
    EXPECT_LT(std::chrono::steady_clock::now() - start, seconds(20)) << hotcell::quoted(unit);
  }
}

}  // namespace
}  // namespace hotcell
