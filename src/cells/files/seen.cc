#include "cells/files/seen.h"

#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <set>

#include "base/sha256.h"
#include "base/strings.h"
#include "cells/files/file_copy.h"
#include "cells/files/tree.h"

namespace hotcell::cells {
namespace {

// By blocks that are not all zero and where they are: a hole and zeros are the same, and a terabyte of hole is not read.
Result<void> add_content(Sha256& hash, int fd, std::uint64_t size) {
  constexpr std::uint64_t kBlock = 4096;
  TRY_SET(auto segments, data_segments(fd, size));
  std::string buffer(64 * kBlock, '\0');
  std::uint64_t at = 0;
  for (const auto& s : segments) {
    at = std::max(at, s.offset / kBlock * kBlock);
    while (at < s.offset + s.length) {
      ssize_t n = ::pread(fd, buffer.data(), std::min<std::uint64_t>(buffer.size(), size - at), static_cast<off_t>(at));
      if (n < 0 && errno == EINTR) continue;
      if (n < 0) return errno_error("read", errno);
      if (n == 0) return make_error(ErrorCode::kIo, "the file became shorter while it was read");
      // A short read may end anywhere; blocks do not.
      const auto got = static_cast<std::uint64_t>(n);
      const std::uint64_t whole = at + got == size ? got : got / kBlock * kBlock;
      if (whole == 0) return make_error(ErrorCode::kIo, "the file cannot be read block by block");
      for (std::uint64_t b = 0; b < whole; b += kBlock) {
        std::string_view block(buffer.data() + b, std::min(kBlock, whole - b));
        if (block.find_first_not_of('\0') == block.npos) continue;
        hash.add_number(at + b);
        hash.add_field(block);
      }
      at += whole;
    }
  }
  return {};
}

Result<std::string> digest_of(const OpenLayers& layers, const FoundChange& found) {
  const Change& c = found.change;
  if (c.type == FileType::kNone) return change_digest(c, {}, -1);
  TRY_SET(Place at, open_parent(layers.upper.get(), c.path));
  sys::Fd content;
  if (c.type == FileType::kFile) {
    TRY_SET(content, Unlocked::file(at.folder.get(), at.name));
  }
  Xattrs attributes;
  if (c.type == FileType::kFile || c.type == FileType::kFolder) {
    TRY_SET(attributes, read_xattrs(at.folder.get(), at.name));
  }
  return change_digest(c, attributes, content.get());
}

}  // namespace

Result<std::string> change_digest(const Change& change, const Xattrs& attributes, int content) {
  Sha256 hash;
  hash.add_field(to_string(change.type));
  hash.add_number(change.type == FileType::kNone || change.type == FileType::kSymlink ? 0 : change.mode);
  hash.add_field(change.target);
  hash.add_number(attributes.size());
  for (const auto& [name, value] : attributes) {
    hash.add_field(name);
    hash.add_field(value);
  }
  hash.add_number(change.size);
  if (change.type == FileType::kFile) TRY(add_content(hash, content, change.size));
  return hash.finish_hex();
}

Result<SeenChanges> see_changes(const OpenLayers& layers, const std::vector<FoundChange>& found) {
  SeenChanges out;
  for (const auto& f : found) {
    auto digest = digest_of(layers, f);
    if (!digest.ok()) return std::move(digest).error().context(printable(f.change.path));
    out.emplace(f.change.path, std::move(digest).value());
  }
  return out;
}

Result<void> hold_to_approved(const OpenLayers& layers, std::vector<FoundChange>& found, const SeenChanges& approved,
                              const std::vector<std::string>& begun, ApplyReport& report) {
  std::set<std::string> there;
  std::vector<FoundChange> kept;
  for (auto& f : found) {
    const std::string& path = f.change.path;
    auto seen = approved.find(path);
    if (seen == approved.end()) {
      report.skipped.push_back({path, "came after it was approved"});
      continue;
    }
    there.insert(path);
    if (!seen->second.empty()) {
      auto digest = digest_of(layers, f);
      if (!digest.ok()) return std::move(digest).error().context(printable(path));
      if (digest.value() != seen->second) report.refused.push_back({path, std::string(kChangedSince)});
    }
    kept.push_back(std::move(f));
  }
  there.insert(begun.begin(), begun.end());
  for (const auto& [path, digest] : approved)
    if (!digest.empty() && !there.contains(path)) report.refused.push_back({path, std::string(kChangedSince)});
  found = std::move(kept);
  return {};
}

}  // namespace hotcell::cells
