#include "core/policy/suggest.h"

#include <algorithm>

#include "base/strings.h"

namespace hotcell {
namespace {

char lower(char c) {
  if (c >= 'A' && c <= 'Z') return static_cast<char>(c - 'A' + 'a');
  return c == '-' ? '_' : c;  // cpu-time, as the flag is spelled, means cpu_time
}

// Optimal string alignment: a swapped pair ("memroy") is one slip, not two.
std::size_t distance(std::string_view a, std::string_view b) {
  std::vector<std::size_t> before(b.size() + 1), last(b.size() + 1), row(b.size() + 1);
  for (std::size_t j = 0; j <= b.size(); ++j) last[j] = j;
  for (std::size_t i = 1; i <= a.size(); ++i) {
    row[0] = i;
    for (std::size_t j = 1; j <= b.size(); ++j) {
      bool same = lower(a[i - 1]) == lower(b[j - 1]);
      row[j] = std::min({last[j] + 1, row[j - 1] + 1, last[j - 1] + (same ? 0 : 1)});
      if (i > 1 && j > 1 && lower(a[i - 1]) == lower(b[j - 2]) && lower(a[i - 2]) == lower(b[j - 1]))
        row[j] = std::min(row[j], before[j - 2] + 1);
    }
    std::swap(before, last);
    std::swap(last, row);
  }
  return last[b.size()];
}

}  // namespace

std::string did_you_mean(std::string_view word, std::span<const std::string_view> known) {
  if (word.empty() || word.size() > 64) return "";  // the table is quadratic, and nobody mistypes a name that long
  std::string_view best;
  std::size_t best_distance = 3;  // three slips make another word
  for (auto candidate : known) {
    std::size_t d = distance(word, candidate);
    if (d < best_distance && d < candidate.size() && d <= std::max<std::size_t>(1, candidate.size() / 3)) {
      best = candidate;
      best_distance = d;
    }
  }
  return best.empty() ? "" : cat("; did you mean \"", best, "\"?");
}

}  // namespace hotcell
