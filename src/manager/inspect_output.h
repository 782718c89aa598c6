// Looks at what a program wrote before anybody is shown it: stdout, stderr, what a compiler said, and of what --rich brings
// back all that is text. What is withheld is kept nowhere.
#pragma once
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "hotcell/policy.h"
#include "hotcell/report.h"
#include "manager/inspector_child.h"
#include "manager/output_inspection.h"

namespace hotcell {

struct OutputOrder {
  InspectMode mode = InspectMode::kOff;
  std::vector<std::string> allowed_domains;                  // hosts data may go to
  std::vector<std::pair<std::string, std::string>> rules;    // of users: name, YAML
};

// What is asked for, or what the policy wants if that is stricter; the hosts are those its network allows.
OutputOrder output_order(InspectMode asked, const Policy& policy);

using StartInspector = std::function<Result<std::unique_ptr<InspectorChild>>()>;
// Changes what is to be marked or withheld; nothing is done, and nothing said, in mode off. What could not be inspected is
// withheld, unless it was only to be reported.
std::optional<OutputInspection> inspect_output(Report& report, const OutputOrder& order, const StartInspector& start);

// The text with marks around the lines of these findings, which are in the order of their offsets.
std::string marked_text(std::string_view text, const std::vector<const OutputFinding*>& findings, std::string_view mark);

}  // namespace hotcell
