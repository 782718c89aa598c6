// `#define rep(i, a, b) for (int i = (a); i < (b); ++i)`: half of what is written in contests. Without the preprocessor
// `rep(i, 0, n) s += i;` is no statement, so the grammar cannot read the source.
#pragma once
#include <string>

namespace hotcell::c {

// Each use of such a macro as `if`, which takes what it is given and one statement, at the same place and as long. Nothing
// is hidden by it: only macros that paste nothing and use no other are taken, and their definitions stay to be looked at.
std::string without_loop_macros(std::string text);

}  // namespace hotcell::c
