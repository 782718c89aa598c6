#pragma once
#include <cstdint>

#include "core/kernel/host.h"
#include "core/kernel/plan_builder.h"
#include "hotcell/policy.h"

namespace hotcell {

// Returns the CLONE_NEW* flags the child is born with; adds what init does about ids, cgroups, host name and lo.
std::uint64_t plan_namespaces(const Policy& policy, const Host& host, PlanBuilder& plan);

// v1 only: init writes itself into each hierarchy. On v2 it is born there.
void plan_join_cgroups(const Policy& policy, const Host& host, PlanBuilder& plan);

}  // namespace hotcell
