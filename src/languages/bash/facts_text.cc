#include "languages/bash/facts_text.h"

#include <algorithm>
#include <array>
#include <charconv>

namespace hotcell::bash {
namespace {

int hex_value(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  if (c >= 'A' && c <= 'F') return c - 'A' + 10;
  return -1;
}

int base64_value(char c) {
  if (c >= 'A' && c <= 'Z') return c - 'A';
  if (c >= 'a' && c <= 'z') return c - 'a' + 26;
  if (c >= '0' && c <= '9') return c - '0' + 52;
  if (c == '+' || c == '-') return 62;
  if (c == '/' || c == '_') return 63;
  return -1;
}

int base32_value(char c) {
  if (c >= 'A' && c <= 'Z') return c - 'A';
  if (c >= '2' && c <= '7') return c - '2' + 26;
  return -1;
}

// tr's sets: ranges, escapes, the classes that turn up.
std::string expand_set(std::string_view s) {
  std::string in = decode_escapes(s), out;
  auto range = [&](char a, char b) {
    for (int c = static_cast<unsigned char>(a); c <= static_cast<unsigned char>(b); ++c) out += static_cast<char>(c);
  };
  for (std::size_t i = 0; i < in.size(); ++i) {
    std::string_view rest = std::string_view(in).substr(i);
    if (rest.starts_with("[:upper:]"))
      range('A', 'Z'), i += 8;
    else if (rest.starts_with("[:lower:]"))
      range('a', 'z'), i += 8;
    else if (rest.starts_with("[:digit:]"))
      range('0', '9'), i += 8;
    else if (rest.starts_with("[:space:]"))
      out += " \t\n\v\f\r", i += 8;
    else if (i + 2 < in.size() && in[i + 1] == '-' && in[i] <= in[i + 2])
      range(in[i], in[i + 2]), i += 2;
    else
      out += in[i];
  }
  return out;
}

}  // namespace

std::optional<std::string> decode_base64(std::string_view s, bool base32) {
  std::string out;
  unsigned bits = 0;
  int have = 0;
  for (char c : s) {
    if (c == '\n' || c == '\r' || c == ' ' || c == '=') continue;
    int v = base32 ? base32_value(c) : base64_value(c);
    if (v < 0) return std::nullopt;
    bits = (bits << (base32 ? 5 : 6)) | static_cast<unsigned>(v);
    have += base32 ? 5 : 6;
    if (have >= 8) {
      have -= 8;
      out += static_cast<char>((bits >> have) & 0xff);
    }
  }
  return out;
}

std::optional<std::string> decode_hex(std::string_view s) {
  std::string out;
  int high = -1;
  for (std::size_t i = 0; i < s.size(); ++i) {
    char c = s[i];
    if (c == ' ' || c == '\n' || c == '\t' || c == ':' || c == '\r') continue;
    if (c == '\\' && i + 1 < s.size() && s[i + 1] == 'x') {
      ++i;
      continue;
    }
    int v = hex_value(c);
    if (v < 0) return std::nullopt;
    if (high < 0)
      high = v;
    else {
      out += static_cast<char>(high * 16 + v);
      high = -1;
    }
  }
  return out;
}

std::string decode_escapes(std::string_view s) {
  std::string out;
  for (std::size_t i = 0; i < s.size(); ++i) {
    if (s[i] != '\\' || i + 1 >= s.size()) {
      out += s[i];
      continue;
    }
    char c = s[++i];
    auto number = [&](int base, int most) {
      int value = 0;
      for (; most > 0 && i + 1 < s.size(); --most) {
        int d = hex_value(s[i + 1]);
        if (d < 0 || d >= base) break;
        value = value * base + d;
        ++i;
      }
      return value;
    };
    switch (c) {
      case 'n':
        out += '\n';
        break;
      case 't':
        out += '\t';
        break;
      case 'r':
        out += '\r';
        break;
      case 'a':
        out += '\a';
        break;
      case 'b':
        out += '\b';
        break;
      case 'e':
        out += '\033';
        break;
      case 'f':
        out += '\f';
        break;
      case 'v':
        out += '\v';
        break;
      case '\\':
        out += '\\';
        break;
      case 'c':
        return out;
      case 'x':
        out += static_cast<char>(number(16, 2));
        break;
      case 'u':
      case 'U': {
        int v = number(16, c == 'u' ? 4 : 8);
        out += v < 0x80 ? static_cast<char>(v) : '?';
        break;
      }
      case '0':
        out += static_cast<char>(number(8, 3));
        break;
      default:
        if (c >= '1' && c <= '7') {
          --i;
          out += static_cast<char>(number(8, 3));
        } else {
          (out += '\\') += c;
        }
    }
  }
  return out;
}

std::optional<std::string> format_printf(const std::vector<std::string>& args) {
  if (args.empty()) return std::nullopt;
  std::string out;
  std::string_view f = args[0];
  std::size_t next = 1;
  // The format is used again until the arguments are used up.
  for (int round = 0; round < 256; ++round) {
    std::size_t before = next;
    std::string run;
    for (std::size_t i = 0; i < f.size(); ++i) {
      if (f[i] != '%') {
        std::size_t to = std::min(f.find('%', i), f.size());
        run += decode_escapes(f.substr(i, to - i));
        i = to - 1;
        continue;
      }
      ++i;
      while (i < f.size() && std::string_view("-+ #0123456789.").find(f[i]) != std::string_view::npos) ++i;
      if (i >= f.size()) break;
      std::string arg = next < args.size() ? args[next] : "";
      if (f[i] == '%') {
        run += '%';
        continue;
      }
      ++next;
      if (f[i] == 's' || f[i] == 'q')
        run += arg;
      else if (f[i] == 'b')
        run += decode_escapes(arg);
      else if (f[i] == 'c')
        run += arg.substr(0, 1);
      else if (f[i] == 'd' || f[i] == 'i' || f[i] == 'u' || f[i] == 'o' || f[i] == 'x' || f[i] == 'X') {
        long v = 0;
        if (arg.size() >= 2 && (arg[0] == '\'' || arg[0] == '"'))
          v = static_cast<unsigned char>(arg[1]);
        else if (!arg.empty()) {
          auto n = evaluate_arithmetic(arg);
          if (!n) return std::nullopt;
          v = *n;
        }
        char buffer[32];
        int base = f[i] == 'o' ? 8 : f[i] == 'x' || f[i] == 'X' ? 16 : 10;
        std::size_t width = 0;
        // Only %03o and the like matter: they spell letters for another printf.
        std::size_t p = f.rfind('%', i);
        if (p != std::string_view::npos && f[p + 1] == '0')
          for (std::size_t k = p + 2; k < i && f[k] >= '0' && f[k] <= '9'; ++k)
            width = std::min<std::size_t>(width * 10 + static_cast<std::size_t>(f[k] - '0'), 64);
        std::string digits(buffer, std::to_chars(buffer, buffer + sizeof buffer, v, base).ptr);
        if (digits.size() < width) digits.insert(0, width - digits.size(), '0');
        run += digits;
      } else {
        return std::nullopt;
      }
    }
    out += run;
    if (out.size() > kTextCap) return std::nullopt;
    if (next >= args.size() || next == before) break;
  }
  return out;
}

std::string reverse_lines(std::string_view s) {
  std::string out(s);
  for (std::size_t from = 0; from < out.size();) {
    std::size_t to = std::min(out.find('\n', from), out.size());
    std::reverse(out.begin() + static_cast<long>(from), out.begin() + static_cast<long>(to));
    from = to + 1;
  }
  return out;
}

std::string translate(std::string_view s, std::string_view from, std::string_view to, bool remove) {
  std::string a = expand_set(from), b = expand_set(to), out;
  std::array<int, 256> map;
  map.fill(-1);
  for (std::size_t i = 0; i < a.size(); ++i) {
    auto at = static_cast<unsigned char>(a[i]);
    if (remove)
      map[at] = -2;
    else if (!b.empty())
      map[at] = static_cast<unsigned char>(b[std::min(i, b.size() - 1)]);
  }
  for (char c : s) {
    int m = map[static_cast<unsigned char>(c)];
    if (m != -2) out += m < 0 ? c : static_cast<char>(m);
  }
  return out;
}

std::optional<std::string> sed_replace(std::string_view s, std::string_view program) {
  if (program.size() < 4 || program[0] != 's') return std::nullopt;
  char mark = program[1];
  std::size_t middle = program.find(mark, 2),
              last = middle == std::string_view::npos ? middle : program.find(mark, middle + 1);
  if (last == std::string_view::npos) return std::nullopt;
  std::string_view from = program.substr(2, middle - 2), to = program.substr(middle + 1, last - middle - 1);
  std::string_view flags = program.substr(last + 1);
  if (from.empty() || from.find_first_of("\\.*[]^$") != std::string_view::npos ||
      to.find_first_of("\\&") != std::string_view::npos || (flags != "" && flags != "g"))
    return std::nullopt;
  std::string out;
  for (std::size_t at = 0;;) {
    std::size_t hit = s.find(from, at);
    out += s.substr(at, hit == std::string_view::npos ? hit : hit - at);
    if (hit == std::string_view::npos) break;
    out += to;
    at = hit + from.size();
    if (out.size() > kTextCap) return std::nullopt;
    if (flags.empty()) {
      out += s.substr(at);
      break;
    }
  }
  return out;
}

std::optional<std::string> cut_characters(std::string_view s, std::string_view range) {
  std::string out;
  std::string line(s.substr(0, s.find('\n')));
  for (std::size_t from = 0; from <= range.size();) {
    std::size_t to = std::min(range.find(',', from), range.size());
    std::string_view one = range.substr(from, to - from);
    from = to + 1;
    std::size_t dash = one.find('-');
    auto number = [](std::string_view digits, long otherwise) {
      auto v = digits.empty() ? std::optional<long>(otherwise) : evaluate_arithmetic(digits);
      return v.value_or(-1);
    };
    long a = number(one.substr(0, dash), 1);
    long b = dash == std::string_view::npos ? a : number(one.substr(dash + 1), static_cast<long>(line.size()));
    if (a < 1 || b < 0) return std::nullopt;
    for (long i = a; i <= b && i <= static_cast<long>(line.size()); ++i) out += line[static_cast<std::size_t>(i - 1)];
  }
  return out;
}

}  // namespace hotcell::bash
