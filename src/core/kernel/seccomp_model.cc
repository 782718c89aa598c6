#include "core/kernel/seccomp_model.h"

#include <algorithm>
#include <cerrno>

#include "base/strings.h"

namespace hotcell {
namespace {

template <typename F>
void for_each_name(std::string_view names, F f) {
  for (std::string_view name : split(names, ' '))
    if (!name.empty()) f(name);
}

void add_clauses(CallRule& rule, const ArgumentRule& source) {
  Clause clause{{}, source.answer, source.reason};
  for (const Condition& c : source.when)
    if (c.op != Compare::kNone) clause.all.push_back(c);
  if (source.values.empty()) {
    rule.clauses.push_back(std::move(clause));
    return;
  }
  for (std::uint32_t value : source.values) {
    rule.clauses.push_back(clause);
    rule.clauses.back().all.push_back({source.values_arg, Compare::kMaskedEqual, 0xffffffff, value});
  }
}

CallRule* add_rule(FilterModel& model, std::string_view name, Answer answer, std::string_view reason) {
  const auto number = syscall_number(name, model.arch);
  if (!number) return nullptr;
  model.rules.push_back({*number, name, {}, answer, reason});
  return &model.rules.back();
}

}  // namespace

CallRule* FilterModel::find(std::string_view name) {
  const auto number = syscall_number(name, arch);
  if (!number) return nullptr;
  for (CallRule& r : rules)
    if (r.number == *number) return &r;
  return nullptr;
}

const CallRule* FilterModel::find(std::uint32_t number) const {
  auto it = std::lower_bound(rules.begin(), rules.end(), number,
                             [](const CallRule& r, std::uint32_t n) { return r.number < n; });
  return it == rules.end() || it->number != number ? nullptr : &*it;
}

void sort_rules(FilterModel& model) {
  std::sort(model.rules.begin(), model.rules.end(),
            [](const CallRule& a, const CallRule& b) { return a.number < b.number; });
}

FilterModel build_model(Bases base, Nets net, Arch arch) {
  FilterModel model{arch, {}};
  model.rules.reserve(400);
  for (const CallGroup& group : call_groups())
    if ((group.bases & base) && (group.nets & net))
      for_each_name(group.names, [&](std::string_view name) { add_rule(model, name, group.answer, group.reason); });
  for (const ArgumentRule& rule : argument_rules())
    if ((rule.bases & base) && (rule.nets & net))
      for_each_name(rule.names, [&](std::string_view name) {
        if (CallRule* call = model.find(name)) add_clauses(*call, rule);
      });
  sort_rules(model);
  return model;
}

void refuse_uncounted(FilterModel& model) {
  for_each_name(uncounted_calls(), [&](std::string_view name) {
    CallRule* rule = model.find(name);
    if (!rule || rule->otherwise != kAllow) return;
    rule->otherwise = refuse(ENOSYS);  // as on a kernel without it: programs fall back to files, which are counted
    rule->reason = "memory that only a cgroup would count";
  });
}

Result<void> allow_call(FilterModel& model, std::string_view name) {
  if (!is_syscall_name(name))
    return make_error(ErrorCode::kInvalid,
                      cat("syscalls.allow: there is no system call named '", printable(name), "'"));
  if (contains_name(never_allowed(), name))
    return make_error(ErrorCode::kInvalid, cat("syscalls.allow: ", name,
                                               " cannot be allowed: it leads around the other layers of the cell"));
  CallRule* rule = model.find(name);
  if (!rule) {
    add_rule(model, name, kAllow, "allowed by the profile");
    sort_rules(model);
    return {};
  }
  // A call that passes only with the listed arguments stays that way: its other arguments are the dangerous ones.
  const bool listed =
      std::any_of(rule->clauses.begin(), rule->clauses.end(), [](const Clause& c) { return c.answer == kAllow; });
  if (listed || rule->otherwise == kAllow) return {};
  rule->otherwise = kAllow;
  rule->reason = "allowed by the profile";
  return {};
}

Result<void> deny_call(FilterModel& model, std::string_view name) {
  if (!is_syscall_name(name))
    return make_error(ErrorCode::kInvalid, cat("syscalls.deny: there is no system call named '", printable(name), "'"));
  if (contains_name(needed_to_start(), name))
    return make_error(ErrorCode::kInvalid, cat("syscalls.deny: without ", name, " no program could start in the cell"));
  if (CallRule* rule = model.find(name)) {
    rule->clauses.clear();
    rule->otherwise = kNotify;
    rule->reason = "denied by the profile";
  } else if (add_rule(model, name, kNotify, "denied by the profile")) {
    sort_rules(model);
  }
  return {};
}

std::vector<std::uint32_t> hand_over_marks(FilterModel& model) {
  std::vector<std::uint32_t> handed;
  const FilterModel own = build_model(kDefaultBase, kNoInet, model.arch);
  for_each_name(file_marks(), [&](std::string_view name) {
    CallRule* rule = model.find(name);
    if (!rule) return;
    auto allows = [](const Clause& c) { return c.answer == kAllow; };
    if (rule->otherwise != kAllow && std::none_of(rule->clauses.begin(), rule->clauses.end(), allows)) return;
    handed.push_back(rule->number);
    const bool narrowed = !rule->same_effect(*own.find(rule->number));
    for (Clause& c : rule->clauses) c.answer = allows(c) ? kNotify : narrowed && c.answer == kNotify ? refuse(EPERM) : c.answer;
    rule->otherwise = rule->otherwise == kAllow ? kNotify : rule->otherwise == kNotify ? refuse(EPERM) : rule->otherwise;
  });
  return handed;
}

std::vector<std::uint32_t> observe_calls(FilterModel& model) {
  std::vector<std::uint32_t> observed;
  for_each_name(observed_calls(), [&](std::string_view name) {
    CallRule* rule = model.find(name);
    if (!rule) return;
    auto allows = [](const Clause& c) { return c.answer == kAllow; };
    if (rule->otherwise != kAllow && std::none_of(rule->clauses.begin(), rule->clauses.end(), allows)) return;
    observed.push_back(rule->number);
    auto turn = [](Answer a) { return a == kNotify ? refuse(EPERM) : a == kAllow ? kNotify : a; };
    for (Clause& c : rule->clauses) c.answer = turn(c.answer);
    rule->otherwise = turn(rule->otherwise);
  });
  return observed;
}

}  // namespace hotcell
