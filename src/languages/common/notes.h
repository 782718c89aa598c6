// What a language's own code inside the cell tells us: one file in the workspace, records one after the other, each
//   KIND NAME LENGTH\n  and LENGTH bytes.
// KIND is png, svg, html, json or text (something to show), or denial (NAME import or attribute, the bytes say which).
// The program can write there as well, so this is what the program says and no more.
#pragma once
#include <string_view>

namespace hotcell {

inline constexpr std::string_view kNotesFile = ".hotcell-notes";

}  // namespace hotcell
