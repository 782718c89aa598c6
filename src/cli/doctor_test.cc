#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <set>

#include "base/strings.h"
#include "cli/doctor_attack.h"
#include "cli/doctor_report.h"
#include "cli/doctor_scene.h"

namespace hotcell {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

Report report_with(ExitReason reason, std::string out, milliseconds took = milliseconds(10)) {
  Report r;
  r.verdict.reason = reason;
  r.verdict.exit_code = 0;
  r.out = std::move(out);
  r.duration = took;
  return r;
}

const AttackRow& row(std::string_view name) {
  for (const AttackRow& r : attack_rows())
    if (r.name == name) return r;
  ADD_FAILURE() << "no row " << name;
  return attack_rows().front();
}

Held judged(std::string_view name, const Report& report, const std::vector<std::string>& damage = {},
            seconds wall = seconds(10)) {
  return judge_attack(row(name), report, damage, wall).held;
}

TEST(AttackRows, TheEightThatAreAlwaysAskedForComeFirst) {
  std::vector<std::string_view> first;
  for (const AttackRow& r : attack_rows().first(8)) first.push_back(r.name);
  EXPECT_EQ(first, (std::vector<std::string_view>{"fork bomb", "memory", "CPU", "disk fill", "output flood", "network",
                                                  "file damage", "privilege escalation"}));
  std::set<std::string_view> names;
  for (const AttackRow& r : attack_rows()) EXPECT_TRUE(names.insert(r.name).second) << r.name;
}

TEST(AttackLine, LastResultCountsAndDetailKeepsItsSpaces) {
  AttackLine l = parse_attack_line("noise\nRESULT a open x\nRESULT mount blocked mount EPERM, bind EPERM\n");
  EXPECT_EQ(l.word, "blocked");
  EXPECT_EQ(l.detail, "mount EPERM, bind EPERM");
  EXPECT_EQ(parse_attack_line("").word, "");
  EXPECT_EQ(parse_attack_line("RESULT x blocked").detail, "");
}

TEST(JudgeAttack, OnlyARefusalHolds) {
  EXPECT_EQ(judged("mount", report_with(ExitReason::kExited, "RESULT mount blocked mount EPERM\n")), Held::kHeld);
  EXPECT_EQ(judged("mount", report_with(ExitReason::kExited, "RESULT mount open bind\n")), Held::kNotHeld);
  EXPECT_EQ(judged("mount", report_with(ExitReason::kExited, "RESULT mount unclear bind EXDEV\n")), Held::kPartial);
  EXPECT_EQ(judged("mount", report_with(ExitReason::kExited, "")), Held::kPartial);
  EXPECT_EQ(judged("mount", report_with(ExitReason::kSignal, "")), Held::kPartial);
  EXPECT_EQ(judged("mount", report_with(ExitReason::kSandboxError, "")), Held::kPartial);
}

TEST(JudgeAttack, WhatTheHostSawOverrulesWhatTheProgramSaid) {
  EXPECT_EQ(judged("file damage", report_with(ExitReason::kExited, "RESULT file-damage blocked x\n"), {"changed"}),
            Held::kNotHeld);
}

TEST(JudgeAttack, LimitMustBeTheOneThatWasMeant) {
  EXPECT_EQ(judged("CPU", report_with(ExitReason::kTimeoutCpu, "")), Held::kHeld);
  EXPECT_EQ(judged("CPU", report_with(ExitReason::kTimeoutWall, "")), Held::kPartial);
  EXPECT_EQ(judged("CPU", report_with(ExitReason::kExited, "RESULT cpu open ran\n")), Held::kNotHeld);
  EXPECT_EQ(judged("memory", report_with(ExitReason::kMemory, "")), Held::kHeld);
  EXPECT_EQ(judged("output flood", report_with(ExitReason::kOutput, "yyyy")), Held::kHeld);
}

TEST(JudgeAttack, LateAnswerIsNotHeld) {
  EXPECT_EQ(
      judged("escape of the deadline", report_with(ExitReason::kTimeoutWall, "", milliseconds(1100)), {}, seconds(1)),
      Held::kHeld);
  EXPECT_EQ(
      judged("escape of the deadline", report_with(ExitReason::kTimeoutWall, "", milliseconds(4000)), {}, seconds(1)),
      Held::kNotHeld);
  const std::string left = "RESULT stdout-orphan started x\n";
  EXPECT_EQ(judged("orphan holding stdout", report_with(ExitReason::kExited, left, milliseconds(300))), Held::kHeld);
  EXPECT_EQ(judged("orphan holding stdout", report_with(ExitReason::kExited, left, milliseconds(9000))),
            Held::kNotHeld);
}

TEST(JudgeAttack, GoingThroughAPartialLayerIsPartial) {
  Report r = report_with(ExitReason::kExited, "RESULT memory open 512 MiB in use\n");
  r.enforcement.layers.push_back({Layer::kMemory, LayerStatus::kPartial, "sampled"});
  EXPECT_EQ(judged("memory", r), Held::kPartial);
  r.enforcement.layers[0].status = LayerStatus::kFull;
  EXPECT_EQ(judged("memory", r), Held::kNotHeld);
}

TEST(Scene, SeesEachKindOfDamageAndMendsIt) {
  auto made = Scene::set();
  ASSERT_TRUE(made.ok()) << made.error().message;
  Scene scene = std::move(made).value();
  const std::string dir = scene.dir();
  EXPECT_TRUE(scene.damage().empty());

  const auto words = scene.words("x {canary} {victim} {token}");
  ASSERT_EQ(words.size(), 4U);
  ASSERT_EQ(truncate(words[1].c_str(), 0), 0);
  EXPECT_EQ(scene.damage(), (std::vector<std::string>{"a file of the host was changed"}));
  ASSERT_TRUE(scene.mend().ok());
  EXPECT_TRUE(scene.damage().empty());

  kill(static_cast<pid_t>(*parse_u64(words[2])), SIGKILL);
  usleep(50000);
  EXPECT_EQ(scene.damage(), (std::vector<std::string>{"a process of the host was killed"}));
  ASSERT_TRUE(scene.mend().ok());

  pid_t runner = fork();
  if (runner == 0) {
    setsid();
    execl("/bin/sh", "sh", "-c", "sleep 30", words[3].c_str(), nullptr);
    _exit(1);
  }
  for (int i = 0; i < 100 && scene.survivors().empty(); ++i) usleep(10000);
  EXPECT_EQ(scene.damage(), (std::vector<std::string>{"processes of the cell are still running"}));
  scene.end_survivors();
  waitpid(runner, nullptr, 0);
  EXPECT_TRUE(scene.damage().empty());
  {
    Scene ended = std::move(scene);
  }
  EXPECT_NE(access(dir.c_str(), F_OK), 0) << "the folder is left";
}

sys::Facts some_facts() {
  return {{{"kernel", "kernel", sys::Have::kYes, "6.1.0 x86_64", "", ""},
           {"cgroups", "cgroup_memory", sys::Have::kNo, "", "not delegated", "run as root"}}};
}

Report cell_report(LayerStatus memory, LayerStatus lsm) {
  Report r = report_with(ExitReason::kExited, "");
  r.enforcement.backend = "native";
  r.enforcement.layers = {
      {Layer::kPidNs, LayerStatus::kFull, ""}, {Layer::kMemory, memory, "sampled"}, {Layer::kLsm, lsm, ""}};
  return r;
}

TEST(DoctorReport, OkMeansRanAndNoLayerMissing) {
  EXPECT_TRUE(make_doctor_report(some_facts(), cell_report(LayerStatus::kFull, LayerStatus::kNone)).ok);
  EXPECT_TRUE(make_doctor_report(some_facts(), cell_report(LayerStatus::kPartial, LayerStatus::kFull)).ok);
  EXPECT_FALSE(make_doctor_report(some_facts(), cell_report(LayerStatus::kNone, LayerStatus::kFull)).ok);
  EXPECT_FALSE(make_doctor_report(some_facts(), make_error(ErrorCode::kUnsupported, "no user namespaces")).ok);
  Report failed = cell_report(LayerStatus::kFull, LayerStatus::kFull);
  failed.verdict.exit_code = 1;
  EXPECT_FALSE(make_doctor_report(some_facts(), failed).ok);
}

TEST(DoctorReport, PartialLayerCarriesTheAdviceOfItsFact) {
  DoctorReport r = make_doctor_report(some_facts(), cell_report(LayerStatus::kPartial, LayerStatus::kNone));
  const std::string text = doctor_text(r, false);
  EXPECT_NE(text.find("Layers in force for a default cell here (native)"), std::string::npos) << text;
  EXPECT_EQ(text.find('\x1b'), std::string::npos);
  auto at = text.find("partial  memory");
  ASSERT_NE(at, std::string::npos) << text;
  EXPECT_NE(text.find("-> run as root", at), std::string::npos) << text;
  EXPECT_NE(doctor_text(r, true).find('\x1b'), std::string::npos);
  const std::string json = doctor_json(r);
  EXPECT_NE(json.find("\"advice\": \"run as root\""), std::string::npos) << json;
}

TEST(DoctorReport, ControlBytesOfTheHostAreShownNotObeyed) {
  sys::Facts f = {{{"limits", "core_pattern", sys::Have::kYes, "|/x\x1b[2J", "", ""}}};
  DoctorReport r = make_doctor_report(f, make_error(ErrorCode::kIo, "x"));
  EXPECT_EQ(doctor_text(r, false).find('\x1b'), std::string::npos);
}

TEST(FindAttackProgram, SaysWhereItLooked) {
  auto r = find_attack_program("/nonexistent/bin/hotcell");
  ASSERT_FALSE(r.ok());
  EXPECT_NE(r.error().message.find("/nonexistent/bin"), std::string::npos);
}

}  // namespace
}  // namespace hotcell
