// A Launcher whose cells are containers of an engine. The engine holds walls and ceilings; deadlines, bounded output, the
// size of the workspace, CPU time of the whole tree and the account are ours.
#pragma once
#include <memory>

#include "backends/tool_launcher.h"

namespace hotcell::backends {

Result<std::unique_ptr<Launcher>> open_engine(const Backend& backend, ToolOptions options);

}  // namespace hotcell::backends
