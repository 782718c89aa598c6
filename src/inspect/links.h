// Addresses that carry something.
#pragma once
#include <string_view>

namespace hotcell::inspect {

// Whether what follows the host of an address is data: a place for it, a word for it, or text that somebody encoded. Every
// parameter by itself; `image`: every part of the path, too, since it is fetched without being asked for.
bool carries_something(std::string_view path, bool image);

}  // namespace hotcell::inspect
