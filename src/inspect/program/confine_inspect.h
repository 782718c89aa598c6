// What hotcell-inspect puts itself behind before it reads its first byte: of a text, of a rule, of anything.
#pragma once
#include <cstdint>

#include "hotcell/report.h"
#include "hotcell/result.h"

namespace hotcell::inspect {

// Everything it will read must be open. No capabilities, Landlock without a single path, a filter of seventeen system calls,
// limits of memory, processor time and descriptors. `descriptors`: the highest one that is open, and one.
Result<void> confine_inspect(std::uint64_t descriptors);
// An older kernel's Landlock knows nothing of sockets, devices and signals: the filter lets through no call that reaches them.
bool is_enough(const Enforcement& done);

}  // namespace hotcell::inspect
