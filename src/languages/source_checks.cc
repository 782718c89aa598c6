#include "languages/source_checks.h"

#include <algorithm>
#include <array>

#include "base/strings.h"

namespace hotcell {
namespace {

bool is_encoding_char(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-' || c == '_' || c == '.';
}

// The name after `coding:` or `coding=` in a comment, empty when there is none.
std::string_view cookie_of(std::string_view line) {
  std::size_t first = line.find_first_not_of(" \t\f");
  if (first == line.npos || line[first] != '#') return {};
  for (std::size_t at = line.find("coding", first); at != line.npos; at = line.find("coding", at + 1)) {
    std::size_t p = at + 6;
    if (p >= line.size() || (line[p] != ':' && line[p] != '=')) continue;
    p = line.find_first_not_of(" \t", p + 1);
    if (p == line.npos) continue;
    std::size_t end = p;
    while (end < line.size() && is_encoding_char(line[end])) ++end;
    if (end > p) return line.substr(p, end - p);
  }
  return {};
}

bool is_utf8_name(std::string_view name) {
  std::string plain;
  for (char c : name) plain += c == '_' ? '-' : c >= 'A' && c <= 'Z' ? static_cast<char>(c + 32) : c;
  static constexpr std::array<std::string_view, 5> kNames = {"utf-8", "utf8", "u8", "utf-8-sig", "utf-8-unix"};
  return std::find(kNames.begin(), kNames.end(), plain) != kNames.end();
}

// Python's readers disagree about carriage returns: whatever any of them could take for one of the first two lines
// counts.
std::optional<SourceProblem> coding_cookie(std::string_view source) {
  std::size_t begin = 0;
  for (int line = 0; line < 2 && begin < source.size(); ++line) {
    std::size_t end = std::min(source.find('\n', begin), source.size());
    std::string_view text = source.substr(begin, std::min<std::size_t>(end - begin, 64u << 10));
    for (auto piece : split(text, '\r'))
      if (auto name = cookie_of(piece); !name.empty() && !is_utf8_name(name))
        return SourceProblem{cat("its coding line says ", printable(name), ", so Python reads other text than is here"),
                             static_cast<std::uint32_t>(name.data() - source.data())};
    begin = end + 1;
  }
  return std::nullopt;
}

int hex(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  if (c >= 'A' && c <= 'F') return c - 'A' + 10;
  return -1;
}

// The code unit of the escape at `at`, and where it ends.
bool read_escape(std::string_view s, std::size_t at, std::uint32_t& unit, std::size_t& end) {
  if (at + 1 >= s.size() || s[at] != '\\' || s[at + 1] != 'u') return false;
  std::size_t p = at + 1;
  while (p < s.size() && s[p] == 'u') ++p;
  if (p + 4 > s.size()) return false;
  unit = 0;
  for (std::size_t i = p; i < p + 4; ++i) {
    int digit = hex(s[i]);
    if (digit < 0) return false;
    unit = unit * 16 + static_cast<std::uint32_t>(digit);
  }
  end = p + 4;
  return true;
}

void append_utf8(std::string& out, std::uint32_t c) {
  auto put = [&](std::uint32_t byte) { out += static_cast<char>(byte); };
  if (c < 0x80) {
    put(c);
  } else if (c < 0x800) {
    put(0xC0 | c >> 6), put(0x80 | (c & 0x3F));
  } else if (c < 0x10000) {
    put(0xE0 | c >> 12), put(0x80 | (c >> 6 & 0x3F)), put(0x80 | (c & 0x3F));
  } else {
    put(0xF0 | c >> 18), put(0x80 | (c >> 12 & 0x3F)), put(0x80 | (c >> 6 & 0x3F)), put(0x80 | (c & 0x3F));
  }
}

}  // namespace

std::optional<SourceProblem> source_problem(std::string_view language, std::string_view source) {
  if (auto nul = source.find('\0'); nul != source.npos)
    return SourceProblem{"it has a NUL byte", static_cast<std::uint32_t>(nul)};
  for (std::size_t at = 0; at < source.size();) {
    if (static_cast<unsigned char>(source[at]) < 0x80) {
      ++at;
      continue;
    }
    std::size_t n = utf8_length(source.substr(at));
    if (n == 0) return SourceProblem{"it has bytes that are no UTF-8", static_cast<std::uint32_t>(at)};
    at += n;
  }
  return language == "python" ? coding_cookie(source) : std::nullopt;
}

UnescapedJava::UnescapedJava(std::string_view s) {
  std::size_t copied = 0;
  for (std::size_t at = s.find('\\'); at != s.npos; at = s.find('\\', at)) {
    std::uint32_t unit = 0, low = 0;
    std::size_t end = 0, low_end = 0;
    if (at + 1 < s.size() && s[at + 1] == '\\') {
      at += 2;  // a backslash that is escaped itself begins nothing
      continue;
    }
    if (!read_escape(s, at, unit, end)) {
      ++at;
      continue;
    }
    if (unit >= 0xD800 && unit < 0xDC00 && read_escape(s, end, low, low_end) && low >= 0xDC00 && low < 0xE000) {
      unit = 0x10000 + ((unit - 0xD800) << 10) + (low - 0xDC00);
      end = low_end;
    } else if (unit >= 0xD800 && unit < 0xE000) {
      unit = 0xFFFD;  // half of a pair is no character; in a name it is an error for Java, too
    }
    text_ += s.substr(copied, at - copied);
    auto from = static_cast<std::uint32_t>(text_.size());
    append_utf8(text_, unit);
    shifts_.push_back({from, static_cast<std::uint32_t>(at), static_cast<std::uint32_t>(text_.size()) - from,
                       static_cast<std::uint32_t>(end)});
    copied = at = end;
  }
  text_ += s.substr(copied);
}

std::uint32_t UnescapedJava::at(std::uint32_t offset) const {
  auto after = std::upper_bound(shifts_.begin(), shifts_.end(), offset,
                                [](std::uint32_t o, const Shift& s) { return o < s.from; });
  if (after == shifts_.begin()) return offset;
  const Shift& s = *std::prev(after);
  return offset < s.from + s.length ? s.original : s.after + (offset - s.from - s.length);
}

}  // namespace hotcell
