// What a language's own code inside the cell tells us: one file in the workspace, or one answer of a context; records one after
// the other, each
//   KIND NAME LENGTH\n  and LENGTH bytes.
// KIND is png, svg, html, json or text (something to show), or denial (NAME import or attribute, the bytes say which).
// The program can write there as well, so this is what the program says and no more.
#pragma once
#include <optional>
#include <string_view>

#include "hotcell/units.h"

namespace hotcell {

inline constexpr std::string_view kNotesFile = ".hotcell-notes";
inline constexpr std::size_t kMostOutputs = 32;
inline constexpr Bytes kLargestOutput = 8_MiB, kMostOutputBytes = 16_MiB;

struct Note {
  std::string_view kind, name, bytes;
};
// The record at the beginning of `rest`, which is shortened by it; nothing where there is none.
std::optional<Note> take_note(std::string_view& rest);

bool is_output_kind(std::string_view kind);
// What is wrong with something to show, as the end of a sentence that its name begins; empty: nothing. `together`: the
// bytes of those before it.
std::string_view output_fault(const Note& note, std::size_t together);

}  // namespace hotcell
