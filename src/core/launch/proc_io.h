// What a living process tree has fetched from disks and handed to them, read from /proc.
#pragma once
#include <cstdint>

namespace hotcell {

struct TreeIo {
  std::uint64_t read = 0, written = 0;  // bytes
};
// Of init, its descendants, and those that any of them has waited for.
TreeIo tree_io(int init_pid);

}  // namespace hotcell
