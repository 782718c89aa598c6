// Is what matched a pattern really a secret? Checksums, entropy, and what people write in their place.
#pragma once
#include <optional>
#include <string_view>

#include "hotcell/inspect.h"

namespace hotcell::inspect {

double entropy_of(std::string_view s);  // bits a character
bool is_placeholder(std::string_view value);

struct SecretMatch {
  std::string_view check;   // of the rule
  std::string_view whole;   // all that matched
  std::string_view value;   // the secret in it
  std::string_view after;   // what follows, a few hundred bytes
  ThreatLevel level;        // of the rule
};
// The level to report; none: it is no secret.
ThreatLevel judge_secret(const SecretMatch& match);

}  // namespace hotcell::inspect
