// The parts of verification that a profile can name in `stages.pre`, and in `stages.post` what looks at a run afterwards.
#pragma once
#include <array>
#include <cstdint>
#include <optional>
#include <string_view>

#include "hotcell/policy.h"

namespace hotcell {

inline constexpr std::string_view kAstScan = "ast_scan";                // rules, and the list of imports
inline constexpr std::string_view kBlocklistAudit = "blocklist_audit";  // the blocklist
inline constexpr std::array<std::string_view, 2> kPreStages = {kAstScan, kBlocklistAudit};
inline constexpr std::string_view kInspectStage = "inspect";            // the output
inline constexpr std::array<std::string_view, 1> kPostStages = {kInspectStage};

// What is done about findings in the output, from the mildest to the strictest.
enum class InspectMode : std::uint8_t {
  kOff,
  kReport,  // output as it is; the findings are told
  kMark,    // lines with findings of level medium or above stand between marks
  kBlock,   // all output is withheld when there is such a finding
};
std::string_view to_string(InspectMode mode);  // off, report, mark, block
std::optional<InspectMode> inspect_mode(std::string_view name);
// Nothing of the output may be shown before it was looked at.
inline bool holds_output(InspectMode mode) { return mode >= InspectMode::kMark; }

// Listed, or nobody listed any.
bool stage_runs(const Policy& policy, std::string_view stage);
// The stage's own mode, else that of `verification`, else enforce.
AuditMode stage_mode(const Policy& policy, std::string_view stage);
// It runs, and an error finding of it keeps a program from starting.
bool stage_refuses(const Policy& policy, std::string_view stage);
// What the policy wants of the output at least: `inspect` in stages.post blocks, or only reports where its audit mode is
// observe.
InspectMode inspect_stage(const Policy& policy);

}  // namespace hotcell
