// Was this name refused, by what, and what would allow it? Asked of the cell's tree and the host's as they are when the
// program is over.
#pragma once
#include <optional>
#include <string>

#include "core/launch/file_calls.h"
#include "core/launch/plan.h"
#include "hotcell/report.h"

namespace hotcell {

// `root` is the root folder as the program had it.
// "--write 'a b'": what a person would type to allow it; `flag` ends in a blank. Empty for what no flag can grant.
std::string grant_fix(std::string_view flag, const std::string& path);
std::optional<Denial> judge_file(const Plan& plan, int root, const NamedFile& file);

}  // namespace hotcell
