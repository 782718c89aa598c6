#pragma once
#include <string>

#include "cli/options.h"

namespace hotcell {

std::string short_help();
std::string help_text(Command command);
std::string help_text(const VerbSpec& verb);
// Of the verb among the words where there is one, else of the command.
std::string help_text(Command command, std::span<const std::string_view> words);
// roff, from the same tables
std::string manual_page();                 // hotcell(1)
std::string manual_page(Command command);  // hotcell-serve(1) and the like

}  // namespace hotcell
