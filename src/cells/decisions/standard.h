// What holds where nobody wrote anything else, and what patterns of paths may be.
#pragma once
#include <optional>
#include <string>
#include <string_view>

namespace hotcell::cells {

// The text standard_decisions() is read from: what `--decisions standard` keeps with a cell.
std::string_view standard_decisions_yaml();
// Why nobody should write this glob; nullopt when it is fine. Unlike a deny list, a rule may be about everything (`**`).
std::optional<std::string> path_pattern_problem(std::string_view pattern);

}  // namespace hotcell::cells
