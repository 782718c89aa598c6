// The root a cell sees: one tmpfs, read-only binds of the system folders and grants, a made /etc, own /proc and /dev.
#pragma once
#include <functional>
#include <string>
#include <vector>

#include "core/kernel/grants.h"
#include "core/kernel/host.h"
#include "core/kernel/plan_builder.h"

namespace hotcell {

// `between` adds what comes after the part that a template shares and before the part that is each cell's own, `at_end` what
// comes when all is mounted and the cell may still make namespaces.
void plan_native_root(const Policy& policy, const Host& host, const Grants& grants, PlanBuilder& plan, const std::function<void()>& between,
                      const std::function<void()>& at_end);

}  // namespace hotcell
