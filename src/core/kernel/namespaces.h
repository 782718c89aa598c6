#pragma once
#include <cstdint>

#include "core/kernel/host.h"
#include "core/kernel/plan_builder.h"
#include "hotcell/policy.h"

namespace hotcell {

// The user a template is, in its own user namespace where the ids 1… are those of cells. No cell has this one.
inline constexpr std::uint32_t kTemplateId = 65536;

std::uint64_t cell_namespaces(const Policy& policy);  // the CLONE_NEW* flags of a cell
void plan_first_identity(const Policy& policy, const Host& host, PlanBuilder& plan);
// What init does about ids, host name and lo.
void plan_namespaces(const Policy& policy, const Host& host, PlanBuilder& plan);
// Its cgroups and their namespace.
void plan_own_cgroup(const Policy& policy, const Host& host, PlanBuilder& plan);

// v1 only: init writes itself into each hierarchy. On v2 it is born there.
void plan_join_cgroups(const Policy& policy, const Host& host, PlanBuilder& plan);

}  // namespace hotcell
