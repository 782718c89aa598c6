// The rules of every language as constants: rules_gen.cc made them from rules.yaml when this was built.
#pragma once
#include <span>
#include <string_view>
#include <vector>

#include "verify/rules.h"

namespace hotcell {

struct EmbeddedRule {
  std::string_view language, id, type, reason, fix;
  Severity at_default, at_strict;
  FactKind on;
  std::span<const std::string_view> match, detail, unless;
};
extern const EmbeddedRule kEmbeddedRules[];
extern const std::size_t kEmbeddedRuleCount;

// The rules of a language: its own, below those of the language it grew out of (cpp: c, typescript: javascript).
std::vector<Rule> embedded_rules(std::string_view language);

}  // namespace hotcell
