// What an apply leaves in the cell's folder: while it runs, what it is doing; afterwards, what it has put into the project,
// so that the next one does not take its own work for somebody else's.
#pragma once
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "cells/files/apply.h"

namespace hotcell::cells {

struct JournalStep {
  std::string target;     // what is written or removed
  std::string temporary;  // where its new bytes wait, from the project; empty: nowhere
};
struct Journal {
  Time started{};
  ApplyOptions options;   // without the folder
  std::vector<JournalStep> steps;
};

inline constexpr const char* kJournalFile = "apply.journal";
inline constexpr const char* kAppliedFile = "applied";

// On disk, under its name, whole, or not at all.
Result<void> write_state_file(const std::string& folder, const char* name, std::string_view text);

Result<void> write_journal(const std::string& folder, const Journal& journal);
Result<std::optional<Journal>> read_journal(const std::string& folder);  // nothing: no apply is under way
Result<void> remove_journal(const std::string& folder);

using Applied = std::map<std::string, Time>;  // path → its ctime in the project when we were done
Result<Applied> read_applied(const std::string& folder);
Result<void> write_applied(const std::string& folder, const Applied& applied);

}  // namespace hotcell::cells
