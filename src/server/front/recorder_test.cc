// What is told of an execution besides its result: a real audit log, the metrics' text, spans and lines of the log.
#include "server/front/recorder.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <functional>

#include "manager/report_json.h"
#include "store/store_testing.h"

namespace hotcell::server {
namespace {

using std::chrono::milliseconds;

class RecorderTest : public ::testing::Test {
 protected:
  void SetUp() override {
    auto opened = AuditLog::open(folder_.path());
    ASSERT_TRUE(opened.ok()) << opened.error().message;
    audit_ = std::move(opened).value();
    recorder_.emplace(*audit_, metrics_, &traces_, log_);
    hooks_ = recorder_->hooks();
  }

  // As the manager tells it.
  void ends(Report report, bool from_stock = false) {
    ExecutionRecord r = ended_record(++number_);
    r.status = report.verdict.status();
    r.exit_reason = std::string(to_string(report.verdict.reason));
    r.exit_code = report.verdict.exit_code;
    r.error = result_error(report);
    report.enforcement.layers.push_back({Layer::kSeccomp, LayerStatus::kFull, ""});
    hooks_.ended(r, &report, milliseconds(1), from_stock);
  }
  // The newest line of the audit log.
  std::string newest() {
    audit_->flush();
    auto lines = read_audit(folder_.path(), 0, 1);
    return lines.ok() && !lines.value().empty() ? lines.value()[0].json : std::string();
  }
  std::uint64_t entries() {
    audit_->flush();
    return audit_->entries();
  }
  bool metric(std::string_view line) const { return metrics_.text({}).find(cat(line, "\n")) != std::string::npos; }
  static Report ended(ExitReason reason) {
    Report r;
    r.verdict.reason = reason;
    return r;
  }

  TestFolder folder_;
  std::unique_ptr<AuditLog> audit_;
  Metrics metrics_;
  std::vector<std::string> bodies_;
  Traces traces_{[this](std::string body) { bodies_.push_back(std::move(body)); }};
  Log log_{"error", "text"};
  std::optional<Recorder> recorder_;
  ExecutionHooks hooks_;
  std::uint64_t number_ = 0;
};

bool has(const std::string& text, std::string_view part) { return text.find(part) != std::string::npos; }

TEST_F(RecorderTest, WhatWasEndedFromOutsideIsInTheAuditWithItsSentence) {
  struct {
    ExitReason reason;
    const char *what, *message;
  } rows[] = {{ExitReason::kTimeoutWall, "timeout/timeout_kill", "execution timeout"},
              {ExitReason::kTimeoutCpu, "timeout/timeout_kill", "execution timeout"},
              {ExitReason::kMemory, "memory/oom_kill", "resource limit exceeded: memory"},
              {ExitReason::kPolicy, "seccomp/killed", "execution killed: it did what its policy forbids"}};
  std::uint64_t expected = 0;
  for (const auto& row : rows) {
    ends(ended(row.reason));
    EXPECT_EQ(entries(), ++expected) << row.what;
    const std::string line = newest();
    EXPECT_TRUE(has(line, row.what)) << line;
    EXPECT_TRUE(has(line, cat("\"", std::string_view(row.message), "\""))) << line;
    EXPECT_TRUE(has(line, cat("id-", number_))) << line;
  }
  EXPECT_TRUE(metric("hotcell_audit_entries_total 4"));
  EXPECT_TRUE(metric("hotcell_verdicts_total{reason=\"memory\"} 1"));
}

TEST_F(RecorderTest, AProgramThatEndsByItselfIsNothingToAnswerFor) {
  Report fine = ended(ExitReason::kExited);
  fine.verdict.exit_code = 3;
  ends(fine);
  ends(ended(ExitReason::kSignal));
  EXPECT_EQ(entries(), 0u);
}

TEST_F(RecorderTest, AFindingWasEnforcedWhereItKeptTheProgramFromRunningAndElseObserved) {
  Report refused = ended(ExitReason::kVerification);
  refused.findings.push_back({"python-os-system", "system_call", "error", "main.py", "runs a command", "", "", 2, 1});
  refused.findings.push_back({"python-note", "system_call", "warning", "main.py", "only a warning", "", "", 3, 1});
  ends(refused);
  EXPECT_EQ(entries(), 1u) << "warnings are no findings to answer for";
  const std::string enforced = newest();
  EXPECT_TRUE(has(enforced, "verification/python-os-system") && has(enforced, "runs a command")) << enforced;
  Report ran = ended(ExitReason::kExited);
  ran.verdict.exit_code = 0;
  ran.findings = refused.findings;
  ends(ran);
  EXPECT_EQ(entries(), 2u);
  const std::string observed = newest();
  EXPECT_TRUE(has(observed, "verification/python-os-system")) << observed;
  EXPECT_TRUE(has(enforced, "enforced") && !has(enforced, "observed")) << enforced;
  EXPECT_TRUE(has(observed, "observed") && !has(observed, "enforced")) << observed;
}

TEST_F(RecorderTest, DenialsAreCountedByLayerAndTheirTellingHasAnEnd) {
  Report report = ended(ExitReason::kExited);
  for (int i = 0; i < 150; ++i) report.denials.push_back({"seccomp", "ptrace was refused", cat("call", i), "", 2});
  ends(report);
  EXPECT_EQ(entries(), 100u);
  EXPECT_TRUE(metric("hotcell_denials_total{layer=\"seccomp\"} 300"));
  EXPECT_TRUE(has(newest(), "seccomp/denied"));
}

TEST_F(RecorderTest, StartsAreToldApartByTheirPath) {
  Report cold = ended(ExitReason::kExited);
  cold.setup_ns = {{"clone", milliseconds(20)}, {"hand_over", milliseconds(2)}};
  Report stamped = cold;
  stamped.setup_ns[0].first = "stamp";
  ends(cold);
  ends(stamped);
  ends(stamped);
  ends(stamped, true);   // it was parked: nobody waited for the stamping
  EXPECT_TRUE(metric("hotcell_start_seconds_count{path=\"cold\"} 1")) << metrics_.text({});
  EXPECT_TRUE(metric("hotcell_start_seconds_count{path=\"template\"} 2"));
  EXPECT_TRUE(metric("hotcell_start_seconds_count{path=\"warm\"} 1"));
  EXPECT_TRUE(metric("hotcell_start_seconds_sum{path=\"warm\"} 0.002"));
  EXPECT_TRUE(metric("hotcell_start_seconds_sum{path=\"template\"} 0.044"));
  traces_.flush();
  EXPECT_EQ(bodies_.size(), 1u);
}

TEST_F(RecorderTest, ALauncherThatStopsIsToldAndItsSuccessorCounted) {
  hooks_.launcher(true);
  EXPECT_TRUE(metric("hotcell_launcher_restarts_total 0"));
  hooks_.launcher(false);
  EXPECT_TRUE(has(newest(), "launcher/stopped"));
  hooks_.launcher(true);
  EXPECT_TRUE(metric("hotcell_launcher_restarts_total 1"));
}

// What goes to standard error while `work` runs.
std::string said(const std::function<void()>& work) {
  int ends[2];
  if (::pipe2(ends, O_CLOEXEC) != 0) return "no pipe";
  const int before = ::dup(STDERR_FILENO);
  ::dup2(ends[1], STDERR_FILENO);
  work();
  ::dup2(before, STDERR_FILENO);
  ::close(before);
  ::close(ends[1]);
  std::string text;
  char buffer[4096];
  for (ssize_t n; (n = ::read(ends[0], buffer, sizeof buffer)) > 0;) text.append(buffer, static_cast<std::size_t>(n));
  ::close(ends[0]);
  return text;
}

TEST(FrontLog, ALineIsAnObjectWhateverIsInItAndLessIsLeftOut) {
  const Log json("info", "json"), text("warning", "text");
  const std::string line = said([&] {
    json(LogLevel::kDebug, "not wanted");
    json(LogLevel::kWarning, "a \"b\"\nc", {{"id", std::string("x\0y\xff", 4)}, {"n", "1"}});
  });
  EXPECT_EQ(std::count(line.begin(), line.end(), '\n'), 1) << line;
  EXPECT_TRUE(line.starts_with("{\"time\":\"20") && line.ends_with("}\n")) << line;
  EXPECT_TRUE(has(line, R"("level":"warning","message":"a \"b\"\nc","id":"x\u0000y)")) << line;
  const std::string plain = said([&] {
    text(LogLevel::kInfo, "not wanted");
    text(LogLevel::kError, "two\nlines", {{"id", "x"}});
  });
  EXPECT_EQ(std::count(plain.begin(), plain.end(), '\n'), 1) << plain;
  EXPECT_TRUE(plain.starts_with("hotcell: error: two") && has(plain, " id=x")) << plain;
}

}  // namespace
}  // namespace hotcell::server
