#include "verify/embedded_rules.h"

namespace hotcell {

std::vector<Rule> embedded_rules(std::string_view language) {
  std::string_view below = language == "cpp" ? "c" : language == "typescript" ? "javascript" : "";
  std::vector<Rule> out;
  auto strings = [](std::span<const std::string_view> all) { return std::vector<std::string>(all.begin(), all.end()); };
  for (std::string_view wanted : {below, language})
    for (const EmbeddedRule& e : std::span(kEmbeddedRules, kEmbeddedRuleCount)) {
      if (wanted.empty() || e.language != wanted) continue;
      Rule r;
      r.id = e.id;
      r.type = e.type;
      r.reason = e.reason;
      r.fix = e.fix;
      r.at_default = e.at_default;
      r.at_strict = e.at_strict;
      r.on = e.on;
      r.match = strings(e.match);
      r.detail = strings(e.detail);
      r.unless = strings(e.unless);
      out.push_back(std::move(r));
    }
  return out;
}

}  // namespace hotcell
