#include "languages/python/facts_decode.h"

#include "languages/fact_list.h"

namespace hotcell::python {
namespace {

int base64_digit(char c) {
  if (c >= 'A' && c <= 'Z') return c - 'A';
  if (c >= 'a' && c <= 'z') return c - 'a' + 26;
  if (c >= '0' && c <= '9') return c - '0' + 52;
  return c == '+' || c == '-' ? 62 : c == '/' || c == '_' ? 63 : -1;
}

template <typename Digit>
std::optional<std::string> decode_bits(std::string_view text, unsigned bits, Digit digit) {
  std::string out;
  std::uint32_t held = 0;
  unsigned count = 0;
  for (char c : text) {
    if (c == '=') break;
    int d = digit(c);
    if (d < 0) continue;
    held = (held << bits | static_cast<std::uint32_t>(d)) & 0xffffff;
    count += bits;
    if (count >= 8) {
      count -= 8;
      out += static_cast<char>(held >> count & 0xff);
    }
  }
  return out;
}

}  // namespace

std::optional<std::string> decode_base64(std::string_view text) { return decode_bits(text, 6, base64_digit); }

std::optional<std::string> decode_base32(std::string_view text) {
  return decode_bits(text, 5, [](char c) {
    if (c >= 'A' && c <= 'Z') return c - 'A';
    if (c >= 'a' && c <= 'z') return c - 'a';
    return c >= '2' && c <= '7' ? c - '2' + 26 : -1;
  });
}

std::optional<std::string> decode_hex(std::string_view text) {
  std::string out;
  int high = -1;
  for (char c : text) {
    if (c == ' ' || c == '\n' || c == '\t') continue;
    int d = hex_digit(c);
    if (d < 0) return std::nullopt;
    if (high < 0) {
      high = d;
    } else {
      out += static_cast<char>(high * 16 + d);
      high = -1;
    }
  }
  if (high >= 0) return std::nullopt;
  return out;
}

std::string encode_hex(std::string_view bytes) {
  std::string out;
  for (char c : bytes) {
    out += "0123456789abcdef"[static_cast<unsigned char>(c) >> 4];
    out += "0123456789abcdef"[static_cast<unsigned char>(c) & 15];
  }
  return out;
}

std::string rot13(std::string_view text) {
  std::string out(text);
  for (char& c : out) {
    if (c >= 'a' && c <= 'z')
      c = static_cast<char>('a' + (c - 'a' + 13) % 26);
    else if (c >= 'A' && c <= 'Z')
      c = static_cast<char>('A' + (c - 'A' + 13) % 26);
  }
  return out;
}

std::optional<std::string> decode_codec(std::string_view text, std::string_view codec, bool decode) {
  std::string name;
  for (char c : codec)
    if (c != '-' && c != '_' && c != ' ') name += static_cast<char>(c >= 'A' && c <= 'Z' ? c | 0x20 : c);
  if (name == "rot13") return rot13(text);
  if (name == "utf8" || name == "ascii" || name == "latin1" || name == "iso88591" || name == "cp1252" || name == "u8" ||
      name == "l1" || name == "usascii" || name == "utf8sig")
    return std::string(text);
  if (!decode) return name == "hex" || name == "hexcodec" ? std::optional(encode_hex(text)) : std::nullopt;
  if (name == "hex" || name == "hexcodec") return decode_hex(text);
  if (name == "base64" || name == "base64codec") return decode_base64(text);
  if (name == "unicodeescape" || name == "rawunicodeescape") return decode_escapes(text);
  return std::nullopt;
}

}  // namespace hotcell::python
