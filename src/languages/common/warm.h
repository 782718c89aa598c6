// Programs of ours that run inside cells; most of them make runtimes wait.
#pragma once
#include <string_view>

namespace hotcell {

// Where a waiting runtime's own files are; the folder is gone before the program comes.
inline constexpr std::string_view kWarmFolder = ".hotcell";

std::string_view warm_prelude(std::string_view name);  // "warm.py"; empty: there is none

}  // namespace hotcell
