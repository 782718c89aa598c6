// The options of `run` and `explain` that make a policy: a preset or profile first, then each flag on top.
#pragma once
#include <string>
#include <vector>

#include "backends/settings.h"
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
  std::vector<std::string> waived;  // statements that the backend need not hold
  bool wasm = false;                // only WASI modules, in native cells
  backends::Settings settings;      // of the tool behind it
  std::string reason;               // why this backend, where a level or tier chose it
};

// Not validated yet: the program to run may still add a grant.
Result<ChosenPolicy> choose_policy(const Parsed& parsed);

// Profiles as this process finds them: from here, its home, the system, and those built in.
ProfileSearch search_here();
Result<backends::Settings> backend_settings(const Parsed& parsed);

}  // namespace hotcell
