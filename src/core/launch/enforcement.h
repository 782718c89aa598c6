// What held, read back from the kernel while the program's process waits to exec: never echoed from the plan.
#pragma once
#include "core/kernel/cgroup.h"
#include "core/kernel/host.h"
#include "core/launch/plan.h"
#include "hotcell/report.h"

namespace hotcell {

Enforcement read_back(int pid, const Plan& plan, const Host& host, const Cgroup* cgroup);
// A layer that was asked for by `--require` and is not in full force.
// After the run: a denied name that means another file now has lost its mask on the way, and the report says so.
void note_lost_masks(const Grants& grants, Enforcement& enforcement);
Result<void> check_required(const Policy& policy, const Enforcement& enforcement);

}  // namespace hotcell
