// Which walls a tool's program finds itself behind: read back by a script that runs inside, where /proc tells of itself,
// and compared with what is true outside. Never taken from the command line we wrote.
#pragma once
#include <string>
#include <string_view>
#include <vector>

#include "backends/backend.h"

namespace hotcell::backends {

std::vector<std::string> posture_command();
// `inside`: what the command printed. Namespaces, privileges, filter, root, visible files.
std::vector<LayerReport> read_posture(std::string_view inside, const Backend& backend);

}  // namespace hotcell::backends
