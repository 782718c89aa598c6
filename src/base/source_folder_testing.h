// Where the sources under test lie. Named in one object (cmake/Hotcell.cmake), so that the others are the same in every clone.
#pragma once

#include <string>

namespace hotcell {

extern const char* const kSourceFolder;
inline std::string source_path(const char* below) { return std::string(kSourceFolder) + "/" + below; }

}  // namespace hotcell
