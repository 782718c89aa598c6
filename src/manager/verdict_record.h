// Findings as something the cache can keep, and the name they are kept under.
#pragma once
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "hotcell/language.h"
#include "hotcell/report.h"

namespace hotcell {

// Everything a verdict depends on: the sources, what the policy says about verification, and which build of us judged.
std::string verdict_key(std::string_view language, const Sources& sources, const Policy& policy);
std::vector<OutputFile> write_verdict(const std::vector<Finding>& findings);
std::optional<std::vector<Finding>> read_verdict(const std::vector<OutputFile>& files);

}  // namespace hotcell
