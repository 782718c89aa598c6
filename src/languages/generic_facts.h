#pragma once
#include <string_view>
#include <vector>

#include "verify/facts.h"

namespace hotcell {

// What the words of each line may mean in a language nobody here can read: names (dots and colons join them) as uses,
// what looks like an absolute path as read. Comments and strings cannot be told apart: never more than a hint.
std::vector<Fact> generic_facts(std::string_view text);

}  // namespace hotcell
