// The tables of hotcell's one database: history, settings and API keys.
#pragma once
#include <string>
#include <string_view>

#include "store/database.h"

namespace hotcell {

std::string store_file(std::string_view state_folder);
// A connection to it, brought up to date.
Result<Database> open_store(const std::string& file);

}  // namespace hotcell
