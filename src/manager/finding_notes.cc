#include "manager/finding_notes.h"

#include <utility>

#include "base/strings.h"

namespace hotcell {

namespace {

constexpr std::size_t kMostNotes = 64;

FindingNote note_of(const OutputFinding& f, const std::string& path) {
  FindingNote n;
  n.severity = f.level;
  n.message = f.message;
  using Named = std::pair<const char*, const std::string*>;
  for (const auto& [name, text] : {Named("stream", &f.stream), Named("kind", &f.kind), Named("type", &f.type), Named("rule", &f.rule), Named("path", &path)})
    if (!text->empty()) n.details[name] = *text;
  n.details["offset"] = cat(f.offset);
  return n;
}

// All that are left, in short: "critical override-previous@120 stdout, …".
FindingNote note_of_rest(const std::vector<OutputFinding>& findings, const std::vector<std::string>& paths) {
  FindingNote n;
  std::string list;
  for (std::size_t i = kMostNotes; i < findings.size(); ++i) {
    const auto& f = findings[i];
    for (std::string_view level : {"critical", "high", "medium", "low"})
      if (f.level == level || n.severity == level) {  // the worse of the two comes first
        n.severity = level;
        break;
      }
    const std::string& where = i < paths.size() && !paths[i].empty() ? paths[i] : f.stream;
    list += cat(list.empty() ? "" : ", ", f.level, " ", f.rule, "@", f.offset, where.empty() ? "" : " ", where);
  }
  n.message = cat(findings.size() - kMostNotes, " more findings");
  n.details = {{"count", cat(findings.size() - kMostNotes)}, {"findings", std::move(list)}};
  return n;
}

}  // namespace

std::vector<FindingNote> finding_notes(const std::vector<OutputFinding>& findings, const std::vector<std::string>& paths, bool cut) {
  std::vector<FindingNote> out;
  for (std::size_t i = 0; i < findings.size() && i < kMostNotes; ++i)
    out.push_back(note_of(findings[i], i < paths.size() ? paths[i] : std::string()));
  if (findings.size() > kMostNotes) out.push_back(note_of_rest(findings, paths));
  if (cut) out.push_back({"medium", "there were more findings than the inspector tells one by one", {{"cut", "true"}}});
  return out;
}

AuditEvent finding_event(FindingNote note) {
  AuditEvent e;
  e.layer = "inspect";
  e.action = "security.violation";
  e.effect = AuditEffect::kObserved;
  e.severity = note.severity == "critical" ? AuditSeverity::kCritical
               : note.severity == "high"   ? AuditSeverity::kHigh
               : note.severity == "medium" ? AuditSeverity::kMedium
                                           : AuditSeverity::kLow;
  e.message = std::move(note.message);
  e.details = std::move(note.details);
  return e;
}

std::vector<AuditEvent> inspection_events(const OutputInspection& inspection, const std::string& execution, const std::string& client, const std::string& cell) {
  auto notes = finding_notes(inspection.findings, {}, inspection.cut);
  if (!inspection.failure.empty()) notes.push_back({"high", inspection.message, {}});
  std::vector<AuditEvent> out;
  for (auto& note : notes) {
    AuditEvent e = finding_event(std::move(note));
    if (!inspection.failure.empty()) e.action = "failed";
    if (inspection.withheld) e.effect = AuditEffect::kEnforced;
    e.details["mode"] = to_string(inspection.mode);
    if (!cell.empty()) e.details["cell"] = cell;
    e.execution = execution;
    e.client = client;
    out.push_back(std::move(e));
  }
  return out;
}

}  // namespace hotcell
