#include "base/strings.h"
#include "inspect/decode.h"
#include "inspect/rule_set.h"

namespace hotcell::inspect {

RuleParts rule_parts() {
  RuleParts parts;
  auto rules = builtin_rules();
  for (std::uint32_t i = 0; i < rules.size(); ++i) {
    const BuiltinRule& r = rules[i];
    bool letters = r.kind == "squeezed", of_arguments = r.kind == "sql" || r.kind == "traversal" || r.kind == "c2";
    auto& part = letters ? parts.squeezed : of_arguments ? parts.arguments : parts.text;
    part.scan.push_back({std::string(r.sign.empty() ? r.pattern : r.sign), r.caseless, r.check == "leet", false});
    part.rules.push_back(i);
  }
  parts.first_caesar = static_cast<std::uint32_t>(parts.text.scan.size());
  for (int by = 1; by < 26; ++by)
    parts.text.scan.push_back({cat("\\b(?:", rot("previous", by), "|", rot("instructions", by), "|", rot("disregard", by), "|", rot("prompt", by), ")"), true, false, true});
  return parts;
}

}  // namespace hotcell::inspect
