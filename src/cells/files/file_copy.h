// The bytes and the attributes of one file.
#pragma once
#include <sys/stat.h>

#include <cstdint>
#include <vector>

#include "hotcell/result.h"

namespace hotcell::cells {

struct Segment {
  std::uint64_t offset = 0, length = 0;
};
// What is not a hole, in order. A file system that knows no holes has one segment.
Result<std::vector<Segment>> data_segments(int fd, std::uint64_t size);

struct CopiedData {
  std::uint64_t bytes = 0;
  bool shared = false;
};
// `out` is new and empty. Blocks are shared where the file system can; holes stay holes. A source that becomes shorter
// meanwhile is an error.
Result<CopiedData> copy_data(int in, int out, std::uint64_t size);
Result<bool> same_bytes(int a, int b, std::uint64_t size);

}  // namespace hotcell::cells
