#include "server/front/inspections.h"

#include <algorithm>

#include "base/strings.h"
#include "manager/finding_notes.h"
#include "server/json/json_value.h"

namespace hotcell::server {

namespace {

void note(const AuditDoor& audit, const JsonValue& inspection, const std::string& form, const std::string& client) {
  std::vector<OutputFinding> findings;
  std::vector<std::string> paths;
  for (const JsonValue& f : inspection.items("findings")) {
    auto text = [&](std::string_view name) { return std::string(f.text(name)); };
    findings.push_back({"", text("kind"), text("type"), text("level"), text("rule"), text("message"), "",
                        static_cast<std::uint64_t>(std::max<std::int64_t>(f.integer_or("offset", 0), 0))});
    paths.push_back(text("path"));
  }
  for (auto& found : finding_notes(findings, paths, inspection.boolean_or("cut", false))) {
    AuditNote n;
    n.layer = "inspect";
    n.action = "security.violation";
    n.severity = std::move(found.severity);
    n.message = std::move(found.message);
    n.details = std::move(found.details);
    n.details["form"] = form;
    n.client = client;
    audit.append(std::move(n));
  }
}

Result<std::string> checked(std::string text, const AuditDoor& audit, const std::string& form, const std::string& client) {
  auto json = parse_json(text);
  if (!json.ok() || json.value().find("safe") == nullptr || json.value().find("findings") == nullptr)
    return make_error(ErrorCode::kInternal, "the inspector's answer makes no sense");
  if (audit.append) note(audit, json.value(), form, client);
  return text;
}

}  // namespace

void inspect_and_note(Executions& executions, const AuditDoor& audit, InspectQuestion question, std::string client,
                      std::function<void(Result<std::string>)> done) {
  const auto& rules = executions.rules().inspect_rules;
  question.rules.insert(question.rules.begin(), rules.begin(), rules.end());
  std::string form = question.as;
  executions.inspect(std::move(question), [&audit, form = std::move(form), client = std::move(client),
                                           done = std::move(done)](Result<std::string> answer) {
    done(answer.ok() ? checked(std::move(answer).value(), audit, form, client) : std::move(answer));
  });
}

}  // namespace hotcell::server
