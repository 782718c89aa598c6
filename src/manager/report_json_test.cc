#include "manager/report_json.h"

#include <gtest/gtest.h>

namespace hotcell {
namespace {

using std::chrono::nanoseconds;
using std::chrono::system_clock;

system_clock::time_point at(std::int64_t ns) {
  return system_clock::time_point(std::chrono::duration_cast<system_clock::duration>(nanoseconds(ns)));
}

bool contains(const std::string& text, std::string_view part) { return text.find(part) != std::string::npos; }

TEST(ReportJson, TimesAreRfc3339UtcWithNanoseconds) {
  EXPECT_EQ(rfc3339(at(0)), "1970-01-01T00:00:00.000000000Z");
  EXPECT_EQ(rfc3339(at(1709210096123456789)), "2024-02-29T12:34:56.123456789Z");
  EXPECT_EQ(rfc3339(at(-1)), "1969-12-31T23:59:59.999999999Z");
}

TEST(ReportJson, HasTheFieldsOfTheContractInOrder) {
  Report r;
  r.id = "c1";
  r.verdict.exit_code = 0;
  r.out = "hi\n";
  r.out_bytes = 3;
  r.setup_ns = {{"clone", nanoseconds(7)}};
  r.enforcement = {"native", {{Layer::kSeccomp, LayerStatus::kFull, "mode 2"}}};
  auto json = report_json(r, JsonStyle::kOneLine);
  EXPECT_EQ(
      json,
      R"({"id":"c1","status":"completed","exit_code":0,"signal":null,"exit_reason":"exited",)"
      R"("stdout":"hi\n","stderr":"",)"
      R"("stdout_bytes":3,"stderr_bytes":0,"stdout_truncated":false,"stderr_truncated":false,)"
      R"("start_time":"1970-01-01T00:00:00.000000000Z","end_time":"1970-01-01T00:00:00.000000000Z","duration":0,)"
      R"("error":"","resource_usage":{"cpu_time_ns":0,"cpu_user_ns":0,"cpu_system_ns":0,"memory_peak_bytes":0,)"
      R"("io_read_bytes":0,"io_write_bytes":0,"processes_peak":0},"enforcement":{"backend":"native","layers":)"
      R"([{"name":"seccomp","status":"full","detail":"mode 2"}]},"denials":[],"denials_complete":false,"notices":[],)"
      R"("findings":[],"outputs":[],"compile":null,"setup_ns":{"clone":7}})"
      "\n");
}

TEST(ReportJson, ASignalledProgramHasNoExitCode) {
  Report r;
  r.verdict.reason = ExitReason::kSignal;
  r.verdict.signal = 11;
  auto json = report_json(r, JsonStyle::kOneLine);
  EXPECT_TRUE(contains(json, R"("status":"failed","exit_code":null,"signal":11,"exit_reason":"signal")")) << json;
}

TEST(ReportJson, OutputThatIsNoUtf8IsBase64) {
  Report r;
  r.out = "\xFF\xFE";
  r.err = "fine";
  auto json = report_json(r, JsonStyle::kOneLine);
  EXPECT_TRUE(contains(json, R"("stdout_base64":"//4=","stderr":"fine")")) << json;
  EXPECT_FALSE(contains(json, R"("stdout":)"));
}

TEST(ReportJson, ACharacterCutByTheLimitDoesNotSpoilTheText) {
  Report r;
  r.out = "a\xE2\x82\xAC\xE2\x82";
  r.out_truncated = true;
  EXPECT_TRUE(contains(report_json(r, JsonStyle::kOneLine), "\"stdout\":\"a\xE2\x82\xAC\""));
  r.out_truncated = false;
  EXPECT_TRUE(contains(report_json(r, JsonStyle::kOneLine), "\"stdout_base64\":"));
}

TEST(ReportJson, ADenialNamesItsSubjectByKind) {
  Report r;
  r.denials = {{"seccomp", "ptrace was refused", "ptrace", "syscalls.allow: [ptrace]", 3},
               {"landlock", "read", "/etc/shadow", "", 1},
               {"proxy", "connect", "x.org", "", 1}};
  auto json = report_json(r, JsonStyle::kOneLine);
  EXPECT_TRUE(contains(json, R"("syscall":"ptrace","fix":"syscalls.allow: [ptrace]","count":3)")) << json;
  EXPECT_TRUE(contains(json, R"("path":"/etc/shadow")"));
  EXPECT_TRUE(contains(json, R"("host":"x.org")"));
}

TEST(ReportJson, OurOwnFailureHasTheSameShape) {
  auto json = report_json(failed_report(make_error(ErrorCode::kInvalid, "--memory: \"12Q\"")), JsonStyle::kOneLine);
  EXPECT_TRUE(contains(json, R"("status":"failed","exit_code":null,"signal":null,"exit_reason":"sandbox_error")"))
      << json;
  EXPECT_TRUE(contains(json, R"("error":"--memory: \"12Q\"")"));
}

TEST(EventJson, IsOneLineWithNumbersAsNumbers) {
  Event e{
      "limit.warning", "c1", at(1000), {{"limit_type", "memory"}, {"current", "81"}, {"max", "100"}, {"note", "12\n"}}};
  EXPECT_EQ(event_json(e), R"({"type":"limit.warning","id":"c1","time":"1970-01-01T00:00:00.000001000Z",)"
                           R"("current":81,"limit_type":"memory","max":100,"note":"12\n"})");
}

}  // namespace
}  // namespace hotcell
