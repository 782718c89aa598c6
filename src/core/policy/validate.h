#pragma once
#include <string>
#include <vector>

#include "core/policy/patch.h"
#include "hotcell/policy.h"
#include "hotcell/result.h"

namespace hotcell {

// Does the policy make sense by itself? What this host can enforce is the plan's question.
Result<void> validate(const Policy& policy, const Origins& origins = {});

// For `profile check`: legal, but wider than most programs need. Each names where it was said, as far as known.
std::vector<std::string> warnings(const Policy& policy, const Origins& origins = {});

// The policy in words, for the top of `hotcell explain`.
std::vector<std::string> describe(const Policy& policy);

// Why this is no absolute, normalised path; empty when it is one.
std::string path_problem(std::string_view path);

}  // namespace hotcell
