#include "net/punycode.h"

#include <algorithm>
#include <cstdint>

namespace hotcell::net {
namespace {

constexpr std::uint32_t kBase = 36, kMin = 1, kMax = 26, kSkew = 38, kDamp = 700;
constexpr std::size_t kLongest = 63;

std::uint32_t adapt(std::uint32_t delta, std::uint32_t points, bool first) {
  delta = first ? delta / kDamp : delta / 2;
  delta += delta / points;
  std::uint32_t k = 0;
  for (; delta > (kBase - kMin) * kMax / 2; k += kBase) delta /= kBase - kMin;
  return k + (kBase - kMin + 1) * delta / (delta + kSkew);
}

std::uint32_t threshold(std::uint32_t k, std::uint32_t bias) {
  if (k <= bias) return kMin;
  return std::min(k - bias, kMax);
}

char digit(std::uint32_t d) { return static_cast<char>(d < 26 ? 'a' + d : '0' + (d - 26)); }

}  // namespace

std::optional<std::string> punycode_encode(std::u32string_view label) {
  if (label.size() > kLongest) return std::nullopt;
  std::string out;
  for (char32_t c : label)
    if (c < 0x80) out += static_cast<char>(c);
  auto handled = static_cast<std::uint32_t>(out.size()), basic = handled;
  if (basic > 0) out += '-';
  std::uint32_t n = 0x80, delta = 0, bias = 72;
  while (handled < label.size()) {
    char32_t next = 0x10ffff;
    for (char32_t c : label)
      if (c >= n) next = std::min(next, c);
    delta += (static_cast<std::uint32_t>(next) - n) * (handled + 1);  // 0x110000 × 64 fits
    n = static_cast<std::uint32_t>(next);
    for (char32_t c : label) {
      if (c < n) ++delta;
      if (c != n) continue;
      std::uint32_t q = delta;
      for (std::uint32_t k = kBase;; k += kBase) {
        std::uint32_t t = threshold(k, bias);
        if (q < t) break;
        out += digit(t + (q - t) % (kBase - t));
        q = (q - t) / (kBase - t);
      }
      out += digit(q);
      bias = adapt(delta, handled + 1, handled == basic);
      delta = 0;
      ++handled;
    }
    ++delta;
    ++n;
  }
  return out;
}

std::optional<std::u32string> punycode_decode(std::string_view label) {
  if (label.size() > kLongest) return std::nullopt;
  std::u32string out;
  std::size_t at = 0;
  if (auto dash = label.rfind('-'); dash != std::string_view::npos) {
    for (char c : label.substr(0, dash)) out += static_cast<char32_t>(static_cast<unsigned char>(c));
    at = dash + 1;
  }
  std::uint64_t n = 0x80, i = 0;
  std::uint32_t bias = 72;
  while (at < label.size()) {
    std::uint64_t before = i, weight = 1;
    for (std::uint32_t k = kBase;; k += kBase) {
      if (at >= label.size()) return std::nullopt;
      char c = label[at++];
      std::uint32_t d;
      if (c >= 'a' && c <= 'z') d = static_cast<std::uint32_t>(c - 'a');
      else if (c >= '0' && c <= '9') d = static_cast<std::uint32_t>(c - '0') + 26;
      else return std::nullopt;
      i += d * weight;
      if (i > 0xffffffffu) return std::nullopt;
      std::uint32_t t = threshold(k, bias);
      if (d < t) break;
      weight *= kBase - t;
      if (weight > 0xffffffffu) return std::nullopt;
    }
    auto points = static_cast<std::uint32_t>(out.size() + 1);
    bias = adapt(static_cast<std::uint32_t>(i - before), points, before == 0);
    n += i / points;
    i %= points;
    if (n > 0x10ffff) return std::nullopt;
    out.insert(out.begin() + static_cast<std::ptrdiff_t>(i), static_cast<char32_t>(n));
    ++i;
  }
  return out;
}

}  // namespace hotcell::net
