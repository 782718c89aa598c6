// Quantities as people write them in flags and profiles.
#pragma once
#include <cstdint>
#include <string>
#include <string_view>

#include "hotcell/result.h"
#include "hotcell/units.h"

namespace hotcell {

// All refuse 0, a sign, spaces, overflow and anything behind the unit; the message names the value and what is
// accepted.
Result<Bytes> parse_bytes(std::string_view text);           // 100K 256M 1G (1024-based; Mi, MiB and MB say the same)
Result<Nanoseconds> parse_duration(std::string_view text);  // 500ms 60s 2m 1h 1.5s; a plain number is seconds
Result<double> parse_cpus(std::string_view text);           // 0.5, 2
Result<std::uint32_t> parse_count(std::string_view text);

// For people: rounded to one decimal.
std::string format_bytes(Bytes bytes);
std::string format_duration(Nanoseconds duration);
std::string format_cpus(double cpus);

// For files: the parsers above give back the same value.
std::string exact_bytes(Bytes bytes);
std::string exact_duration(Nanoseconds duration);

// A value out of a flag or file, fit for a one-line message: quoted, escaped, clipped.
std::string quoted(std::string_view text);

// Below one hundredth the kernel's quota (at least 1 ms in a period of 100 ms) cannot express it.
inline constexpr double kMinCpus = 0.01;
inline constexpr double kMaxCpus = 8192;  // CONFIG_NR_CPUS of the largest kernels

}  // namespace hotcell
