// Backslashes and the four kinds of quotes.
#include "parse/shell_parser.h"

namespace hotcell {
namespace {

int hex_digit(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  if (c >= 'A' && c <= 'F') return c - 'A' + 10;
  return -1;
}

void append_utf8(std::string& out, std::uint32_t c) {
  if (c < 0x80)
    out += static_cast<char>(c);
  else if (c < 0x800)
    (out += static_cast<char>(0xC0 | (c >> 6))) += static_cast<char>(0x80 | (c & 63));
  else if (c < 0x10000)
    ((out += static_cast<char>(0xE0 | (c >> 12))) += static_cast<char>(0x80 | ((c >> 6) & 63))) +=
        static_cast<char>(0x80 | (c & 63));
  else
    (((out += static_cast<char>(0xF0 | ((c >> 18) & 7))) += static_cast<char>(0x80 | ((c >> 12) & 63))) +=
     static_cast<char>(0x80 | ((c >> 6) & 63))) += static_cast<char>(0x80 | (c & 63));
}

// $'…' with its escapes; `s` is what stands between the quotes.
std::string decode_ansi(std::string_view s) {
  std::string out;
  for (std::size_t i = 0; i < s.size(); ++i) {
    if (s[i] != '\\' || i + 1 >= s.size()) {
      out += s[i];
      continue;
    }
    char c = s[++i];
    auto number = [&](int base, int most) {
      std::uint32_t value = 0;
      while (most-- > 0 && i + 1 < s.size()) {
        int d = hex_digit(s[i + 1]);
        if (d < 0 || d >= base) break;
        value = value * static_cast<std::uint32_t>(base) + static_cast<std::uint32_t>(d);
        ++i;
      }
      return value;
    };
    switch (c) {
      case 'a':
        out += '\a';
        break;
      case 'b':
        out += '\b';
        break;
      case 'e':
      case 'E':
        out += '\033';
        break;
      case 'f':
        out += '\f';
        break;
      case 'n':
        out += '\n';
        break;
      case 'r':
        out += '\r';
        break;
      case 't':
        out += '\t';
        break;
      case 'v':
        out += '\v';
        break;
      case 'x':
        out += static_cast<char>(number(16, 2));
        break;
      case 'u':
        append_utf8(out, number(16, 4));
        break;
      case 'U':
        append_utf8(out, number(16, 8));
        break;
      case 'c':
        if (i + 1 < s.size()) out += static_cast<char>(s[++i] & 0x1f);
        break;
      case '0':
      case '1':
      case '2':
      case '3':
      case '4':
      case '5':
      case '6':
      case '7':
        --i;
        out += static_cast<char>(number(8, 3));
        break;
      case '\\':
      case '\'':
      case '"':
      case '?':
        out += c;
        break;
      default:
        (out += '\\') += c;
    }
  }
  if (auto nul = out.find('\0'); nul != std::string::npos) out.resize(nul);  // as bash does
  return out;
}

}  // namespace

void ShellParser::read_backslash(Mode mode, std::uint32_t& literal, Parts& out) {
  char next = peek(1);
  if (next == '\n') {
    c_.pos += 2;
    literal = c_.pos;
    return;
  }
  bool escapes = true;
  if (mode == Mode::kDouble || mode == Mode::kArithmetic)
    escapes = next == '$' || next == '`' || next == '\\' || next == '"';
  if (mode == Mode::kHere) escapes = next == '$' || next == '`' || next == '\\';
  if (mode == Mode::kBracedQuoted) escapes = next == '$' || next == '`' || next == '\\' || next == '"' || next == '}';
  if (c_.pos + 1 >= c_.end) escapes = false;
  if (!escapes) {  // the backslash is a letter, the next one is looked at by itself
    ++c_.pos;
    return;
  }
  add_literal(c_.pos + 1, c_.pos + 2, true, out);
  c_.pos += 2;
  literal = c_.pos;
}

void ShellParser::read_single(Parts& out) {
  std::uint32_t begin = c_.pos++;
  std::size_t close_at = c_.text.find('\'', c_.pos);
  if (close_at >= c_.end) return fail_at(place(begin), "single quote is not closed");
  auto end = static_cast<std::uint32_t>(close_at);
  add_literal(c_.pos, end, true, out);
  c_.pos = end + 1;
}

void ShellParser::read_ansi(Parts& out) {
  std::uint32_t begin = c_.pos;
  c_.pos += 2;
  std::uint32_t from = c_.pos;
  while (!at_end() && cur() != '\'') c_.pos += cur() == '\\' ? 2 : 1;
  if (at_end()) return fail_at(place(begin), "$' is not closed");
  std::string_view raw = slice(from, c_.pos);
  ++c_.pos;
  add_literal(from, c_.pos - 1, true, out);
  if (raw.find('\\') != std::string_view::npos) out.back().text = keep(decode_ansi(raw));
}

void ShellParser::read_double(Parts& out) {
  Nest nest(*this);
  std::uint32_t begin = c_.pos++;
  std::size_t before = out.size();
  read_parts(Mode::kDouble, "", out);
  if (cur() != '"') return fail_at(place(begin), "double quote is not closed");
  if (out.size() == before) add_literal(c_.pos, c_.pos, true, out);
  ++c_.pos;
}

}  // namespace hotcell
