#include "core/policy/stages.h"

#include <algorithm>

namespace hotcell {

bool stage_runs(const Policy& policy, std::string_view stage) {
  const auto& listed = policy.stages_pre;
  return listed.empty() || std::find(listed.begin(), listed.end(), stage) != listed.end();
}

AuditMode stage_mode(const Policy& policy, std::string_view stage) {
  auto it = policy.audit.find(std::string(stage));
  if (it == policy.audit.end()) it = policy.audit.find("verification");
  return it == policy.audit.end() ? AuditMode::kEnforce : it->second;
}

bool stage_refuses(const Policy& policy, std::string_view stage) {
  return stage_runs(policy, stage) && stage_mode(policy, stage) == AuditMode::kEnforce;
}

InspectMode inspect_stage(const Policy& policy) {
  const auto& listed = policy.stages_post;
  if (std::find(listed.begin(), listed.end(), kInspectStage) == listed.end()) return InspectMode::kOff;
  auto it = policy.audit.find(std::string(kInspectStage));
  return it != policy.audit.end() && it->second == AuditMode::kObserve ? InspectMode::kReport : InspectMode::kBlock;
}

namespace {
constexpr std::array<std::string_view, 4> kInspectModes = {"off", "report", "mark", "block"};
}  // namespace

std::string_view to_string(InspectMode mode) { return kInspectModes[static_cast<std::size_t>(mode)]; }

std::optional<InspectMode> inspect_mode(std::string_view name) {
  auto found = std::find(kInspectModes.begin(), kInspectModes.end(), name);
  if (found == kInspectModes.end()) return std::nullopt;
  return static_cast<InspectMode>(found - kInspectModes.begin());
}

}  // namespace hotcell
