// What was compiled once is not compiled again. Entries are called after everything they were made from, so a name is
// never reused for something else, and two processes that write the same one write the same bytes.
//
// The folder is the user's own (0700, owner checked each time it is opened): nobody else's entry is ever run. An entry
// that is damaged, or that somebody else could have written, is ignored and removed. The oldest are removed when the
// folder grows past its limit.
#pragma once
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "hotcell/report.h"
#include "hotcell/result.h"
#include "hotcell/units.h"
#include "sys/fd.h"

namespace hotcell {

struct CacheStats {
  std::uint64_t entries = 0;
  Bytes bytes;
};

class ArtefactCache {
 public:
  static constexpr Bytes kLimit = 1_GiB;

  // $XDG_CACHE_HOME/hotcell, /var/cache/hotcell for root, ~/.cache/hotcell; empty when none of these is known.
  static std::string standard_folder();

  // Made when it is not there. An error means: no cache here, and why.
  static Result<ArtefactCache> open(const std::string& folder, Bytes limit = kLimit);

  // `key`: letters, digits, dashes and dots.
  std::optional<std::vector<OutputFile>> get(const std::string& key) const;
  Result<void> put(const std::string& key, std::span<const OutputFile> files) const;

  // Files that a tool opens by name and never changes: the path of a folder with them.
  std::optional<std::string> folder_of(const std::string& key) const;
  Result<std::string> put_folder(const std::string& key, std::span<const OutputFile> files) const;

  CacheStats stats() const;
  Result<CacheStats> clear() const;  // what was removed
  const std::string& folder() const { return path_; }
  Bytes limit() const { return limit_; }

 private:
  ArtefactCache() = default;
  void shrink() const;

  std::string path_;
  sys::Fd folder_;
  Bytes limit_;
};

}  // namespace hotcell
