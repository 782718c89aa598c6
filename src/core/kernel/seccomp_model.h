// The rules for one request on one architecture, resolved to numbers: what gets compiled, exported and intersected.
#pragma once
#include <cstdint>
#include <string_view>
#include <vector>

#include "core/kernel/seccomp_lists.h"
#include "core/kernel/seccomp_names.h"
#include "hotcell/result.h"

namespace hotcell {

struct Clause {
  std::vector<Condition> all;  // every one must hold
  Answer answer;
  std::string_view reason;
  bool operator==(const Clause& o) const { return all == o.all && answer == o.answer; }
};
struct CallRule {
  std::uint32_t number = 0;
  std::string_view name;
  std::vector<Clause> clauses;  // the first that holds decides
  Answer otherwise;
  std::string_view reason;
  bool same_effect(const CallRule& o) const { return clauses == o.clauses && otherwise == o.otherwise; }
};
struct FilterModel {
  Arch arch = kNativeArch;
  std::vector<CallRule> rules;  // by number, each once
  CallRule* find(std::string_view name);
  const CallRule* find(std::uint32_t number) const;
};

FilterModel build_model(Bases base, Nets net, Arch arch);
void sort_rules(FilterModel& model);

// `allow` cannot lift argument rules nor the never-allowed; `deny` cannot take what the cell needs to start.
Result<void> allow_call(FilterModel& model, std::string_view name);
Result<void> deny_call(FilterModel& model, std::string_view name);
// For `--explain-denials`: the observed calls, where allowed, are reported for the launcher to continue. Their own
// refusals become plain errors, so that a report of an observed call always means "let it go on".
void observe_calls(FilterModel& model);

}  // namespace hotcell
