// The root a cell sees: one tmpfs, read-only binds of the system folders and grants, a made /etc, own /proc and /dev.
#pragma once
#include <string>
#include <vector>

#include "core/kernel/grants.h"
#include "core/kernel/host.h"
#include "core/kernel/plan_builder.h"

namespace hotcell {

void plan_rootfs(const Policy& policy, const Host& host, const Grants& grants, PlanBuilder& plan);

}  // namespace hotcell
