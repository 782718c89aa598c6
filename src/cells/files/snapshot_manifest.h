// What a snapshot says of itself: one line of text for each entry. Nothing of it is believed before all of it was checked.
#pragma once
#include <sys/types.h>

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "cells/files/file_copy.h"
#include "cells/files/snapshot.h"
#include "cells/files/xattrs.h"

namespace hotcell::cells {

struct SavedEntry {
  enum class Kind : char { kRoot = 'r', kFolder = 'd', kFile = 'f', kSymlink = 'l', kFifo = 'p', kHardLink = 'h', kDeleted = 'w' };
  Kind kind = Kind::kFile;
  std::string path;                // empty for the root
  mode_t mode = 0;
  uid_t uid = 0;
  gid_t gid = 0;
  Time mtime{};
  bool opaque = false, copied_up = false, sparse = false;
  std::uint64_t size = 0;          // of a file, holes counted
  std::string sha256;              // of a file's bytes, without holes
  std::string target;              // of a symbolic link, or the earlier name of a hard link
  Xattrs xattrs;
  std::vector<Segment> segments;   // of a sparse file: what is not a hole

  std::uint64_t stored() const;    // bytes in the archive
};

struct Manifest {
  Time created{};
  std::string meta;
  std::vector<std::string> left_out;
  std::uint64_t content = 0;       // sum of stored()
  std::vector<SavedEntry> entries; // the root first, a folder before what is in it
};

inline constexpr std::string_view kManifestName = "manifest";
inline constexpr std::size_t kMostMeta = 1 << 20;
std::string member_name(const SavedEntry& file);  // tree/PATH or sparse/PATH

std::string manifest_text(const Manifest& manifest);
// Every path is below the root, known once, in a folder that came before; every number is within the limits.
Result<Manifest> parse_manifest(std::string_view text, const SnapshotLimits& limits);
// Up to the first entry: no entries, but how many there should be.
struct ManifestHead {
  Time created{};
  std::string meta;
  std::vector<std::string> left_out;
  std::uint64_t content = 0, entries = 0;
};
Result<ManifestHead> parse_head(std::string_view text);

}  // namespace hotcell::cells
