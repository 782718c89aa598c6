#include <gtest/gtest.h>

#include <functional>

#include "base/strings.h"
#include "core/policy/patch.h"
#include "core/policy/validate.h"

namespace hotcell {
namespace {

using std::chrono::seconds;

TEST(Apply, AnEmptyPatchChangesNothing) {
  for (auto name : preset_names()) {
    Policy p = *preset(name);
    apply(PolicyPatch{}, p);
    EXPECT_EQ(p, *preset(name));
  }
}

TEST(Apply, LimitsMergeFieldByField) {
  PolicyPatch patch;
  patch.limits.memory = 128_MiB;
  Policy p = strict_policy();
  apply(patch, p);
  EXPECT_EQ(p.limits.memory, 128_MiB);
  EXPECT_EQ(p.limits.wall, seconds(10));
  EXPECT_EQ(p.limits.processes, 1U);

  p.limits.address_space = 1_GiB;
  patch.limits.address_space.emplace();
  apply(patch, p);
  EXPECT_FALSE(p.limits.address_space);
}

TEST(Apply, ListsAppendWithoutRepeatingAndOriginsFollow) {
  Policy p = default_policy();
  p.filesystem.grants = {{"/a", Access::kRead, "x"}};
  p.filesystem.deny = {{"**/.env", "x"}};
  p.imports_allowed = {"math"};
  p.blocklist = {{"a", "b"}};
  p.env.set = {{"A", "1"}, {"B", "2"}};
  p.required = {Layer::kSeccomp};
  PolicyPatch patch;
  patch.grants = {{"/b", Access::kRead, "y"}, {"/a", Access::kWrite, "y"}};
  patch.deny = {{"**/.env", "y"}, {"*.key", "y"}};
  patch.imports_additional = {"math", "json"};
  patch.blocklist = {{"c", "d"}, {"a", "b"}};
  patch.env_set = {{"B", "3"}};
  patch.required = {Layer::kLandlock};
  patch.origins["env.set.B"] = "y:1";
  Origins origins{{"env.set.B", "x:1"}, {"env.set.A", "x:2"}};
  apply(patch, p, origins);
  EXPECT_EQ(p.filesystem.grants, (std::vector<FsGrant>{{"/b", Access::kRead, ""}, {"/a", Access::kWrite, ""}}));
  EXPECT_EQ(p.filesystem.deny, (std::vector<FsDeny>{{"**/.env", ""}, {"*.key", ""}}));
  EXPECT_EQ(p.filesystem.deny[0].origin, "x");
  EXPECT_EQ(p.imports_allowed, (std::vector<std::string>{"math", "json"}));
  EXPECT_EQ(p.blocklist, (std::vector<std::pair<std::string, std::string>>{{"a", "b"}, {"c", "d"}}));
  EXPECT_EQ(p.env.set, (std::map<std::string, std::string>{{"A", "1"}, {"B", "3"}}));
  EXPECT_EQ(p.required, (std::set<Layer>{Layer::kSeccomp, Layer::kLandlock}));
  EXPECT_EQ(origins, (Origins{{"env.set.A", "x:2"}, {"env.set.B", "y:1"}}));
}

TEST(Apply, ReadDoesNotTakeWriteAway) {
  Policy p = default_policy();
  p.filesystem.grants = {{"/a", Access::kWrite, ""}};
  PolicyPatch patch;
  patch.grants = {{"/a", Access::kRead, ""}};
  apply(patch, p);
  EXPECT_EQ(p.filesystem.grants, (std::vector<FsGrant>{{"/a", Access::kWrite, ""}}));
}

TEST(Apply, AuditIsReplacedAsAWhole) {
  Policy p = default_policy();
  PolicyPatch patch;
  patch.audit = {{"landlock", AuditMode::kEnforce}};
  apply(patch, p);
  EXPECT_FALSE(p.audit.contains("verification"));
}

TEST(Paths, ContainmentIsBySegments) {
  EXPECT_TRUE(path_contains("/a", "/a"));
  EXPECT_TRUE(path_contains("/a", "/a/b"));
  EXPECT_FALSE(path_contains("/a", "/ab"));
  EXPECT_FALSE(path_contains("/a/b", "/a"));
  EXPECT_TRUE(path_contains("/", "/x"));
}

// The ceiling of the table below: something to take away everywhere.
Policy ceiling() {
  Policy p = default_policy();
  p.name = "ceiling";
  p.limits.cpus = 2;
  p.limits.address_space = 1_GiB;
  p.filesystem.grants = {{"/data", Access::kRead, ""}, {"/out", Access::kWrite, ""}};
  p.filesystem.deny = {{"**/.env", ""}};
  p.network = {NetworkMode::kProxy, RuleMode::kAllowlist, {"a.example", "*.b.example"}, {"evil.example"}};
  p.syscalls.allow = {"ptrace"};
  p.syscalls.deny = {"socket"};
  p.syscalls.oci_file = "/etc/oci.json";
  p.env.pass = {"TERM"};
  p.env.set = {{"MODE", "safe"}};
  p.time_ns = true;
  p.required = {Layer::kSeccomp};
  p.imports_allowed = {"math", "json"};
  p.blocklist = {{"numpy", "ctypeslib"}};
  p.stages_pre = {"ast_scan"};
  p.audit = {{"verification", AuditMode::kEnforce}};
  p.warm = false;
  return p;
}

struct Widening {
  const char* field;
  std::function<void(Policy&)> widen;
};

class Wider : public testing::TestWithParam<Widening> {};

TEST_P(Wider, IsRefusedWithItsFieldAndOrigin) {
  Policy project = ceiling();
  ASSERT_TRUE(check_tightens(ceiling(), project, {}).ok()) << "the ceiling itself is no widening";
  GetParam().widen(project);
  // Every origin the fields could ask for, so that the message must have picked the right one.
  Origins origins;
  std::string field = GetParam().field;
  for (auto item : {"", ".x.example", ".bpf", ".HOME", ".MODE", ".LD_PRELOAD", ".landlock", ".ast_scan"})
    origins[field + item] = ".hotcell/p.yaml:7";
  origins["imports.additional.os"] = ".hotcell/p.yaml:7";
  auto result = check_tightens(ceiling(), project, origins);
  ASSERT_FALSE(result.ok());
  EXPECT_EQ(result.error().code, ErrorCode::kInvalid);
  EXPECT_TRUE(result.error().message.starts_with(".hotcell/p.yaml:7: " + field + ": ")) << result.error().message;
}

void grant(Policy& p, const char* path, Access access) {
  p.filesystem.grants.push_back({path, access, ".hotcell/p.yaml:7"});
}

INSTANTIATE_TEST_SUITE_P(
    Tighten, Wider,
    testing::Values(Widening{"limits.memory", [](Policy& p) { p.limits.memory.n++; }},
                    Widening{"limits.disk", [](Policy& p) { p.limits.disk.n++; }},
                    Widening{"limits.output", [](Policy& p) { p.limits.output.n++; }},
                    Widening{"limits.stack", [](Policy& p) { p.limits.stack.n++; }},
                    Widening{"limits.cpu_time", [](Policy& p) { p.limits.cpu_time += Nanoseconds(1); }},
                    Widening{"limits.wall", [](Policy& p) { p.limits.wall += Nanoseconds(1); }},
                    Widening{"limits.cpus", [](Policy& p) { p.limits.cpus = 2.5; }},
                    Widening{"limits.cpus", [](Policy& p) { p.limits.cpus = 0; }},
                    Widening{"limits.processes", [](Policy& p) { p.limits.processes++; }},
                    Widening{"limits.open_files", [](Policy& p) { p.limits.open_files++; }},
                    Widening{"limits.address_space", [](Policy& p) { p.limits.address_space = 2_GiB; }},
                    Widening{"limits.address_space", [](Policy& p) { p.limits.address_space.reset(); }},
                    Widening{"limits.on_output", [](Policy& p) { p.on_output = OnOutput::kTruncate; }},
                    Widening{"filesystem.read", [](Policy& p) { grant(p, "/database", Access::kRead); }},
                    Widening{"filesystem.read", [](Policy& p) { grant(p, "/", Access::kRead); }},
                    Widening{"filesystem.write", [](Policy& p) { grant(p, "/data/x", Access::kWrite); }},
                    Widening{"filesystem.write", [](Policy& p) { grant(p, "/usr/x", Access::kWrite); }},
                    Widening{"filesystem.deny", [](Policy& p) { p.filesystem.deny.clear(); }},
                    Widening{"network.mode", [](Policy& p) { p.network.mode = NetworkMode::kHost; }},
                    Widening{"network.rules", [](Policy& p) { p.network.rules = RuleMode::kBlocklist; }},
                    Widening{"network.rules", [](Policy& p) { p.network.rules = RuleMode::kOpen; }},
                    Widening{"network.allow", [](Policy& p) { p.network.allow.push_back("x.example"); }},
                    Widening{"network.block", [](Policy& p) { p.network.block.clear(); }},
                    Widening{"syscalls.allow", [](Policy& p) { p.syscalls.allow.push_back("bpf"); }},
                    Widening{"syscalls.deny", [](Policy& p) { p.syscalls.deny.clear(); }},
                    Widening{"syscalls.file", [](Policy& p) { p.syscalls.oci_file.clear(); }},
                    Widening{"env.pass", [](Policy& p) { p.env.pass.push_back("HOME"); }},
                    Widening{"env.set", [](Policy& p) { p.env.set["MODE"] = "wild"; }},
                    Widening{"env.set", [](Policy& p) { p.env.set["LD_PRELOAD"] = "/x.so"; }},
                    Widening{"user.uid", [](Policy& p) { p.uid = 1; }},
                    Widening{"user.gid", [](Policy& p) { p.gid = 4; }},
                    Widening{"time_ns", [](Policy& p) { p.time_ns = false; }},
                    Widening{"require", [](Policy& p) { p.required.clear(); }},
                    Widening{"audit.mode", [](Policy& p) { p.audit["landlock"] = AuditMode::kObserve; }},
                    Widening{"imports", [](Policy& p) { p.imports_allowed.push_back("os"); }},
                    Widening{"imports.allowed", [](Policy& p) { p.imports_allowed.clear(); }},
                    Widening{"preimport", [](Policy& p) { p.preimport = {"os"}; }},
                    Widening{"blocklist", [](Policy& p) { p.blocklist.clear(); }},
                    Widening{"stages.pre", [](Policy& p) { p.stages_pre = {"blocklist_audit"}; }},
                    Widening{"audit.mode", [](Policy& p) { p.audit["ast_scan"] = AuditMode::kObserve; }},
                    Widening{"warm", [](Policy& p) { p.warm = true; }}));

TEST(Tighten, StrictCannotBecomeDefault) {
  Policy project = strict_policy();
  project.syscalls.base = "default";
  EXPECT_NE(check_tightens(strict_policy(), project, {}).error().message.find("syscalls.base"), std::string::npos);
  project = strict_policy();
  project.filesystem.writable_scratch = true;
  EXPECT_NE(check_tightens(strict_policy(), project, {}).error().message.find("filesystem.tmp"), std::string::npos);
  project = strict_policy();
  project.audit = {{"verification", AuditMode::kObserve}};
  EXPECT_NE(check_tightens(strict_policy(), project, {}).error().message.find("verification"), std::string::npos);
  EXPECT_TRUE(check_tightens(default_policy(), strict_policy(), {}).ok());
  EXPECT_FALSE(check_tightens(strict_policy(), default_policy(), {}).ok());
}

TEST(Tighten, NarrowerInEveryFieldPasses) {
  Policy p = ceiling();
  p.limits = strict_policy().limits;
  p.limits.cpus = 0.5;
  p.limits.address_space = 512_MiB;
  p.filesystem.grants = {{"/data/sub", Access::kRead, ""},
                         {"/out/a", Access::kRead, ""},
                         {"/out/b", Access::kWrite, ""},
                         {"/usr/share", Access::kRead, ""}};
  p.filesystem.deny.push_back({"*.key", ""});
  p.network.allow = {"x.b.example"};
  p.syscalls.base = "strict";
  p.syscalls.allow.clear();
  p.env.pass.clear();
  p.env.set["OTHER"] = "1";
  p.uid = p.gid = 65534;
  p.required.insert(Layer::kLandlock);
  p.audit = {{"verification", AuditMode::kEnforce}};
  p.imports_allowed = {"math"};
  p.preimport = {"json"};
  auto result = check_tightens(ceiling(), p, {});
  EXPECT_TRUE(result.ok()) << result.error().message;
  p.network.mode = NetworkMode::kNone;
  p.network.allow = {"anything.example"};
  EXPECT_TRUE(check_tightens(ceiling(), p, {}).ok()) << "without a network its rules grant nothing";
}

TEST(Tighten, TakesOverWhatOnlyAddsRestriction) {
  Policy p = ceiling();
  p.filesystem.deny = {{"*.key", ""}};
  p.network.block.clear();
  p.syscalls.deny.clear();
  p.required.clear();
  p.blocklist.clear();
  p.stages_pre = {"blocklist_audit"};
  auto result = tighten(ceiling(), p, {});
  ASSERT_TRUE(result.ok()) << result.error().message;
  EXPECT_EQ(p.filesystem.deny, (std::vector<FsDeny>{{"**/.env", ""}, {"*.key", ""}}));
  EXPECT_EQ(p.stages_pre, (std::vector<std::string>{"ast_scan", "blocklist_audit"}));
  EXPECT_EQ(p.required, ceiling().required);
  EXPECT_EQ(p.syscalls.deny, ceiling().syscalls.deny);
}

TEST(Tighten, NoListOfStagesIsAllOfThem) {
  Policy most = strict_policy(), project = strict_policy();
  ASSERT_TRUE(most.stages_pre.empty());
  project.stages_pre = {"blocklist_audit"};
  EXPECT_NE(tighten(most, project, {}).error().message.find("\"ast_scan\" must stay"), std::string::npos);
  project.stages_pre = {"blocklist_audit", "ast_scan"};
  EXPECT_TRUE(tighten(most, project, {}).ok());
  most.stages_pre = {"ast_scan"};
  project.stages_pre.clear();
  EXPECT_TRUE(tighten(most, project, {}).ok());
  EXPECT_TRUE(project.stages_pre.empty()) << "still all of them";
  most = default_policy();
  project = *preset("minimal");
  EXPECT_TRUE(tighten(most, project, {}).ok()) << "there is no blocklist that its stage would look at";
  most.blocklist = {{"json", "loads"}};
  EXPECT_NE(tighten(most, project, {}).error().message.find("\"blocklist_audit\" must stay"), std::string::npos);
  // The ceiling enforces one stage and observes the rest; a project that leaves the word out would observe both.
  most = default_policy();
  most.audit["ast_scan"] = AuditMode::kEnforce;
  project = default_policy();
  EXPECT_NE(tighten(most, project, {}).error().message.find("\"ast_scan\" must stay enforced"), std::string::npos);
  project.audit["ast_scan"] = AuditMode::kEnforce;
  project.audit["blocklist_audit"] = AuditMode::kObserve;
  EXPECT_TRUE(tighten(most, project, {}).ok()) << "verification is observed, so the blocklist is";
}

TEST(Merge, ABlocklistBringsItsStage) {
  Policy p = *preset("minimal");
  PolicyPatch patch;
  patch.blocklist = {{"json", "loads"}};
  apply(patch, p);
  EXPECT_EQ(p.stages_pre, (std::vector<std::string>{"ast_scan", "blocklist_audit"}));
  p = *preset("minimal");
  patch.stages_pre = {"ast_scan"};
  apply(patch, p);
  EXPECT_EQ(p.stages_pre, std::vector<std::string>{"ast_scan"}) << "said in so many words";
  EXPECT_NE(join(warnings(p), "\n").find("does not look at the blocklist"), std::string::npos);
  p = default_policy();
  patch.stages_pre.reset();
  apply(patch, p);
  EXPECT_TRUE(p.stages_pre.empty()) << "all of them already";
}

TEST(Tighten, WhatCameWithAParentIsBlamedOnTheExtendsLine) {
  Policy p = *preset("dev");
  auto result = check_tightens(default_policy(), p, {{"extends", ".hotcell/p.yaml:2"}});
  ASSERT_FALSE(result.ok());
  EXPECT_TRUE(result.error().message.starts_with(".hotcell/p.yaml:2: limits.memory: 1G is more than the 256M allowed"))
      << result.error().message;
}

}  // namespace
}  // namespace hotcell
