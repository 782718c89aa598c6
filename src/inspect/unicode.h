// Unicode that hides ASCII: look-alikes, invisible characters, bytes in variation selectors and tags.
#pragma once
#include <string>
#include <string_view>
#include <vector>

namespace hotcell::inspect {

// What the line looks like to a reader, in small ASCII letters where that can be said; empty when nothing in it needs
// that. Ordinary text in other scripts is left alone.
std::string look_alike(std::string_view line);

// Letters written upside down, read from the other end; empty when there are too few of them.
std::string turned_upright(std::string_view line);

// Texts that are carried by characters nobody sees: tags, variation selectors, invisible signs as bits.
std::vector<std::string> smuggled(std::string_view line);

// True when the direction is turned by hand in text that has no letters written from right to left.
bool has_turned_direction(std::string_view line);

}  // namespace hotcell::inspect
