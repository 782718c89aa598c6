// Reading what a program has left in its notes (languages/common/notes.h).
#pragma once
#include <string_view>

#include "hotcell/report.h"
#include "languages/common/notes.h"

namespace hotcell {

// Outputs and refusals of the notes go into the report. Nothing in them is believed: sizes, names and types are
// checked, the first record that is not one ends the reading. `profile`: whose lists were meant, for the sentences.
void read_notes(std::string_view bytes, std::string_view profile, Report& report);

}  // namespace hotcell
