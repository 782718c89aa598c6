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
std::optional<std::vector<MappedText>> preprocessed(const MappedText& text, bool cpp);

}  // namespace hotcell::c
