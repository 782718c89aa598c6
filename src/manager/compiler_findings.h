// What a compiler warned of, as findings. They inform and never refuse: a compiler minds bugs, not intentions.
#pragma once
#include <span>
#include <vector>

#include "hotcell/language.h"
#include "hotcell/report.h"

namespace hotcell {

// Warnings at places where verification has said nothing yet, each once; rules `off` (ids, globs) names are left out.
std::vector<Finding> compiler_findings(std::span<const Diagnostic> diagnostics, const Sources& sources,
                                       std::span<const Finding> known, std::span<const std::string> off);

}  // namespace hotcell
