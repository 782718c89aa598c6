#include "cli/verdict_words.h"

#include <cstring>

#include "base/strings.h"
#include "core/policy/units.h"

namespace hotcell {

namespace {

constexpr std::size_t kMostDenials = 8;    // more than a person reads; --json has them all
constexpr std::size_t kMostExplained = 32;  // for those who asked for them

std::string signal_name(int number) {
  const char* name = ::sigabbrev_np(number);
  return name == nullptr ? cat("signal ", number) : cat("signal ", number, " (SIG", name, ")");
}

std::string with_error(std::string sentence, const std::string& error) {
  return error.empty() ? sentence : cat(sentence, ": ", error);
}

std::string ending(const Report& report, const Policy& policy) {
  const auto& limits = policy.limits;
  switch (report.verdict.reason) {
    case ExitReason::kExited: return report.error;
    case ExitReason::kSignal: return cat("ended by ", signal_name(report.verdict.signal.value_or(0)));
    case ExitReason::kTimeoutWall:
      return cat("stopped: ran longer than ", format_duration(limits.wall), " (raise with --timeout)");
    case ExitReason::kTimeoutCpu:
      return cat("stopped: used more than ", format_duration(limits.cpu_time), " of CPU time (raise with --cpu-time)");
    case ExitReason::kMemory:
      return cat("killed: used more than ", format_bytes(limits.memory), " of memory (raise with --memory)");
    case ExitReason::kOutput:
      return cat("killed: wrote more than ", format_bytes(limits.output), " to ",
                 report.err_truncated && !report.out_truncated ? "stderr" : "stdout",
                 " (raise with --output, or go on with --on-output truncate)");
    case ExitReason::kProcesses:
      return cat("failed after reaching ", limits.processes, " processes and threads (raise with --processes)");
    case ExitReason::kDisk:
      return cat("failed after filling ", format_bytes(limits.disk), " of disk (raise with --disk)");
    case ExitReason::kPolicy: return with_error("killed by policy", report.error);
    case ExitReason::kCancelled: return "cancelled";
    case ExitReason::kSandboxError: return with_error("the sandbox failed", report.error);
    case ExitReason::kCompileError: return with_error("does not compile", report.error);
    case ExitReason::kVerification: return with_error("refused by verification", report.error);
  }
  return report.error;
}

void add_cut(std::vector<std::string>& out, std::string_view stream, std::uint64_t bytes, const Policy& policy) {
  out.push_back(cat(stream, " was cut after ", format_bytes(policy.limits.output), " of ", format_bytes({bytes}),
                    " (raise with --output)"));
}

void add_denials(std::vector<std::string>& out, const Report& report, std::size_t most) {
  std::size_t shown = 0;
  for (const auto& d : report.denials) {
    if (shown++ == most) {
      out.push_back(cat("and ", report.denials.size() - most, " more refusals (see --json)"));
      return;
    }
    auto sentence = cat("refused by ", d.layer, ": ", d.what.empty() ? d.subject : d.what);
    if (d.count > 1) sentence += cat(" (", d.count, " times)");
    if (!d.fix.empty()) sentence += cat("; to allow it: ", d.fix);
    out.push_back(std::move(sentence));
  }
}

}  // namespace

std::vector<std::string> finding_words(const Report& report) {
  std::vector<std::string> out;
  for (const auto& f : report.findings) {
    if (f.severity != "error") continue;
    if (out.size() == kMostExplained) {
      out.push_back("and more findings (see --json)");
      break;
    }
    auto place = f.line > 0 ? cat(f.file, ":", f.line, ":", f.column) : f.file;
    out.push_back(cat(place, ": ", f.message, " [", f.rule, "]", f.fix.empty() ? "" : cat("; ", f.fix)));
  }
  return out;
}

std::vector<std::string> verdict_words(const Report& report, const Policy& policy, Talk talk) {
  std::vector<std::string> out = report.notices;
  // Programs try many things they can do without: a refusal matters to a person only when the program then failed.
  const bool failed = report.verdict.status() != RunStatus::kCompleted;
  if (policy.explain_denials) {
    add_denials(out, report, kMostExplained);
    if (!report.denials_complete) out.push_back("more may have been refused than could be recorded");
    else if (report.denials.empty()) out.push_back("no system call and no file was refused");
  } else if (failed || talk == Talk::kVerbose) {
    add_denials(out, report, kMostDenials);
  }
  if (report.verdict.reason != ExitReason::kOutput) {
    if (report.out_truncated) add_cut(out, "stdout", report.out_bytes, policy);
    if (report.err_truncated) add_cut(out, "stderr", report.err_bytes, policy);
  }
  if (auto sentence = ending(report, policy); !sentence.empty()) out.push_back(std::move(sentence));
  // Asked for by a flag or a profile, and weaker than asked: that is never left to --verbose.
  const auto* cpu = report.enforcement.find(Layer::kCpu);
  if (cpu && policy.limits.cpus > 0 && cpu->status != LayerStatus::kFull)
    out.push_back(cat("the quota of --cpus was not in force: ", cpu->detail));
  if (talk == Talk::kBrief) return out;
  for (const auto& l : report.enforcement.layers) {
    if (l.status == LayerStatus::kFull) continue;
    out.push_back(cat("layer ", to_string(l.layer), ": ", to_string(l.status), l.detail.empty() ? "" : ": ", l.detail));
  }
  return out;
}

}  // namespace hotcell
