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
void refuse_uncounted(FilterModel& model);  // memory that only a cgroup sees; a profile may allow it again

// `allow` cannot lift argument rules nor the never-allowed; `deny` cannot take what the cell needs to start.
Result<void> allow_call(FilterModel& model, std::string_view name);
Result<void> deny_call(FilterModel& model, std::string_view name);
// For `--explain-denials`: the calls that name files, where allowed, are reported for the launcher to let go on; returns
// their numbers. Refusals of some of their arguments become plain errors, so that a report of one of these always means
// "was allowed"; a call that is refused whatever its arguments stays as it is and is not among them.
std::vector<std::uint32_t> observe_calls(FilterModel& model);
// Without namespaces: what is allowed of file_marks() is reported for the launcher to do; returns their numbers. A refusal by arguments
// becomes a plain error, but for that of set-id bits, which the launcher knows and records.
std::vector<std::uint32_t> hand_over_marks(FilterModel& model);

}  // namespace hotcell
