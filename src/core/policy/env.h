#pragma once
#include <string>
#include <string_view>
#include <vector>

#include "hotcell/policy.h"

namespace hotcell {

bool is_env_name(std::string_view name);

// Names that decide which code a program loads. They reach a cell only when a policy spells them out.
bool is_dangerous_env(std::string_view name);

// One sentence for each such name that this policy passes or sets.
std::vector<std::string> env_warnings(const Policy& policy);

}  // namespace hotcell
