#include "core/policy/glob.h"

#include <cstdint>
#include <vector>

#include "base/strings.h"

namespace hotcell {
namespace {

struct Char {
  std::uint32_t code;
  std::size_t size;
};

// One character; a byte that starts no valid sequence counts as a character of its own, beyond Unicode.
Char char_at(std::string_view s, std::size_t at) {
  auto first = static_cast<unsigned char>(s[at]);
  if (first < 0x80) return {first, 1};
  std::size_t size = first >= 0xF0 ? 4 : first >= 0xE0 ? 3 : 2;
  if (first < 0xC2 || at + size > s.size() || !is_valid_utf8(s.substr(at, size))) return {0x110000U + first, 1};
  std::uint32_t code = first & (0xFFU >> (size + 1));
  for (std::size_t i = 1; i < size; ++i) code = code << 6 | (static_cast<unsigned char>(s[at + i]) & 0x3FU);
  return {code, size};
}

struct Bracket {
  bool valid = false;
  bool matches = false;
  std::size_t size = 0;
};

// `[` at p[at]; reads to its `]` and says whether `c` is in the set.
Bracket bracket_at(std::string_view p, std::size_t at, std::uint32_t c) {
  std::size_t i = at + 1;
  bool negated = i < p.size() && p[i] == '!';
  if (negated) ++i;
  std::size_t first = i;
  bool found = false;
  while (i < p.size() && p[i] != ']') {
    Char low = char_at(p, i);
    i += low.size;
    std::uint32_t high = low.code;
    if (i + 1 < p.size() && p[i] == '-' && p[i + 1] != ']') {
      Char end = char_at(p, i + 1);
      high = end.code;
      i += 1 + end.size;
    }
    if (high < low.code) return {};
    found = found || (c >= low.code && c <= high);
  }
  if (i >= p.size() || i == first) return {};
  return {true, found != negated, i + 1 - at};
}

// One segment. Only the last `*` is ever retried, so the cost is the product of the lengths, not exponential.
bool segment_match(std::string_view p, std::string_view s) {
  std::size_t pi = 0, si = 0, star = std::string_view::npos, retry = 0;
  while (si < s.size()) {
    Char c = char_at(s, si);
    std::size_t step = 0;
    if (pi < p.size() && p[pi] == '*') {
      star = pi++;
      retry = si;
      continue;
    }
    if (pi < p.size() && p[pi] == '[') {
      Bracket b = bracket_at(p, pi, c.code);
      if (!b.valid) return false;
      if (b.matches) step = b.size;
    } else if (pi < p.size()) {
      Char want = char_at(p, pi);
      if (p[pi] == '?' || want.code == c.code) step = want.size;
    }
    if (step != 0) {
      pi += step;
      si += c.size;
    } else if (star != std::string_view::npos) {
      pi = star + 1;
      retry += char_at(s, retry).size;
      si = retry;
    } else {
      return false;
    }
  }
  while (pi < p.size() && p[pi] == '*') ++pi;
  return pi == p.size();
}

using Segments = std::vector<std::string_view>;

// The same walk one level up: `**` plays the star, a segment plays the character.
bool segments_match(const Segments& p, const Segments& s, std::size_t count) {
  std::size_t pi = 0, si = 0, star = std::string_view::npos, retry = 0;
  while (si < count) {
    if (pi < p.size() && p[pi] == "**") {
      star = pi++;
      retry = si;
      // `secrets/**` is what lies inside secrets, so a trailing `**` takes at least one segment: this one.
      if (pi == p.size()) return true;
      continue;
    }
    if (pi < p.size() && segment_match(p[pi], s[si])) {
      ++pi;
      ++si;
    } else if (star != std::string_view::npos) {
      pi = star + 1;
      si = ++retry;
    } else {
      return false;
    }
  }
  return pi == p.size();
}

Segments pattern_segments(std::string_view pattern) {
  if (pattern.starts_with('/')) return split(pattern.substr(1), '/');
  Segments out{"**"};
  for (auto segment : split(pattern, '/')) out.push_back(segment);
  return out;
}

std::optional<std::string> bracket_problem(std::string_view segment) {
  for (std::size_t i = 0; i < segment.size(); ++i) {
    if (segment[i] == ']') return "has a ] without its [";
    if (segment[i] != '[') continue;
    if (segment.substr(i, 2) == "[^") return "negates with [^…]; write [!…], which every shell knows";
    std::size_t first = i + (segment.substr(i, 2) == "[!" ? 2 : 1);
    if (first < segment.size() && segment[first] == ']')
      return "has ] as the first of a set, which shells read differently";
    auto end = segment.find(']', first);
    auto inner = segment.substr(first, end == std::string_view::npos ? end : end - first);
    if (inner.find("[:") != inner.npos || inner.find("[.") != inner.npos || inner.find("[=") != inner.npos)
      return "uses a POSIX class, whose meaning depends on the locale; write the range, as in [a-z]";
    if (inner.find('[') != inner.npos) return "has a [ inside a set";
    if (end == std::string_view::npos) return "has a [ that is not closed before the next slash";
    if (!bracket_at(segment, i, 0).valid) return "has a range that runs backwards";
    i = end;
  }
  return std::nullopt;
}

}  // namespace

bool is_glob(std::string_view pattern) { return pattern.find_first_of("*?[") != std::string_view::npos; }

bool glob_match(std::string_view pattern, std::string_view path) {
  if (pattern.empty() || !path.starts_with('/')) return false;
  Segments segments = split(path.substr(1), '/');
  return segments_match(pattern_segments(pattern), segments, segments.size());
}

bool glob_covers(std::string_view pattern, std::string_view path) {
  if (pattern.empty() || !path.starts_with('/')) return false;
  if (pattern == "/") return true;
  Segments parts = pattern_segments(pattern), segments = split(path.substr(1), '/');
  for (std::size_t count = 1; count <= segments.size(); ++count)
    if (segments_match(parts, segments, count)) return true;
  return false;
}

std::optional<std::string> glob_problem(std::string_view pattern) {
  if (pattern.empty()) return "is empty";
  if (pattern.find('\0') != pattern.npos) return "has a NUL byte";
  if (pattern.find('\n') != pattern.npos) return "has a line break";
  if (pattern == "/") return "hides everything";
  if (pattern.starts_with('!')) return "starts with !, but a deny list has no exceptions";
  if (pattern.starts_with('~')) return "starts with ~, which is not expanded; write the absolute path";
  if (pattern.find_first_of("{}") != pattern.npos)
    return "uses { }, which not every matcher knows; write one line per case";
  if (pattern.find('\\') != pattern.npos) return "uses a backslash, which matchers read differently";
  bool only_stars = true;
  for (auto segment : split(pattern.starts_with('/') ? pattern.substr(1) : pattern, '/')) {
    if (segment.empty()) return "has an empty segment (a double or trailing slash)";
    if (segment == "." || segment == "..") return cat("has the segment ", segment);
    if (segment != "**" && segment.find("**") != segment.npos)
      return "has ** as part of a segment; it must stand alone between slashes";
    if (auto problem = bracket_problem(segment)) return problem;
    only_stars = only_stars && segment.find_first_not_of('*') == segment.npos;
  }
  if (only_stars) return "matches every file there is";
  return std::nullopt;
}

}  // namespace hotcell
