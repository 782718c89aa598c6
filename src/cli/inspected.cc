#include "cli/inspected.h"

#include "base/strings.h"
#include "cli/say.h"
#include "cli/state.h"
#include "core/remote/launcher_process.h"
#include "manager/finding_notes.h"
#include "sys/file.h"

namespace hotcell {

namespace {
constexpr std::size_t kMostShown = 8;  // more than a person reads; --json has them all
}  // namespace

Result<OutputInspector> OutputInspector::create(const Parsed& parsed, const Policy& policy) {
  OutputInspector out;
  auto asked = parsed.last(Opt::kInspectOutput);
  out.order_ = output_order(asked ? inspect_mode(*asked).value_or(InspectMode::kBlock) : InspectMode::kOff, policy);
  auto rules = parsed.last(Opt::kRules);
  if (rules && !out.on()) return make_error(ErrorCode::kInvalid, "--rules goes with --inspect");
  if (!out.on()) return out;
  TRY_SET(out.program_, remote::find_program_of_ours("hotcell-inspect").context("--inspect"));
  if (!rules) return out;
  TRY_SET(std::string yaml, sys::read_file(std::string(*rules).c_str()).context("--rules"));
  out.order_.rules.emplace_back(std::string(*rules), std::move(yaml));
  // A mistake in them is told before the program runs, not when its output has to be withheld for it.
  TRY_SET(auto child, start_inspector(out.program_));
  InspectQuestion trial;
  trial.rules = out.order_.rules;
  TRY(child->ask(trial));
  return out;
}

std::optional<OutputInspection> OutputInspector::look(Report& report) const {
  return inspect_output(report, order_, [this] { return start_inspector(program_); });
}

void audit_findings(const Parsed& parsed, const Report& report, const std::optional<OutputInspection>& found, const std::string& cell) {
  if (!found) return;
  FindingAudit(parsed).tell(inspection_events(*found, report.id, "local", cell));
}

void FindingAudit::tell(std::vector<AuditEvent> events) {
  if (events.empty() || failed_) return;
  auto open = [&]() -> Result<std::unique_ptr<AuditLog>> {
    TRY_SET(std::string folder, state_folder(parsed_, Missing::kMake));
    return AuditLog::open(folder);
  };
  if (!log_) {
    auto opened = open();
    if (!opened.ok()) return fail(opened.error().message);
    log_ = std::move(opened).value();
  }
  for (auto& event : events) log_->append(std::move(event));
}

FindingAudit::~FindingAudit() { finish(); }

std::string FindingAudit::finish() {
  if (log_) log_->flush();
  if (auto why = log_ ? log_->last_error() : std::string(); !why.empty()) fail(why);
  log_.reset();
  return why_;
}

void FindingAudit::fail(const std::string& why) {
  failed_ = true;
  why_ = why;
  say(cat("what was found is not in the audit log: ", why));
}

std::vector<std::string> inspection_words(const OutputInspection& inspection) {
  std::vector<std::string> out;
  for (const auto& f : inspection.findings) {
    if (out.size() == kMostShown) {
      out.push_back(cat("and ", inspection.findings.size() - kMostShown, " more findings (see --json)"));
      break;
    }
    out.push_back(cat(printable(f.stream), ":", f.offset, ": ", f.level, ": ", f.message, " [", f.rule, "]"));
  }
  if (!inspection.message.empty()) out.push_back(inspection.message);
  return out;
}

int inspected_exit_code(const std::optional<OutputInspection>& found, int own) {
  if (!found || !found->withheld) return own;
  return found->failure.empty() ? kExitWithheld : exit_code_of(ErrorCode::kInternal);
}

}  // namespace hotcell
