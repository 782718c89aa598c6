#pragma once
#include "core/kernel/host.h"
#include "core/kernel/plan_builder.h"
#include "hotcell/policy.h"

namespace hotcell {

void plan_rlimits(const Policy& policy, const Host& host, PlanBuilder& plan);

}  // namespace hotcell
