#pragma once
#include "core/kernel/host.h"
#include "core/kernel/plan_builder.h"
#include "hotcell/policy.h"

namespace hotcell {

void plan_rlimits(const Policy& policy, const Host& host, PlanBuilder& plan);
// Apart from the others, behind the last operation that opens something: the program's may be few.
void plan_open_files(const Policy& policy, const Host& host, PlanBuilder& plan);

}  // namespace hotcell
