// What hotcell-inspect puts itself behind before it reads its first byte: of a text, of a rule, of anything.
#pragma once
#include <cstdint>

#include "hotcell/result.h"

namespace hotcell::inspect {

// Everything it will read must be open. No capabilities, Landlock without a single path, a filter of seventeen system calls,
// limits of memory, processor time and descriptors. `descriptors`: the highest one that is open, and one.
Result<void> confine_inspect(std::uint64_t descriptors);

}  // namespace hotcell::inspect
