// Carries a planned apply out. The order is what makes it safe to be killed anywhere:
//   stage    every new file, link and exchanged folder is written whole under a temporary name, in the nearest folder of the
//            project that is there already; then all of it is synced. Nothing of the project has changed yet.
//   commit   folders are made, names are exchanged or renamed one by one, then what is to go is removed.
// Each target is what it was or what it will be, at any moment.
#pragma once
#include <string>

#include "cells/files/apply_plan.h"

namespace hotcell::cells {

// Names the temporary files of a plan, before its journal is written.
Result<void> name_temporaries(const OpenLayers& layers, ApplyPlan& plan, const std::string& nonce);
Result<void> stage_apply(const OpenLayers& layers, ApplyPlan& plan, const ApplyOptions& options);
Result<void> commit_apply(const OpenLayers& layers, ApplyPlan& plan, const ApplyOptions& options);
// Whatever of them is left. An exchanged folder still holds the project's old files: those go as they would have gone.
Result<void> remove_temporaries(const OpenLayers& layers, const Journal& journal);

}  // namespace hotcell::cells
