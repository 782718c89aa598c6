// A Launcher whose walls are another tool's. Everything else (limits, output, deadlines, the end of the tree, the account)
// is done by a launcher of ours around the tool.
#pragma once
#include <memory>
#include <string>
#include <vector>

#include "backends/backend.h"
#include "hotcell/launcher.h"

namespace hotcell::backends {

struct ToolOptions {
  std::vector<std::string> waived;   // statements that need not be held (`--waive`)
  bool posture = true;               // read back what the walls are, once for each policy; false: for the probe itself
  Settings settings = {};            // of the tool (`--backend-option`)
  Nanoseconds patience = std::chrono::seconds(30);  // for reading the walls back
  bool keep_warm = false;            // one sandbox waits for the next request of the policy used last, where the tool can do it
};

// The tool must be there; whether it works is the probe's question (probe.h).
Result<std::unique_ptr<Launcher>> open_tool(const Backend& backend, ToolOptions options = {});

// native, landlock or a tool: by name.
Result<std::unique_ptr<Launcher>> open_backend(std::string_view name, LauncherOptions options, ToolOptions tool = {});

// The command line as it would be run, for `explain` and `wrap`. Writes the files it needs below `scratch`, if given.
Result<ToolPlan> plan_tool(const Backend& backend, const Policy& policy, const Request& request, const std::string& scratch, unsigned id,
                           const Settings& settings = {});

}  // namespace hotcell::backends
