// One header of a ustar archive. All times are 0 and all owners root: the same things are the same archive.
#pragma once
#include <cstdint>
#include <string>
#include <string_view>

namespace hotcell::backends {

// `type`: '0' a file, '2' a link, '5' a folder. `mode`: 0: as such a thing has. Names and links of at most 100 bytes.
std::string tar_header(std::string_view name, char type, std::string_view link, std::uint64_t size = 0, unsigned mode = 0);

}  // namespace hotcell::backends
