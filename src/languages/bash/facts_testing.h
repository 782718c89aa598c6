// For the tests beside it: a script judged by the rules of this folder.
#pragma once
#include "languages/analysers.h"
#include "languages/verify_testing.h"

namespace hotcell::bash {

inline testing_rules::Judged judged(const std::string& script, VerifyLevel level = VerifyLevel::kDefault) {
  static const std::vector<Rule> rules = testing_rules::rules_of("bash");
  testing_rules::Judged out;
  VerifyOptions options;
  options.level = level;
  out.findings = judge(SourceText(script), "script", bash_facts(script), rules, options);
  return out;
}

inline bool has_fact(const std::string& script, FactKind kind, std::string_view name) {
  for (const Fact& f : bash_facts(script))
    if (f.kind == kind && f.name == name) return true;
  return false;
}

}  // namespace hotcell::bash
