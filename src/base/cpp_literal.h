// A text as a constant of C++, for what is made at build time.
#pragma once
#include <string>
#include <string_view>

namespace hotcell {

// With its length (sv): to count thousands of them takes the compiler longer than all the rest.
inline std::string cpp_literal(std::string_view s) {
  static constexpr char kOctal[] = "01234567";
  std::string out = "\"";
  for (char c : s) {
    auto byte = static_cast<unsigned char>(c);
    if (c == '"' || c == '\\' || c == '?') (out += '\\') += c;
    else if (byte >= 0x20 && byte < 0x7F) out += c;
    else (out += '\\') += {kOctal[byte >> 6], kOctal[byte >> 3 & 7], kOctal[byte & 7]};
  }
  return out + "\"sv";
}

}  // namespace hotcell
