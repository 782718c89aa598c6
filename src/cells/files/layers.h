// The two folders a lasting cell's workspace is made of. Everything in cells/files works on these folders themselves, never
// through the mounted overlay, and looks only at what the upper one holds: what it costs is what was changed.
//
// The upper folder is written by a hostile program through overlayfs. Both are opened once, and whatever is below is
// reached from there with RESOLVE_BENEATH | RESOLVE_NO_SYMLINKS: no name and no link in them leads out.
//
// While anything here *writes* into an upper folder (discard, restore), its overlay must not be mounted; while anything
// reads it (diff, apply, snapshot, copy), the cell should be frozen: a file that changes meanwhile is an error, not a mix.
#pragma once
#include <chrono>
#include <string>

namespace hotcell::cells {

using Time = std::chrono::sys_time<std::chrono::nanoseconds>;

struct Layers {
  std::string lower;  // the project; empty: the cell has none
  std::string upper;
};

// To be taken when a cell is made, before it runs, and kept with it: a project file whose ctime is later was changed
// underneath. Files are stamped by a clock that may be some milliseconds behind this one: a change that soon after is not
// noticed, but the cell, which has not run yet, sees it anyway. The other way round every file just written would be one, and
// not only in theory: CLOCK_REALTIME_COARSE is behind the stamps of a kernel (6.13 on) that stamps finely what is watched.
Time base_time_now();

}  // namespace hotcell::cells
