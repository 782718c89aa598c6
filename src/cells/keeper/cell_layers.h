// What a thread needs to know of a cell's files: the cell itself belongs to the loop.
#pragma once
#include <memory>
#include <string>

#include "base/strings.h"
#include "cells/files/layers.h"
#include "cells/files/snapshot.h"
#include "cells/keeper/keeper.h"
#include "cells/keeper/layers_disk.h"

namespace hotcell::cells {

class CellLayers {
 public:
  explicit CellLayers(const Kept& cell)
      : folder_(cell.folder), project_(cell.record.project), own_disk_(cell.record.own_disk), size_(cell.policy.limits.disk), disk_(cell.disk) {}

  const std::string& folder() const { return folder_; }
  // Of a cell that does not run its own file system is not there; then it is until close().
  Result<Layers> open() {
    if (own_disk_ && !disk_) {
      TRY_SET(disk_, LayersDisk::open(folder_, size_));
      TRY(clean_leftovers(cat(disk_->path(), "/upper")));
    }
    return Layers{project_, cat(disk_ ? disk_->path() : folder_, "/upper")};
  }
  // In the thread that opened it, before anybody starts the cell: one image is never mounted twice.
  void close() { disk_.reset(); }

 private:
  std::string folder_, project_;
  bool own_disk_;
  Bytes size_;
  std::shared_ptr<LayersDisk> disk_;
};

}  // namespace hotcell::cells
