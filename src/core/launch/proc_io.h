// What a living process tree has fetched from disks and handed to them, and what it holds open on an overlay, read from /proc.
#pragma once
#include <cstdint>

namespace hotcell {

struct TreeIo {
  std::uint64_t read = 0, written = 0;  // bytes
  std::uint64_t nameless = 0;           // bytes of open files of an overlay that have no name any more
};
// Of init, its descendants, and those that any of them has waited for. `files`: their open files are looked at, too.
TreeIo tree_io(int init_pid, bool files = false);

}  // namespace hotcell
