#include "languages/java/facts_escapes.h"

namespace hotcell {
namespace {

// The length of the escape at `i` and its code unit; 0 when there is none. A backslash that is itself escaped begins
// none.
std::size_t escape_at(std::string_view s, std::size_t i, std::uint32_t& unit) {
  if (s[i] != '\\' || i + 1 >= s.size() || s[i + 1] != 'u') return 0;
  std::size_t j = i + 1;
  while (j < s.size() && s[j] == 'u') ++j;
  if (j + 4 > s.size()) return 0;
  unit = 0;
  for (std::size_t k = 0; k < 4; ++k) {
    int d = hex_digit(s[j + k]);
    if (d < 0) return 0;
    unit = unit * 16 + static_cast<std::uint32_t>(d);
  }
  return j + 4 - i;
}

}  // namespace

bool has_unicode_escapes(std::string_view text) { return text.find("\\u") != std::string_view::npos; }

MappedText decode_unicode_escapes(std::string_view s) {
  MappedText out;
  auto keep = [&](std::size_t from) { out.origin.resize(out.text.size(), static_cast<std::uint32_t>(from)); };
  for (std::size_t i = 0; i < s.size();) {
    std::uint32_t unit = 0, low = 0;
    std::size_t length = escape_at(s, i, unit);
    if (length == 0) {
      std::size_t n = s[i] == '\\' && i + 1 < s.size() ? 2 : 1;
      for (std::size_t k = 0; k < n; ++k) {
        out.text += s[i + k];
        keep(i + k);
      }
      i += n;
      continue;
    }
    std::size_t second = unit >= 0xd800 && unit < 0xdc00 && i + length < s.size() ? escape_at(s, i + length, low) : 0;
    if (second > 0 && low >= 0xdc00 && low < 0xe000) {
      unit = 0x10000 + ((unit - 0xd800) << 10) + (low - 0xdc00);
      length += second;
    }
    append_utf8(out.text, unit);
    keep(i);
    i += length;
  }
  out.origin.push_back(static_cast<std::uint32_t>(s.size()));
  return out;
}

}  // namespace hotcell
