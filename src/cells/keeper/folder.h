// The folders of all lasting cells of one state folder. Made under another name and renamed into place, renamed away and
// then removed: after a crash a cell is there as a whole or not at all.
#pragma once
#include <string>
#include <vector>

#include "cells/keeper/record.h"
#include "hotcell/result.h"

namespace hotcell::cells {

inline constexpr std::size_t kMaxCells = 64, kMostMaxCells = 4096;  // unless it is said otherwise; and what can be said

Result<std::string> make_cells_folder(const std::string& state);  // <state>/cells, 0700
bool is_cell_name(std::string_view name);
std::string new_cell_id();                                         // `c-` and 32 hex digits by chance

struct StoredCell {
  CellRecord record;
  std::string folder;
};
// Newest first; one whose record cannot be read is left out and named in `broken`.
Result<std::vector<StoredCell>> list_cells(const std::string& cells, std::vector<std::string>* broken = nullptr);

// Folders, policy and record. `upper_from`: the layers of a fork, already a folder beside, which is moved in.
Result<std::string> make_cell(const std::string& cells, const CellRecord& record, const Policy& policy, const std::string& upper_from = {});
Result<Policy> load_policy(const std::string& folder);
Result<void> fresh_work_folder(const std::string& folder);         // overlayfs's own; may hold what it alone understands
Result<void> remove_cell(const std::string& cells, const std::string& id);
void sweep(const std::string& cells);                              // what a crash has left
bool left_unfinished(const std::string& state);                    // an apply: a keeper would finish it

}  // namespace hotcell::cells
