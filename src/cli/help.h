#pragma once
#include <string>

#include "cli/options.h"

namespace hotcell {

std::string short_help();
std::string help_text(Command command);
std::string manual_page();  // roff, from the same tables

}  // namespace hotcell
