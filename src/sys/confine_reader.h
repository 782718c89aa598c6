#pragma once
#include <cstdint>

#include "hotcell/result.h"

namespace hotcell::sys {

// Takes everything from this process but computing, and reading and writing what it has open. For good. To be called
// before the first byte of hostile text is read; when it fails, none may be.
Result<void> confine_reader(std::uint64_t memory_bytes);

}  // namespace hotcell::sys
