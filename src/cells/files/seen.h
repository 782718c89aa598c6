// What somebody has approved, and whether it is still that. A cell's programs go on while a person thinks.
#pragma once
#include <string>
#include <vector>

#include "cells/files/apply.h"
#include "cells/files/changes.h"
#include "cells/files/xattrs.h"

namespace hotcell::cells {

inline constexpr std::string_view kChangedSince = "changed after it was approved";

// Everything of it that reaches the project. `content`: of a file, open for reading; otherwise not looked at.
Result<std::string> change_digest(const Change& change, const Xattrs& attributes, int content);
Result<SeenChanges> see_changes(const OpenLayers& layers, const std::vector<FoundChange>& found);
// Takes out of `found` what was not there to be approved, and notes it. What is another one now is noted as refused; so is what
// was approved and is gone, unless an unfinished apply of ours had `begun` it.
Result<void> hold_to_approved(const OpenLayers& layers, std::vector<FoundChange>& found, const SeenChanges& approved,
                              const std::vector<std::string>& begun, ApplyReport& report);

}  // namespace hotcell::cells
