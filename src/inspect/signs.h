// The literals that a match of a pattern begins with: cheap to look for all at once, whatever the number of rules.
#pragma once
#include <bitset>
#include <string>
#include <string_view>
#include <vector>

#include "hotcell/result.h"

namespace hotcell::inspect {

struct Sign {
  std::string text;        // in small letters when the rule does not mind case
  bool at_word = false;    // no letter, digit or _ before it
  bool has_next = false;   // one of `next` must follow
  std::bitset<256> next;
};

// Whoever matches the pattern begins with one of these. An error when a match may begin with anything: such a rule would
// be tried at every byte, so it has to say what else to look for (`sign`).
Result<std::vector<Sign>> signs_of(std::string_view pattern, bool caseless, std::size_t shortest);

}  // namespace hotcell::inspect
