#pragma once
#include <cstdint>

#include "hotcell/result.h"

namespace hotcell {

// Takes everything from this process but computing, and reading and writing what it has open. For good. To be called
// before the first byte of a source is read; when it fails, none may be.
Result<void> confine_verifier(std::uint64_t memory_bytes);

}  // namespace hotcell
