// Host ids for cells when hotcell is root: each living cell has one of its own, never 0, never shared. A cell's id is a
// byte locked in one file by an open file description that init inherits, so it is free exactly when the cell is gone,
// also after a crash of ours.
#pragma once
#include "hotcell/result.h"
#include "sys/fd.h"

namespace hotcell {

// Above systemd's container range (ends at 1879048191), below 2^31.
inline constexpr unsigned kFirstId = 1'900'000'000, kIdCount = 65535;

// For a command line that somebody else runs (`hotcell wrap`): never one of a living cell's, nor that of templates, which is the
// one behind the cells'.
inline constexpr unsigned kForeignId = kFirstId + kIdCount + 1;

struct CellIds {
  unsigned id = 0;  // uid and gid
  sys::Fd lock;
};
Result<CellIds> take_ids();
// This one, or an error: for what was kept and knows itself by it.
Result<CellIds> take_ids_again(unsigned id);

}  // namespace hotcell
