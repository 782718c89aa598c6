// How gVisor catches the program's system calls. Which of its platforms works is found by running something on each.
#pragma once
#include <string>

#include "backends/tool_launcher.h"

namespace hotcell::backends {

// Empty: the backend knows no such thing. What the user says (NAME.platform) holds; otherwise the first that works, and
// the last in the list untried: what it cannot do the run itself will tell. Found once for each binary and process.
Result<std::string> platform_of(const Backend& backend, const std::string& tool, const ToolOptions& options);

}  // namespace hotcell::backends
