// What is worth saying to a person after a run; usually nothing.
#pragma once
#include <string>
#include <vector>

#include "hotcell/policy.h"
#include "hotcell/report.h"

namespace hotcell {

enum class Talk : std::uint8_t { kBrief, kVerbose };
std::vector<std::string> finding_words(const Report& report);  // one sentence for each error finding
std::vector<std::string> verdict_words(const Report& report, const Policy& policy, Talk talk);

}  // namespace hotcell
