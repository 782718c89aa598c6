// FilterModel → classic BPF, as a search tree over the numbers with the argument checks behind it.
#pragma once
#include <cstdint>
#include <vector>

#include "core/kernel/seccomp_model.h"

namespace hotcell {

enum class Listener : std::uint8_t { kNone, kPresent };  // kNone: named-denied calls answer EPERM by themselves

// struct sock_filter, eight bytes each.
std::vector<std::uint64_t> compile_filter(const FilterModel& model, Listener listener);
inline constexpr std::size_t kMaxFilterLength = 4096;  // BPF_MAXINSNS

}  // namespace hotcell
