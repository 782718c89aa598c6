#pragma once
#include <string>

#include "cli/options.h"

namespace hotcell {

std::string short_help();
std::string help_text(Command command);
// roff, from the same tables
std::string manual_page();                 // hotcell(1)
std::string manual_page(Command command);  // hotcell-serve(1) and the like

}  // namespace hotcell
