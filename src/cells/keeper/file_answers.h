// What the keeper says of files: as JSON for programs, in words for people.
#pragma once
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "cells/files/apply.h"
#include "cells/files/diff.h"
#include "cells/files/snapshot.h"
#include "cells/keeper/protocol.h"
#include "cells/keeper/record.h"

namespace hotcell::cells {

std::string diff_stat(const Diff& diff);  // as `git diff --stat`, with a letter for what happened
std::string apply_words(const ApplyReport& report, const ApplyOptions& options, bool refused);

// Kept in a snapshot. Nothing of it is done when one is brought back: a snapshot may be anybody's.
std::string snapshot_meta(const CellRecord& record, const std::string& label);
std::optional<RecordTime> base_of_meta(std::string_view meta);
std::string label_of_now();               // 20260131-235959

std::string snapshot_json(const SnapshotInfo& info);
std::string snapshots_json(const std::vector<SnapshotInfo>& all);
std::string restarted_json(bool restarted);
std::string restored_json(const SnapshotInfo& info, bool restarted);
Fields restored_fields(const SnapshotInfo& info);

}  // namespace hotcell::cells
