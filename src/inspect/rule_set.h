// The built-in rules, made ready once for the process.
#pragma once
#include <memory>
#include <mutex>
#include <optional>
#include <vector>

#include "inspect/regex.h"
#include "inspect/rules.h"
#include "inspect/scanner.h"

namespace hotcell::inspect {

// Which rules are looked for together.
struct RuleParts {
  struct Part {
    std::vector<ScanRule> scan;
    std::vector<std::uint32_t> rules;  // of each: its index in builtin_rules()
  };
  Part text;       // over text as it stands
  Part arguments;  // over the arguments of tools, besides
  Part squeezed;   // over its letters alone
  std::uint32_t first_caesar = 0;  // those of `text` from here on: an alphabet moved by 1, 2 … letters
};
RuleParts rule_parts();

class RuleSet {
 public:
  static Result<const RuleSet*> get();
  // Made at its first use: most texts need none of them. Null when there is no memory for it.
  const Regex* regex(std::uint32_t rule) const;

  struct Part {
    std::shared_ptr<const Scanner> scanner;
    std::vector<std::uint32_t> rules;
  };
  Part text, arguments, squeezed;
  std::uint32_t first_caesar = 0;

 private:
  static Result<std::unique_ptr<RuleSet>> build();
  struct Lazy {
    std::once_flag once;
    std::optional<Regex> regex;
  };
  std::unique_ptr<Lazy[]> regexes_;
};

}  // namespace hotcell::inspect
