#include "hotcell/inspect.h"

#include <algorithm>
#include <array>

namespace hotcell {

std::string_view to_string(ThreatLevel level) {
  static constexpr std::array<std::string_view, 5> kNames = {"none", "low", "medium", "high", "critical"};
  return kNames[static_cast<std::size_t>(level)];
}

namespace {

constexpr std::array<std::string_view, kInspectKinds> kKinds = {"injection", "egress", "secrets", "sql", "traversal", "c2"};

}  // namespace

std::string_view to_string(InspectKind kind) { return kKinds[static_cast<std::size_t>(kind)]; }

std::optional<InspectKind> inspect_kind(std::string_view name) {
  auto found = std::find(kKinds.begin(), kKinds.end(), name);
  if (found == kKinds.end()) return std::nullopt;
  return static_cast<InspectKind>(found - kKinds.begin());
}

ThreatLevel Inspection::level() const {
  ThreatLevel worst = ThreatLevel::kNone;
  for (const auto& f : findings) worst = std::max(worst, f.level);
  return worst;
}

}  // namespace hotcell
