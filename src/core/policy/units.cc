#include "core/policy/units.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <limits>
#include <optional>

#include "base/strings.h"

namespace hotcell {
namespace {

constexpr std::uint64_t kNanosPerSecond = 1'000'000'000;
// off_t, rlimits and the cgroup files all stop at the signed maximum.
constexpr std::uint64_t kMax = std::numeric_limits<std::int64_t>::max();

struct Unit {
  std::string_view name;
  std::uint64_t factor;
};

constexpr std::array<Unit, 13> kByteUnits = {{{"", 1},
                                              {"K", 1ULL << 10},
                                              {"Ki", 1ULL << 10},
                                              {"KiB", 1ULL << 10},
                                              {"KB", 1ULL << 10},
                                              {"M", 1ULL << 20},
                                              {"Mi", 1ULL << 20},
                                              {"MiB", 1ULL << 20},
                                              {"MB", 1ULL << 20},
                                              {"G", 1ULL << 30},
                                              {"Gi", 1ULL << 30},
                                              {"GiB", 1ULL << 30},
                                              {"GB", 1ULL << 30}}};
constexpr std::array<Unit, 5> kTimeUnits = {{{"", kNanosPerSecond},
                                             {"ms", 1'000'000},
                                             {"s", kNanosPerSecond},
                                             {"m", 60 * kNanosPerSecond},
                                             {"h", 3600 * kNanosPerSecond}}};

template <std::size_t N>
std::optional<std::uint64_t> factor_of(const std::array<Unit, N>& units, std::string_view name) {
  for (const auto& unit : units)
    if (unit.name == name) return unit.factor;
  return std::nullopt;
}

std::size_t digits_at(std::string_view text, std::size_t from) {
  std::size_t n = from;
  while (n < text.size() && text[n] >= '0' && text[n] <= '9') ++n;
  return n - from;
}

Error bad(std::string_view text, std::string_view what, std::string_view accepted) {
  return make_error(ErrorCode::kInvalid, cat(quoted(text), " ", what, "; accepted: ", accepted));
}

constexpr std::string_view kBytesAccepted = "a whole number above 0 of bytes, or with K, M or G, as in 256M";
constexpr std::string_view kDurationAccepted = "a number above 0 with ms, s, m or h, as in 60s (no unit: seconds)";
constexpr std::string_view kCpusAccepted = "a number of CPUs from 0.01 to 8192, as in 1.5";
constexpr std::string_view kCountAccepted = "a whole number from 1 to 4294967295";

std::string one_decimal(double value) {
  char buf[40];
  auto end = std::to_chars(buf, buf + sizeof buf, value, std::chars_format::fixed, 1).ptr;
  std::string out(buf, end);
  if (out.size() > 2 && out.ends_with(".0")) out.resize(out.size() - 2);
  return out;
}

}  // namespace

std::string quoted(std::string_view text) {
  constexpr std::size_t kShown = 80;
  // Cut before a continuation byte would be split off, so that the clipped text stays readable.
  std::size_t cut = std::min(text.size(), kShown);
  while (cut < text.size() && cut > 0 && (static_cast<unsigned char>(text[cut]) & 0xC0) == 0x80) --cut;
  return cat("\"", printable(text.substr(0, cut)), text.size() > cut ? "…\"" : "\"");
}

Result<Bytes> parse_bytes(std::string_view text) {
  std::size_t digits = digits_at(text, 0);
  if (digits == 0) return bad(text, "is not a size", kBytesAccepted);
  auto factor = factor_of(kByteUnits, text.substr(digits));
  if (!factor) return bad(text, "is not a size", kBytesAccepted);
  auto number = parse_u64(text.substr(0, digits));
  std::uint64_t total = 0;
  if (!number || __builtin_mul_overflow(*number, *factor, &total) || total > kMax)
    return bad(text, "is too large a size", kBytesAccepted);
  if (total == 0) return bad(text, "is no size to run with", kBytesAccepted);
  return Bytes{total};
}

Result<Nanoseconds> parse_duration(std::string_view text) {
  std::size_t digits = digits_at(text, 0), end = digits, fraction = 0;
  if (end < text.size() && text[end] == '.') {
    fraction = digits_at(text, end + 1);
    end += 1 + fraction;
    if (fraction == 0 || fraction > 9) return bad(text, "is not a duration", kDurationAccepted);
  }
  auto factor = factor_of(kTimeUnits, text.substr(end));
  if (digits == 0 || !factor) return bad(text, "is not a duration", kDurationAccepted);

  auto whole = parse_u64(text.substr(0, digits));
  std::uint64_t total = 0;
  if (!whole || __builtin_mul_overflow(*whole, *factor, &total) || total > kMax)
    return bad(text, "is too long a duration", kDurationAccepted);
  // Digit by digit in integers: exact where a double would turn 0.1s into 100000000.000000005 ns.
  std::uint64_t place = *factor;
  for (std::size_t i = 0; i < fraction; ++i) {
    auto digit = static_cast<std::uint64_t>(text[digits + 1 + i] - '0');
    if (place % 10 != 0 && digit != 0) return bad(text, "is finer than a nanosecond", kDurationAccepted);
    place /= 10;
    total += digit * place;
  }
  if (total > kMax) return bad(text, "is too long a duration", kDurationAccepted);
  if (total == 0) return bad(text, "is no time to run in", kDurationAccepted);
  return Nanoseconds(static_cast<std::int64_t>(total));
}

Result<double> parse_cpus(std::string_view text) {
  // Only digits and one dot: from_chars would also take nan, inf, exponents and a minus.
  std::size_t digits = digits_at(text, 0), end = digits;
  if (end < text.size() && text[end] == '.') {
    std::size_t fraction = digits_at(text, end + 1);
    end += 1 + fraction;
    if (fraction == 0) end = 0;
  }
  if (digits == 0 || end != text.size()) return bad(text, "is not a number of CPUs", kCpusAccepted);
  double value = 0;
  auto [stop, ec] = std::from_chars(text.data(), text.data() + text.size(), value, std::chars_format::fixed);
  if (ec != std::errc() || stop != text.data() + text.size() || !(value >= kMinCpus && value <= kMaxCpus))
    return bad(text, "is out of range", kCpusAccepted);
  return value;
}

Result<std::uint32_t> parse_count(std::string_view text) {
  if (text.empty() || digits_at(text, 0) != text.size()) return bad(text, "is not a count", kCountAccepted);
  auto number = parse_u64(text);
  if (!number || *number > std::numeric_limits<std::uint32_t>::max()) return bad(text, "is too large", kCountAccepted);
  if (*number == 0) return bad(text, "is no count to run with", kCountAccepted);
  return static_cast<std::uint32_t>(*number);
}

std::string format_bytes(Bytes bytes) {
  auto value = static_cast<double>(bytes.n);
  if (bytes.n >= 1ULL << 30) return one_decimal(value / (1ULL << 30)) + "G";
  if (bytes.n >= 1ULL << 20) return one_decimal(value / (1ULL << 20)) + "M";
  if (bytes.n >= 1ULL << 10) return one_decimal(value / (1ULL << 10)) + "K";
  return cat(bytes.n, " bytes");
}

std::string format_duration(Nanoseconds duration) {
  auto ns = duration.count();
  auto value = static_cast<double>(ns);
  if (ns < 0)
    return "-" + format_duration(ns == std::numeric_limits<std::int64_t>::min() ? Nanoseconds::max() : -duration);
  if (ns < 1000) return cat(ns, "ns");
  if (ns < 1'000'000) return one_decimal(value / 1e3) + "us";
  if (ns < 1'000'000'000) return one_decimal(value / 1e6) + "ms";
  if (ns < 120 * 1'000'000'000LL) return one_decimal(value / 1e9) + "s";
  if (ns < 7200 * 1'000'000'000LL) return one_decimal(value / 60e9) + "m";
  return one_decimal(value / 3600e9) + "h";
}

std::string format_cpus(double cpus) {
  char buf[64];
  auto [end, ec] = std::to_chars(buf, buf + sizeof buf, cpus, std::chars_format::fixed);
  return ec == std::errc() ? std::string(buf, end) : "?";
}

std::string exact_bytes(Bytes bytes) {
  if (bytes.n != 0 && bytes.n % (1ULL << 30) == 0) return cat(bytes.n >> 30, "G");
  if (bytes.n != 0 && bytes.n % (1ULL << 20) == 0) return cat(bytes.n >> 20, "M");
  if (bytes.n != 0 && bytes.n % (1ULL << 10) == 0) return cat(bytes.n >> 10, "K");
  return cat(bytes.n);
}

std::string exact_duration(Nanoseconds duration) {
  auto ns = duration.count();
  if (ns <= 0 || ns % 1'000'000'000 == 0) return cat(ns / 1'000'000'000, "s");
  if (ns % 1'000'000 == 0) return cat(ns / 1'000'000, "ms");
  std::string fraction = cat(1'000'000'000 + ns % 1'000'000'000).substr(1);
  return cat(ns / 1'000'000'000, ".", fraction, "s");
}

}  // namespace hotcell
