// What a cell has changed against its project.
#pragma once
#include <sys/types.h>

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "cells/files/layers.h"
#include "hotcell/result.h"
#include "hotcell/units.h"

namespace hotcell::cells {

enum class FileType : std::uint8_t { kNone, kFile, kFolder, kSymlink, kFifo, kSocket, kCharDevice, kBlockDevice };
std::string_view to_string(FileType type);  // "file", "folder", "symlink", …

enum class ChangeKind : std::uint8_t {
  kAdded,
  kModified,  // other bytes, or another target of a link
  kDeleted,
  kType,      // a file became a folder, and the like
  kMode,      // the same bytes; mode, owner or extended attributes differ
};
std::string_view to_string(ChangeKind kind);  // "added", "modified", "deleted", "type", "mode"

struct Change {
  std::string path;  // relative, no leading slash, any bytes but NUL
  ChangeKind kind = ChangeKind::kAdded;
  FileType type = FileType::kNone, old_type = FileType::kNone;  // kNone: not there
  mode_t mode = 0, old_mode = 0;                                // permission bits
  std::uint64_t size = 0, old_size = 0;
  bool owner_changed = false, xattrs_changed = false;
  bool binary = false;               // of a file: the bytes are no text
  std::string target, old_target;    // of symbolic links
  std::uint64_t lines_added = 0, lines_removed = 0;
  std::string patch;                 // as git writes it; empty where there is none
  std::string patch_left_out;        // why, where one could be expected: "binary", "too large", …
};

struct DiffOptions {
  std::vector<std::string> paths = {};  // only these and what is below; empty: all
  bool patches = true;               // unified diffs of texts
  unsigned context = 3;
  Bytes largest_text = 1_MiB;        // larger files get no patch
  Bytes most_patches = 16_MiB;       // all patches together
  std::size_t most_changes = 200'000;
};

struct Diff {
  std::vector<Change> changes;       // sorted by path
  std::uint64_t added = 0, modified = 0, deleted = 0, type = 0, mode = 0;
  std::uint64_t lines_added = 0, lines_removed = 0;
};

// A file that was opened for writing and is the same as before is no change. A deleted folder is itself and all that
// was below it.
Result<Diff> diff(const Layers& layers, const DiffOptions& options = {});

std::string diff_json(const Diff& diff, bool pretty = false);
std::string diff_text(const Diff& diff);   // one line for each: "M  src/a.c  +3 -1"
// All patches in one, for `patch -p1` and `git apply`. What no patch can say stands before it as "# …" lines.
std::string diff_patch(const Diff& diff);

}  // namespace hotcell::cells
