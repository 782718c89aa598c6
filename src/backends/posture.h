// Which walls a tool's program finds itself behind: read back by a script that runs inside, where /proc tells of itself,
// and compared with what is true outside. Never taken from the command line we wrote.
#pragma once
#include <string>
#include <string_view>
#include <vector>

#include "backends/backend.h"

namespace hotcell::backends {

std::vector<std::string> posture_command();
// `inside`: what the command printed. Namespaces, privileges, filter, root, visible files. `machine`: an agent of ours in a virtual
// machine has told it; otherwise a kernel of its own is one whose name and boot are not the host's.
std::vector<LayerReport> read_posture(std::string_view inside, const Backend& backend, bool machine = false);

// The rlimits as the program has them, whoever has set them.
LayerReport read_rlimits(std::string_view inside, const Limits& limits);
// Whether another kernel than the host's has answered there.
bool has_own_kernel(std::string_view inside);

}  // namespace hotcell::backends
