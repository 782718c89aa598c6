// Looking for tools on this host.
#pragma once
#include <string>
#include <vector>

#include "hotcell/language.h"

namespace hotcell {

std::string find_tool(const Tool& tool, const Policy& policy);  // empty: not there, or where no cell sees it
std::vector<std::string> npm_folders();                         // where set-up puts what comes from npm, nearest first

}  // namespace hotcell
