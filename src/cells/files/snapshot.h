// A cell's files in one file: a tar archive in zstd, which any tar can read.
//   manifest                 first: version, the caller's meta data, every entry with its attributes and sha256
//   tree/PATH, sparse/PATH   the bytes of regular files, in the manifest's order; of sparse ones only what is not a hole
//   (skippable zstd frames)  where it compressed so well that it would look like a bomb, nothing; last: sha256 of all bytes before, so that no flipped bit goes unseen
// Folders, links, deletions, modes, owners, times and extended attributes are in the manifest only, so reading the
// archive never does what a tar header says: an entry that is not exactly the next one of the manifest ends it.
#pragma once
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "cells/files/layers.h"
#include "hotcell/result.h"
#include "hotcell/units.h"

namespace hotcell::cells {

// What a snapshot may make us write, whoever made it.
struct SnapshotLimits {
  Bytes bytes = 64_GiB;             // of content, holes not counted
  Bytes apparent{16ull << 40};        // holes counted
  std::size_t entries = 2'000'000;
  std::size_t path = 4095;          // bytes of one path
  Bytes manifest = 1_GiB;
  std::uint64_t ratio = 1000;       // content to archive, beyond the first 64 MiB of content
};

struct SnapshotInfo {
  std::string file;
  std::string meta;                 // what the caller gave, usually JSON
  Time created{};
  Bytes size;                       // of the archive
  Bytes content;                    // of the files in it, holes not counted
  std::uint64_t entries = 0;
  std::vector<std::string> left_out;  // sockets and the like: "path: why"
  bool owners_kept = true;          // restore: false: somebody else's files became ours
};

// Written under another name, synced, then renamed: `file` is whole or not there. Refuses to overwrite.
Result<SnapshotInfo> write_snapshot(const std::string& upper, const std::string& file, std::string_view meta,
                                    const SnapshotLimits& limits = {});

// Everything is read and verified into a folder beside `upper`, which then takes its place by one rename; before that
// `upper` is untouched, after an error too. `upper` need not exist. The overlay must not be mounted, and its `work`
// folder should be a new one.
Result<SnapshotInfo> restore_snapshot(const std::string& file, const std::string& upper, const SnapshotLimits& limits = {});

// Reads and checks all of it and writes nothing.
Result<SnapshotInfo> verify_snapshot(const std::string& file, const SnapshotLimits& limits = {});
// The manifest's head only, for listings: what the bytes say, not verified.
Result<SnapshotInfo> snapshot_info(const std::string& file);

// <folder>/*.snap, newest first. Files that are no snapshots are not listed.
inline constexpr std::string_view kSnapshotSuffix = ".snap";
Result<std::vector<SnapshotInfo>> list_snapshots(const std::string& folder);
struct Retention {
  std::chrono::seconds max_age{0};   // 0: any age
  std::size_t keep = 0;              // the newest ones stay; 0: any number
};
// What was removed. Temporary files of writers that are gone go, too.
Result<std::vector<std::string>> remove_old_snapshots(const std::string& folder, const Retention& retention, Time now);

// Folders that a killed restore, copy or removal left beside `upper`. To be called at start-up.
Result<void> clean_leftovers(const std::string& upper);

}  // namespace hotcell::cells
