#include "inspect/rule_set.h"

// Made by inspect_tables_gen when this is built.
extern "C" {
extern const char hotcell_inspect_text_begin[], hotcell_inspect_text_end[];
extern const char hotcell_inspect_arguments_begin[], hotcell_inspect_arguments_end[];
extern const char hotcell_inspect_squeezed_begin[], hotcell_inspect_squeezed_end[];
}

namespace hotcell::inspect {

Result<std::unique_ptr<RuleSet>> RuleSet::build() {
  auto set = std::make_unique<RuleSet>();
  RuleParts parts = rule_parts();
  set->first_caesar = parts.first_caesar;
  set->text.rules = std::move(parts.text.rules);
  set->arguments.rules = std::move(parts.arguments.rules);
  set->squeezed.rules = std::move(parts.squeezed.rules);
  TRY_SET(set->text.scanner, Scanner::load({hotcell_inspect_text_begin, hotcell_inspect_text_end}));
  TRY_SET(set->arguments.scanner, Scanner::load({hotcell_inspect_arguments_begin, hotcell_inspect_arguments_end}));
  TRY_SET(set->squeezed.scanner, Scanner::load({hotcell_inspect_squeezed_begin, hotcell_inspect_squeezed_end}));
  set->regexes_ = std::make_unique<Lazy[]>(builtin_rules().size());
  return set;
}

const Regex* RuleSet::regex(std::uint32_t rule) const {
  Lazy& lazy = regexes_[rule];
  std::call_once(lazy.once, [&] {
    auto made = Regex::compile(builtin_rules()[rule].pattern, builtin_rules()[rule].caseless);
    if (made.ok()) lazy.regex.emplace(std::move(made.value()));
  });
  return lazy.regex ? &*lazy.regex : nullptr;
}

Result<const RuleSet*> RuleSet::get() {
  static const Result<std::unique_ptr<RuleSet>> only = build();
  if (!only.ok()) return Error(only.error());
  return only.value().get();
}

}  // namespace hotcell::inspect
