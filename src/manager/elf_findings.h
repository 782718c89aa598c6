// What a compiled C or C++ program shows of itself, as findings beside those of its source.
#pragma once
#include <string_view>
#include <vector>

#include "hotcell/report.h"

namespace hotcell {

enum class ElfLevel : std::uint8_t { kDefault, kStrict };
std::vector<Finding> elf_findings(std::string_view program, std::string_view file, ElfLevel level);

}  // namespace hotcell
