// What inspectors found, as lines for the audit: one for each finding, and where there are very many one that lists the
// rest. A text that is nothing but findings fills no disk, and nothing of it is left out.
#pragma once
#include <map>
#include <string>
#include <vector>

#include "manager/output_inspection.h"
#include "store/audit_log.h"

namespace hotcell {

struct FindingNote {
  std::string severity, message;
  std::map<std::string, std::string> details;
};

// `findings` with their `path` in arguments beside them, where they have one; `cut`: the inspector had more than it tells.
std::vector<FindingNote> finding_notes(const std::vector<OutputFinding>& findings, const std::vector<std::string>& paths, bool cut);

// One of them for the audit, but for what it was found in.
AuditEvent finding_event(FindingNote note);

// What was found in the output of a program, for the audit; `cell`: the lasting one it ran in, else empty.
std::vector<AuditEvent> inspection_events(const OutputInspection& inspection, const std::string& execution, const std::string& client, const std::string& cell);

}  // namespace hotcell
