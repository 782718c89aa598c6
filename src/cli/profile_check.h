// What a profile's text does not tell: whether a cell can be made of it.
#pragma once
#include <string>

#include "core/policy/patch.h"
#include "hotcell/policy.h"
#include "hotcell/result.h"

namespace hotcell {

// Names of system calls that are none, or that no profile may allow or deny, with the line that has them: later nobody
// knows it.
Result<void> check_syscalls(const Policy& policy, const Origins& origins);

// A sentence about a language that nobody here has; empty: there is none, or it is known.
std::string unknown_language(const Policy& policy, const Origins& origins);

// Plans a cell as `explain` would. An error where none can be made anywhere; otherwise what is not there on this host,
// mostly nothing.
Result<std::string> check_plan(const Policy& policy, const Origins& origins);

}  // namespace hotcell
