// Bringing files out of a workspace when its program is gone.
#pragma once
#include <span>
#include <string>
#include <vector>

#include "hotcell/report.h"
#include "hotcell/result.h"
#include "hotcell/units.h"

namespace hotcell {

// The program chose what is there: a name may be a link to a host file, a FIFO that never ends, a device, a file of
// exabytes without content. Only regular files, reached without links, at most `limit` bytes together.
Result<std::vector<OutputFile>> collect_outputs(int workspace, std::span<const std::string> names, Bytes limit);

// What the program may have left for us: whatever of it is not as it should be is passed over.
std::vector<OutputFile> collect_present(int workspace, std::span<const std::string> names, Bytes limit);

}  // namespace hotcell
