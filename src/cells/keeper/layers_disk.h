// A file system of its own for what a cell changes, as large as --disk: ext4 in a sparse file of the cell's folder, behind a
// loop device. For root alone. Full, it answers ENOSPC like any other, and nothing samples.
//
// Nothing of it can be left behind: the mount is attached nowhere (it lives while a descriptor, or the cell's own
// namespace, holds it) and the loop device clears itself when the mount goes. A keeper that is killed leaves the file.
#pragma once
#include <memory>
#include <optional>
#include <string>

#include "cells/files/copy.h"
#include "hotcell/result.h"
#include "sys/fd.h"

namespace hotcell::cells {

class LayersDisk {
 public:
  // Why it cannot be had here; empty: it can.
  static std::string why_not();
  // The image of the cell in `folder`; made when it is not there, and then whatever lies in `folder`/upper goes into it. Takes
  // some tens of milliseconds.
  static Result<std::shared_ptr<LayersDisk>> open(const std::string& folder, Bytes size);

  // Holds `upper` and `work`; good in this process alone.
  std::string path() const;
  // Another mount of the same, for a cell to have as its own.
  Result<sys::Fd> mount() const;
  std::optional<DiskUsage> used() const;

 private:
  LayersDisk() = default;
  sys::Fd mount_;
  std::string device_;
};

}  // namespace hotcell::cells
