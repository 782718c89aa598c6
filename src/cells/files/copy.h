// Whole folders: copied for a fork, counted for a quota, removed.
#pragma once
#include <cstdint>
#include <string>

#include "hotcell/result.h"
#include "hotcell/units.h"

namespace hotcell::cells {

struct CopyReport {
  std::uint64_t entries = 0;
  Bytes bytes;                   // data copied or shared, holes not counted
  bool shared = false;           // the file system shares the blocks (reflinks)
  bool owners_kept = true;       // false: somebody else's files became ours
};
// `to` must not exist: it appears whole, by a rename. Hard links, holes, modes, owners, times, extended attributes and
// deletions are kept, sockets are not.
Result<CopyReport> copy_upper(const std::string& from, const std::string& to);

struct DiskUsage {
  Bytes bytes;                   // allocated; a file with several names counts once
  Bytes apparent;                // holes counted
  std::uint64_t inodes = 0;      // without the folder itself
};
// Entries that vanish while it looks are not counted: the cell may be running. Names deeper than any path can say are.
Result<DiskUsage> usage(const std::string& upper);

// Whatever is in it: unreadable folders, names deeper than any path can say. Follows no link, enters no other mount.
// Not being there is no error.
Result<void> remove_tree(const std::string& path);

}  // namespace hotcell::cells
