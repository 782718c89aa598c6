// Carries a planned apply out. The order is what makes it safe to be killed anywhere:
//   journal  says what is to be written and removed.
//   stage    every new file, link and exchanged folder is written whole under a temporary name, in the nearest folder of the
//            project that is there already; then all of it is synced. Nothing of the project has changed yet.
//   commit   folders are made, names are exchanged or renamed one by one, then what is to go is removed.
//   close    folders that are to be closed get their modes: last, since what we have done is looked at once more before.
// Each target is what it was or what it will be, at any moment. Folders that are closed to us are open meanwhile, and noted.
#pragma once
#include <string>

#include "cells/files/apply_plan.h"

namespace hotcell::cells {

// Notes in the cell's folder what is about to be opened, in either layer.
Unlocked::Note note_opened(const OpenLayers& layers, const std::string& state);
// After a kill: what was noted has its mode again, unless that is another one by now.
Result<void> close_noted(const OpenLayers& layers, const std::string& state);
// Everything that is open by `unlocked`, and then there is nothing to be noted.
Result<void> close_all(const OpenLayers& layers, const std::string& state, Unlocked& unlocked);
// For as long as `unlocked` lives. An error if one of them is not ours to open.
Result<void> open_for_writing(const OpenLayers& layers, const ApplyPlan& plan, Unlocked& unlocked);

// Names the temporary files of a plan, before its journal is written.
Result<void> name_temporaries(const OpenLayers& layers, ApplyPlan& plan, const std::string& nonce);
Result<void> stage_apply(const OpenLayers& layers, ApplyPlan& plan, const ApplyOptions& options);
// Folders that are to be closed get their modes when `unlocked` is closed.
Result<void> commit_apply(const OpenLayers& layers, ApplyPlan& plan, const ApplyOptions& options, Unlocked& unlocked);
// Whatever of them is left. An exchanged folder still holds the project's old files: those go as they would have gone.
Result<void> remove_temporaries(const OpenLayers& layers, const Journal& journal, Unlocked& unlocked);

}  // namespace hotcell::cells
