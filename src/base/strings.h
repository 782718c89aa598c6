// Small string helpers; no locale, no allocation where a view will do.
#pragma once
#include <charconv>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace hotcell {

inline void append_piece(std::string& out, std::string_view s) { out += s; }
inline void append_piece(std::string& out, char c) { out += c; }
template <typename T>
  requires(std::is_integral_v<T> && !std::is_same_v<T, char> && !std::is_same_v<T, bool>)
void append_piece(std::string& out, T n) {
  char buf[24];
  auto end = std::to_chars(buf, buf + sizeof buf, n).ptr;
  out.append(buf, end);
}
template <typename... T>
std::string cat(const T&... pieces) {
  std::string out;
  (append_piece(out, pieces), ...);
  return out;
}

std::vector<std::string_view> split(std::string_view s, char sep);          // keeps empty pieces
std::string_view trim(std::string_view s);
std::string ascii_lower(std::string_view s);
std::string join(const std::vector<std::string>& pieces, std::string_view sep);
std::optional<std::uint64_t> parse_u64(std::string_view s);                  // decimal, whole string, no sign
// Length of the well-formed UTF-8 sequence at s[0] (s not empty), 0 when it is not one.
std::size_t utf8_length(std::string_view s);
bool is_valid_utf8(std::string_view s);
// For terminals and one-line messages: control bytes and invalid UTF-8 become \xNN, newlines \n.
std::string printable(std::string_view s);

}  // namespace hotcell
