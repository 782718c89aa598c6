// What the keeper tells of cells, read for people.
#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "hotcell/policy.h"
#include "hotcell/report.h"
#include "hotcell/result.h"
#include "manager/output_inspection.h"

namespace hotcell {

struct CellSummary {
  std::string id, name, status, reason, work_dir;
  std::int64_t age_seconds = 0, paused_seconds = 0;
  bool cleanup_eligible = false;
  Enforcement enforcement;  // inspect only
  Limits limits;            // inspect only; the standard ones as far as the keeper does not say
  std::string unfinished_apply;
};
Result<CellSummary> read_cell(std::string_view json);
Result<std::vector<CellSummary>> read_cells(std::string_view json);

// Answers of the keeper as several lines, an event as one.
Result<std::string> usage_words(std::string_view json);
Result<std::string> network_words(std::string_view json);
std::string event_words(std::string_view json);

struct SnapshotSummary {
  std::string label, file, created_at;
  std::uint64_t size = 0, content = 0, entries = 0;
  std::vector<std::string> left_out;
};
Result<SnapshotSummary> read_snapshot(std::string_view json);
Result<std::vector<SnapshotSummary>> read_snapshots(std::string_view json);
Result<bool> read_restarted(std::string_view json);
Result<std::vector<std::string>> read_changed(std::string_view json);  // the paths of a diff

// Of a result object of the daemon's; nothing when its output was not inspected.
std::optional<OutputInspection> read_inspection(std::string_view json);

}  // namespace hotcell
