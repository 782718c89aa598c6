// `--inspect` of run and cell exec: the output is looked at, and shown, marked or withheld.
#pragma once
#include <optional>
#include <string>
#include <vector>

#include "cli/options.h"
#include "hotcell/policy.h"
#include "hotcell/report.h"
#include "manager/inspect_output.h"
#include "store/audit_log.h"

namespace hotcell {

inline constexpr int kExitWithheld = 123;  // the program ran; what it wrote is not shown

class OutputInspector {
 public:
  // What the options ask for, or the policy if it wants more. An inspector that is not there is an error now, before anything runs.
  static Result<OutputInspector> create(const Parsed& parsed, const Policy& policy);

  bool on() const { return order_.mode != InspectMode::kOff; }
  bool holds() const { return holds_output(order_.mode); }
  std::optional<OutputInspection> look(Report& report) const;

 private:
  OutputOrder order_;
  std::string program_;
};

// The audit of the state folder, which is made when there is something for it. What cannot be written is said on stderr, once.
class FindingAudit {
 public:
  explicit FindingAudit(const Parsed& parsed) : parsed_(parsed) {}
  ~FindingAudit();
  FindingAudit(const FindingAudit&) = delete;
  FindingAudit& operator=(const FindingAudit&) = delete;
  void tell(std::vector<AuditEvent> events);
  std::string finish();   // all is written now, or the reason why not

 private:
  void fail(const std::string& why);
  const Parsed& parsed_;
  std::unique_ptr<AuditLog> log_;
  std::string why_;
  bool failed_ = false;
};

// Tells the audit what was found; nothing when that is nothing. `cell`: the lasting one it ran in, else empty.
void audit_findings(const Parsed& parsed, const Report& report, const std::optional<OutputInspection>& found, const std::string& cell);
std::vector<std::string> inspection_words(const OutputInspection& inspection);
// 123 when the output is withheld for what was found, 125 when it could not be inspected; else `own`.
int inspected_exit_code(const std::optional<OutputInspection>& found, int own);

}  // namespace hotcell
