// Quantities carry their unit in the type.
#pragma once
#include <chrono>
#include <compare>
#include <cstdint>

namespace hotcell {

struct Bytes {
  std::uint64_t n = 0;
  auto operator<=>(const Bytes&) const = default;
};
constexpr Bytes operator""_KiB(unsigned long long v) { return {v << 10}; }
constexpr Bytes operator""_MiB(unsigned long long v) { return {v << 20}; }
constexpr Bytes operator""_GiB(unsigned long long v) { return {v << 30}; }

using Nanoseconds = std::chrono::nanoseconds;

}  // namespace hotcell
