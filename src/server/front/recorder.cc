#include "server/front/recorder.h"

#include <algorithm>

#include "base/strings.h"
#include "manager/finding_notes.h"

namespace hotcell::server {
namespace {

// What somebody waited for: of a cell that was there already only the handing over.
Nanoseconds setup_time(const Report& report, StartPath path) {
  Nanoseconds sum{0};
  for (const auto& [step, time] : report.setup_ns)
    if (path != StartPath::kWarm || step == "hand_over") sum += time;
  return sum;
}

StartPath path_of(const Report& report, bool from_stock) {
  if (from_stock) return StartPath::kWarm;
  const bool stamped = std::any_of(report.setup_ns.begin(), report.setup_ns.end(), [](const auto& step) { return step.first == "stamp"; });
  return stamped ? StartPath::kTemplate : StartPath::kCold;
}

}  // namespace

ExecutionHooks Recorder::hooks() {
  ExecutionHooks h;
  h.submitted = [this](const ExecutionRecord& r) {
    log_(LogLevel::kDebug, "execution submitted", {{"id", r.id}, {"client", r.client}, {"door", r.door}});
  };
  h.ended = [this](const ExecutionRecord& r, const Report* report, Nanoseconds waited, bool from_stock) {
    ended(r, report, waited, from_stock);
  };
  h.launcher = [this](bool up) {
    if (up && had_launcher_) metrics_.launcher_restarted();
    had_launcher_ = had_launcher_ || up;
    if (!up) {
      log_(LogLevel::kWarning, "the launcher process has stopped");
      AuditEvent e;
      e.layer = "launcher", e.action = "stopped", e.severity = AuditSeverity::kHigh;
      e.message = "the launcher process has stopped; what ran in it has failed";
      audit_.append(std::move(e));
    }
  };
  h.inspected = [this](const ExecutionRecord& r, const OutputInspection& found) { inspected(found, r.id, r.client, {}); };
  return h;
}

void Recorder::ended(const ExecutionRecord& record, const Report* report, Nanoseconds waited, bool from_stock) {
  if (report == nullptr) return;
  RunSample sample;
  sample.started = !report->enforcement.layers.empty();
  sample.path = path_of(*report, from_stock);
  sample.start = setup_time(*report, sample.path);
  sample.total = waited + report->duration + sample.start;
  sample.exit_reason = record.exit_reason;
  for (const auto& d : report->denials) sample.denials[d.layer] += d.count;
  sample.out_bytes = report->out_bytes;
  sample.err_bytes = report->err_bytes;
  metrics_.ran(sample);
  if (traces_ != nullptr) traces_->add(trace_of(record, *report, from_stock));
  audit(record, *report);
  if (log_.wants(LogLevel::kDebug))
    log_(LogLevel::kDebug, "execution ended", {{"id", record.id}, {"status", std::string(to_string(record.status))},
                                               {"reason", record.exit_reason}, {"error", record.error}});
  else if (record.exit_reason == "sandbox_error" && !record.exit_code)
    log_(LogLevel::kWarning, "an execution failed on our side", {{"id", record.id}, {"error", record.error}});
}

void Recorder::audit(const ExecutionRecord& record, const Report& report) {
  auto append = [&](std::string layer, std::string action, AuditEffect effect, AuditSeverity severity, std::string message,
                    std::map<std::string, std::string> details = {}) {
    AuditEvent e;
    e.layer = std::move(layer);
    e.action = std::move(action);
    e.effect = effect;
    e.severity = severity;
    e.message = std::move(message);
    e.details = std::move(details);
    e.execution = record.id;
    e.client = record.client;
    audit_.append(std::move(e));
    metrics_.audit_entry();
  };
  // That a program ran and ended is in the history; here is what somebody may have to answer for.
  const auto refused = report.verdict.reason == ExitReason::kVerification ? AuditEffect::kEnforced : AuditEffect::kObserved;
  std::size_t told = 0;
  for (const auto& f : report.findings) {
    if (f.severity != "error" || ++told > 100) continue;
    append("verification", f.rule, refused, AuditSeverity::kHigh, f.message, {{"line", cat(f.line)}, {"file", f.file}});
  }
  told = 0;
  for (const auto& d : report.denials) {
    if (++told > 100) break;
    append(d.layer, "denied", AuditEffect::kEnforced, AuditSeverity::kMedium, d.what, {{"subject", d.subject}, {"count", cat(d.count)}});
  }
  for (const auto& n : report.notices) append("proxy", "noticed", AuditEffect::kObserved, AuditSeverity::kMedium, n, {});
  switch (report.verdict.reason) {
    case ExitReason::kTimeoutWall:
    case ExitReason::kTimeoutCpu: append("timeout", "timeout_kill", AuditEffect::kEnforced, AuditSeverity::kMedium, record.error); break;
    case ExitReason::kMemory: append("memory", "oom_kill", AuditEffect::kEnforced, AuditSeverity::kMedium, record.error); break;
    case ExitReason::kPolicy: append("seccomp", "killed", AuditEffect::kEnforced, AuditSeverity::kHigh, record.error); break;
    default: break;
  }
}

void Recorder::inspected(const OutputInspection& inspection, const std::string& execution, const std::string& client, const std::string& cell) {
  for (auto& event : inspection_events(inspection, execution, client, cell)) {
    audit_.append(std::move(event));
    metrics_.audit_entry();
  }
}

}  // namespace hotcell::server
