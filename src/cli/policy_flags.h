// The options of `run` and `explain` that make a policy: a preset or profile first, then each flag on top.
#pragma once
#include <string>
#include <vector>

#include "cli/options.h"
#include "core/policy/patch.h"
#include "hotcell/launcher.h"
#include "core/policy/profile.h"
#include "hotcell/policy.h"

namespace hotcell {

struct ChosenPolicy {
  Policy policy;
  Origins origins;
  LauncherOptions launcher;
};

// Not validated yet: the program to run may still add a grant.
Result<ChosenPolicy> choose_policy(const Parsed& parsed);

// Profiles as this process finds them: from here, its home, the system, and those built in.
ProfileSearch search_here();

}  // namespace hotcell
