// Was this name refused, by what, and what would allow it? Asked of the cell's tree and the host's as they are when the
// program is over.
#pragma once
#include <optional>

#include "core/launch/file_calls.h"
#include "core/launch/plan.h"
#include "hotcell/report.h"

namespace hotcell {

// `root` is the root folder as the program had it.
std::optional<Denial> judge_file(const Plan& plan, int root, const NamedFile& file);

}  // namespace hotcell
