#include "cells/files/codec.h"

#include <charconv>

#include "base/strings.h"

namespace hotcell::cells {

std::string encode_word(std::string_view bytes) {
  static constexpr char kHex[] = "0123456789abcdef";
  if (bytes.empty()) return "\\e";
  std::string out;
  out.reserve(bytes.size());
  for (char c : bytes) {
    auto u = static_cast<unsigned char>(c);
    if (u > 0x20 && u < 0x7f && c != '\\') {
      out += c;
    } else {
      const char escaped[] = {'\\', 'x', kHex[u >> 4], kHex[u & 15]};
      out.append(escaped, sizeof escaped);
    }
  }
  return out;
}

std::optional<std::string> decode_word(std::string_view word) {
  if (word == "\\e") return std::string();
  if (word.empty()) return std::nullopt;
  std::string out;
  out.reserve(word.size());
  for (std::size_t i = 0; i < word.size(); ++i) {
    auto u = static_cast<unsigned char>(word[i]);
    if (u <= 0x20 || u >= 0x7f) return std::nullopt;
    if (word[i] != '\\') {
      out += word[i];
      continue;
    }
    if (i + 3 >= word.size() || word[i + 1] != 'x') return std::nullopt;
    unsigned value = 0;
    auto [end, error] = std::from_chars(word.data() + i + 2, word.data() + i + 4, value, 16);
    if (error != std::errc() || end != word.data() + i + 4) return std::nullopt;
    out += static_cast<char>(value);
    i += 3;
  }
  // One spelling for each: what could be written in two ways could be compared wrongly.
  if (encode_word(out) != word) return std::nullopt;
  return out;
}

std::string encode_time(Time time) { return std::to_string(time.time_since_epoch().count()); }

std::optional<Time> decode_time(std::string_view word) {
  std::int64_t value = 0;
  auto [end, error] = std::from_chars(word.data(), word.data() + word.size(), value);
  if (word.empty() || error != std::errc() || end != word.data() + word.size()) return std::nullopt;
  return Time(std::chrono::nanoseconds(value));
}

}  // namespace hotcell::cells
