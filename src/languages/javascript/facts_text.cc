#include <algorithm>
#include <array>

#include "languages/constant_paths.h"
#include "languages/fact_list.h"
#include "languages/javascript/facts_model.h"

namespace hotcell::javascript {

std::string decode_string(std::string_view s) {
  std::string out;
  std::uint32_t high = 0;  // the first half of a surrogate pair
  for (std::size_t i = 0; i < s.size(); ++i) {
    if (s[i] != '\\' || i + 1 >= s.size()) {
      out += s[i];
      high = 0;
      continue;
    }
    char c = s[++i];
    auto hex = [&](std::size_t digits) {
      std::uint32_t n = 0;
      for (std::size_t k = 0; k < digits && i + 1 < s.size() && hex_digit(s[i + 1]) >= 0; ++k)
        n = n * 16 + static_cast<std::uint32_t>(hex_digit(s[++i]));
      return n;
    };
    if (c == 'u' && i + 1 < s.size()) {
      std::uint32_t n = 0;
      if (s[i + 1] == '{') {
        ++i;
        n = hex(8);
        if (i + 1 < s.size() && s[i + 1] == '}') ++i;
      } else {
        n = hex(4);
      }
      if (n >= 0xd800 && n < 0xdc00) {
        high = n;
        continue;
      }
      if (n >= 0xdc00 && n < 0xe000 && high != 0) n = 0x10000 + ((high - 0xd800) << 10) + (n - 0xdc00);
      append_utf8(out, n);
    } else if (c == 'x') {
      append_utf8(out, hex(2));
    } else if (c >= '0' && c <= '7') {
      std::uint32_t n = static_cast<std::uint32_t>(c - '0');
      for (int k = 0; k < 2 && i + 1 < s.size() && s[i + 1] >= '0' && s[i + 1] <= '7' && n < 32; ++k)
        n = n * 8 + static_cast<std::uint32_t>(s[++i] - '0');
      append_utf8(out, n);
    } else if (c == '\r') {
      if (i + 1 < s.size() && s[i + 1] == '\n') ++i;
    } else if (c != '\n') {
      static constexpr std::string_view kFrom = "nrtbfv", kTo = "\n\r\t\b\f\v";
      std::size_t at = kFrom.find(c);
      out += at == std::string_view::npos ? c : kTo[at];
    }
    high = 0;
  }
  return out;
}

std::string from_base64(std::string_view s) {
  std::string out;
  std::uint32_t bits = 0;
  int have = 0;
  for (char c : s) {
    int v = c >= 'A' && c <= 'Z' ? c - 'A' : c >= 'a' && c <= 'z' ? c - 'a' + 26 : c >= '0' && c <= '9' ? c - '0' + 52
            : c == '+' || c == '-' ? 62 : c == '/' || c == '_' ? 63 : -1;
    if (c == '=') break;
    if (v < 0) continue;
    bits = bits << 6 | static_cast<std::uint32_t>(v);
    if ((have += 6) >= 8) out += static_cast<char>(bits >> (have -= 8) & 0xff);
  }
  return out;
}

std::string from_hex(std::string_view s) {
  std::string out;
  for (std::size_t i = 0; i + 1 < s.size() && hex_digit(s[i]) >= 0 && hex_digit(s[i + 1]) >= 0; i += 2)
    out += static_cast<char>(hex_digit(s[i]) * 16 + hex_digit(s[i + 1]));
  return out;
}

std::string from_percent(std::string_view s) {
  std::string out;
  for (std::size_t i = 0; i < s.size(); ++i) {
    if (s[i] == '%' && i + 2 < s.size() && hex_digit(s[i + 1]) >= 0 && hex_digit(s[i + 2]) >= 0) {
      out += static_cast<char>(hex_digit(s[i + 1]) * 16 + hex_digit(s[i + 2]));
      i += 2;
    } else {
      out += s[i];
    }
  }
  return out;
}

std::string join_paths(const std::vector<std::string>& parts, bool resolve) {
  std::string out;
  for (const auto& p : parts) {
    if (p.empty()) continue;
    if (resolve && (p[0] == '/' || p[0] == '~')) out.clear();
    if (!out.empty() && out.back() != '/') out += '/';
    out += p;
  }
  return normal_path(out);
}

// A group that holds an unbounded repetition and is itself repeated without bound: `(a+)+`.
bool has_nested_repetition(std::string_view p) {
  std::vector<bool> repeats;  // for each open group: an unbounded repetition inside
  bool in_class = false, ended_group = false, inner = false;
  for (std::size_t i = 0; i < p.size(); ++i) {
    char c = p[i];
    bool group_before = ended_group;
    ended_group = false;
    if (c == '\\') {
      ++i;
    } else if (in_class) {
      in_class = c != ']';
    } else if (c == '[') {
      in_class = true;
    } else if (c == '(') {
      repeats.push_back(false);
    } else if (c == ')') {
      inner = !repeats.empty() && repeats.back();
      if (!repeats.empty()) repeats.pop_back();
      if (inner && !repeats.empty()) repeats.back() = true;
      ended_group = true;
    } else if (c == '*' || c == '+' || (c == '{' && p.substr(i, 12).find(",}") != p.npos)) {
      if (group_before && inner) return true;
      if (!repeats.empty()) repeats.back() = true;
    }
  }
  return false;
}

std::string module_path(std::string_view s) {
  if (s.starts_with("node:")) s.remove_prefix(5);
  static constexpr std::array<std::pair<std::string_view, std::string_view>, 7> kSame = {{
      {"fs/promises", "fs.promises"}, {"module", "Module"}, {"path/posix", "path"}, {"path/win32", "path"},
      {"dns/promises", "dns"}, {"timers", "globalThis"}, {"globals", "globalThis"}}};
  for (const auto& [from, to] : kSame)
    if (s == from) return std::string(to);
  return std::string(s);
}

}  // namespace hotcell::javascript
