// Adds up what speaks for an instruction to the reader: one phrase alone may be a quotation, several together are not.
#pragma once
#include <cstddef>
#include <string_view>
#include <vector>

#include "inspect/rules.h"

namespace hotcell::inspect {

struct Evidence {
  const BuiltinRule* rule = nullptr;
  std::size_t begin = 0, end = 0;
  int weight = 0;
};

struct InjectionScore {
  const BuiltinRule* rule = nullptr;  // the heaviest
  std::size_t begin = 0, end = 0;     // of that
  int score = 0;
};

// What the rule's weight is worth here: quoted as an example, told of somebody else, or said to the reader.
int weigh(std::string_view text, const BuiltinRule& rule, std::size_t begin, std::size_t end, bool hidden);

std::vector<InjectionScore> score(std::vector<Evidence> evidence);
ThreatLevel injection_level(int score);

}  // namespace hotcell::inspect
