// Whether processes could be kept across the end of the keeper. CRIU is asked, nothing is guessed.
#pragma once
#include <string>

namespace hotcell::cells {

// The one in PATH's usual folders, or the one that HOTCELL_CRIU names. Why they are not kept: not installed, what `criu check` says, or why cells are not dumped although it works.
std::string look_for_criu();

}  // namespace hotcell::cells
