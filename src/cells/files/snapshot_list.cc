#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>

#include "base/strings.h"
#include "cells/files/snapshot.h"
#include "sys/file.h"

namespace hotcell::cells {
namespace {

// NAME.snap.hotcell-snapshot-UUID: one in the making holds a lock on it.
Result<void> remove_if_left(const std::string& path) {
  auto fd = sys::open(path.c_str(), O_RDONLY | O_NOFOLLOW | O_NONBLOCK);
  if (!fd.ok() || ::flock(fd.value().get(), LOCK_EX | LOCK_NB) < 0) return {};
  if (::unlink(path.c_str()) < 0 && errno != ENOENT) return errno_error(cat("remove ", printable(path)), errno);
  return {};
}

}  // namespace

Result<std::vector<SnapshotInfo>> list_snapshots(const std::string& folder) {
  TRY_SET(auto names, sys::list_dir(folder.c_str()));
  std::vector<SnapshotInfo> out;
  for (const auto& name : names) {
    if (!name.ends_with(kSnapshotSuffix)) continue;
    auto info = snapshot_info(cat(folder, "/", name));
    if (info.ok()) out.push_back(std::move(info).value());
  }
  std::sort(out.begin(), out.end(), [](const auto& a, const auto& b) { return a.created != b.created ? a.created > b.created : a.file < b.file; });
  return out;
}

Result<std::vector<std::string>> remove_old_snapshots(const std::string& folder, const Retention& retention, Time now) {
  TRY_SET(auto names, sys::list_dir(folder.c_str()));
  for (const auto& name : names)
    if (name.find(cat(kSnapshotSuffix, ".hotcell-snapshot-")) != std::string::npos) TRY(remove_if_left(cat(folder, "/", name)));
  TRY_SET(auto all, list_snapshots(folder));
  std::vector<std::string> removed;
  for (std::size_t i = 0; i < all.size(); ++i) {
    const bool old = retention.max_age.count() > 0 && now - all[i].created > retention.max_age;
    const bool many = retention.keep > 0 && i >= retention.keep;
    if (!old && !many) continue;
    if (::unlink(all[i].file.c_str()) < 0 && errno != ENOENT) return errno_error(cat("remove ", printable(all[i].file)), errno);
    removed.push_back(all[i].file);
  }
  return removed;
}

}  // namespace hotcell::cells
