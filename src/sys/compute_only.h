// What reads hostile text is taken to be the attacker's from the first byte on. What is left to it: memory up to a limit,
// processor time up to a limit, reading and writing what it has open.
#pragma once
#include <cstdint>

#include "hotcell/result.h"

namespace hotcell::sys {

struct ComputeLimits {
  std::uint64_t memory_bytes = 0;
  std::uint64_t cpu_seconds = 0;   // a backstop: the owner's own clock is much shorter
  std::uint64_t descriptors = 3;   // the highest number that may be open, and one
  bool writes_files = false;       // what it has open may be a file
};

// For good. To be called before the first byte is read; when it fails, none may be.
Result<void> compute_only(const ComputeLimits& limits);

}  // namespace hotcell::sys
