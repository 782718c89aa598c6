// What is looked for, as data: rules/*.yaml, checked and embedded when this is built.
#pragma once
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "hotcell/inspect.h"

namespace hotcell::inspect {

// How a match is judged further; `weight` rules are summed by the scorer (injection.cc).
struct BuiltinRule {
  std::string_view id, kind, type, message, pattern, group, check;
  std::string_view sign;  // looked for in place of the beginning of the pattern,
  int back;               // which is up to so many bytes before it
  ThreatLevel level;
  int weight;
  bool caseless;
};
std::span<const BuiltinRule> builtin_rules();

struct ReadRule {
  std::string id, kind, type, message, pattern, group, check, sign;
  int back = 0;
  ThreatLevel level = ThreatLevel::kMedium;
  int weight = 0;
  bool caseless = true;
};
// `builtin`: kind may also be trigger or squeezed, and group, weight, check, sign and back are known. Macros are expanded.
Result<std::vector<ReadRule>> read_rules(std::string_view yaml, std::string_view file, bool builtin);

}  // namespace hotcell::inspect
