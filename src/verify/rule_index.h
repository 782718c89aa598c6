// Rules, found by what a fact is called: a source of a million facts must not try every pattern on each.
#pragma once
#include <array>
#include <span>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "verify/rules.h"

namespace hotcell {

// The character that `*` in a pattern over names of this kind does not cross; 0: none.
char stop_of(FactKind kind);

class RuleIndex {
 public:
  explicit RuleIndex(std::vector<Rule> rules);
  RuleIndex(const RuleIndex&) = delete;  // its keys point into its own rules
  RuleIndex& operator=(const RuleIndex&) = delete;

  // Rules that hold for the fact's kind and name (not for its detail yet), in their own order.
  void find(const Fact& fact, std::vector<const Rule*>& out) const;
  std::span<const Rule> rules() const { return rules_; }

 private:
  struct Glob {
    std::uint32_t rule;
    std::string_view pattern, prefix;  // what a name must begin with to be worth a look
  };
  using Globs = std::vector<Glob>;
  struct Kind {
    std::unordered_map<std::string_view, std::vector<std::uint32_t>> exact;
    std::unordered_map<std::string_view, Globs> by_segment;  // the part before the first stop is plain
    std::array<Globs, 256> by_letter;                        // the first letter is plain
    Globs rest;
  };
  void add(Kind& kind, std::uint32_t rule, std::string_view pattern, char stop);

  std::vector<Rule> rules_;
  std::array<Kind, 8> kinds_;
};

}  // namespace hotcell
