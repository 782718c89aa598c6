// Several files as one string, with a checksum over all of it: what the cache keeps. Read back with every length checked,
// since a disk, a crash or another program may have changed it.
#pragma once
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "hotcell/report.h"

namespace hotcell {

std::string pack_files(std::span<const OutputFile> files);
std::optional<std::vector<OutputFile>> unpack_files(std::string_view bytes);  // nothing: not one of ours, or damaged

}  // namespace hotcell
