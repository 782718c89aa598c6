// Which lines of two texts are the same, and that as a unified diff. Linear space, bounded time.
#pragma once
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace hotcell::cells {

// No NUL among the first bytes: what git goes by, so that both say "binary" of the same files.
bool looks_binary(std::string_view bytes);

// Stretches that differ: lines [a, a+removed) of the old text became lines [b, b+added) of the new one. In order, never
// touching: equal lines lie between two of them.
struct Edit {
  std::uint32_t a = 0, removed = 0, b = 0, added = 0;
};
// Lines end with their newline; the last may have none.
std::vector<std::string_view> lines_of(std::string_view text);
// Shortest for texts that differ moderately; of very different ones some equal lines may be missed, since looking for
// the shortest would take quadratic time. Always correct: applied to the old text it gives the new one.
std::vector<Edit> edits_between(const std::vector<std::string_view>& old_lines, const std::vector<std::string_view>& new_lines);

struct Hunks {
  std::string text;  // "@@ -1,3 +1,4 @@\n …", empty when nothing differs
  std::uint64_t added = 0, removed = 0;
};
Hunks unified_hunks(std::string_view old_text, std::string_view new_text, unsigned context);

}  // namespace hotcell::cells
