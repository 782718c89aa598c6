// A source that the grammar cannot read as it is written, made one it can: as the preprocessor would, macros of the source
// are replaced and one branch of each condition is taken, and what the grammar never learned is said in its words.
#pragma once
#include <optional>
#include <vector>

#include "languages/c/facts_text.h"

namespace hotcell::c {

// Texts in which every branch of every condition stands at least once (`#if 0` aside, which no compiler reads). nullopt:
// conditions that do not close, too many branches or too much to replace; such a source stays unreadable. Lines are
// joined and digraphs replaced already.
// `pragmas`: what stood in _Pragma, also where a macro made it.
struct Pragma {
  std::string text;
  std::uint32_t at = 0;
};
std::optional<std::vector<MappedText>> preprocessed(const MappedText& text, bool cpp, std::vector<Pragma>* pragmas = nullptr,
                                                    std::size_t most = 8);  // texts

// Whether what the preprocessor makes of it can be something else than stands there: names put together or taken from
// strings, definitions that change.
bool changes_by_macros(const Scan& scan, std::string_view text);

}  // namespace hotcell::c
