#pragma once
#include "core/kernel/host.h"
#include "core/kernel/plan_builder.h"

namespace hotcell {

void plan_caps(const Host& host, PlanBuilder& plan);

}  // namespace hotcell
