#include "base/strings.h"

namespace hotcell {

std::vector<std::string_view> split(std::string_view s, char sep) {
  std::vector<std::string_view> out;
  for (;;) {
    auto at = s.find(sep);
    out.push_back(s.substr(0, at));
    if (at == std::string_view::npos) return out;
    s.remove_prefix(at + 1);
  }
}

std::string_view trim(std::string_view s) {
  while (!s.empty() && (s.front() == ' ' || s.front() == '\t' || s.front() == '\n' || s.front() == '\r')) s.remove_prefix(1);
  while (!s.empty() && (s.back() == ' ' || s.back() == '\t' || s.back() == '\n' || s.back() == '\r')) s.remove_suffix(1);
  return s;
}

std::string ascii_lower(std::string_view s) {
  std::string out(s);
  for (char& c : out)
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c + 32);
  return out;
}

std::string join(const std::vector<std::string>& pieces, std::string_view sep) {
  std::string out;
  for (const auto& p : pieces) {
    if (!out.empty()) out += sep;
    out += p;
  }
  return out;
}

std::optional<std::uint64_t> parse_u64(std::string_view s) {
  std::uint64_t n = 0;
  auto [end, ec] = std::from_chars(s.data(), s.data() + s.size(), n);
  if (ec != std::errc() || end != s.data() + s.size() || s.empty()) return std::nullopt;
  return n;
}

// Overlong forms, surrogates, truncated sequences and what lies above U+10FFFF are not well-formed.
std::size_t utf8_length(std::string_view s) {
  auto b = [&](std::size_t i) { return static_cast<unsigned char>(s[i]); };
  if (b(0) < 0x80) return 1;
  std::size_t n = b(0) >= 0xC2 && b(0) <= 0xDF ? 2 : (b(0) & 0xF0) == 0xE0 ? 3 : b(0) >= 0xF0 && b(0) <= 0xF4 ? 4 : 0;
  if (n == 0 || s.size() < n) return 0;
  for (std::size_t i = 1; i < n; ++i)
    if ((b(i) & 0xC0) != 0x80) return 0;
  if (b(0) == 0xE0 && b(1) < 0xA0) return 0;
  if (b(0) == 0xED && b(1) > 0x9F) return 0;
  if (b(0) == 0xF0 && b(1) < 0x90) return 0;
  if (b(0) == 0xF4 && b(1) > 0x8F) return 0;
  return n;
}

bool is_valid_utf8(std::string_view s) {
  while (!s.empty()) {
    auto n = utf8_length(s);
    if (n == 0) return false;
    s.remove_prefix(n);
  }
  return true;
}

std::string printable(std::string_view s) {
  static constexpr char kHex[] = "0123456789abcdef";
  std::string out;
  out.reserve(s.size());
  while (!s.empty()) {
    auto c = static_cast<unsigned char>(s[0]);
    auto n = utf8_length(s);
    // C1 controls (U+0080–U+009F) arrive as C2 80..9F and drive terminals just as ESC does.
    bool c1 = n == 2 && c == 0xC2 && static_cast<unsigned char>(s[1]) < 0xA0;
    if (c == '\n') out += "\\n";
    else if (n == 0 || c < 0x20 || c == 0x7F) (out += "\\x") += {kHex[c >> 4], kHex[c & 15]};
    else if (c1) (out += "\\u00") += {kHex[static_cast<unsigned char>(s[1]) >> 4], kHex[s[1] & 15]};
    else out.append(s.substr(0, n));
    s.remove_prefix(n ? n : 1);
  }
  return out;
}

}  // namespace hotcell
