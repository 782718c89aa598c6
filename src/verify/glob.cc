#include "verify/rules.h"

namespace hotcell {

bool glob_matches(std::string_view pattern, std::string_view name, char stop) {
  // Backtracks to the last star only: linear in practice, quadratic at worst, never exponential.
  std::size_t p = 0, n = 0, star = std::string_view::npos, mark = 0;
  bool crosses = false;
  while (n < name.size()) {
    if (p < pattern.size() && pattern[p] == '*') {
      crosses = p + 1 < pattern.size() && pattern[p + 1] == '*';
      p += crosses ? 2 : 1;
      star = p;
      mark = n;
    } else if (p < pattern.size() && (pattern[p] == name[n] || (pattern[p] == '?' && name[n] != stop))) {
      ++p;
      ++n;
    } else if (star != std::string_view::npos && (crosses || stop == 0 || name[mark] != stop)) {
      p = star;
      n = ++mark;
    } else {
      return false;
    }
  }
  while (p < pattern.size() && pattern[p] == '*') ++p;
  return p == pattern.size();
}

}  // namespace hotcell
