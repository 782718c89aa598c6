// A Launcher whose walls are another tool's. Everything else (limits, output, deadlines, the end of the tree, the account)
// is done by a launcher of ours around the tool.
#pragma once
#include <functional>
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
  std::function<bool()> cancelled = {};  // asked while something is made that the program needs and that takes long
};

// The tool must be there; whether it works is the probe's question (probe.h).
Result<std::unique_ptr<Launcher>> open_tool(const Backend& backend, ToolOptions options = {});

// native, landlock or a tool: by name. A setting of another one is refused, since it would be ignored; whoever has chosen between several
// hands over Settings::of the one that was chosen.
Result<std::unique_ptr<Launcher>> open_backend(std::string_view name, LauncherOptions options, ToolOptions tool = {});

// A running program as files, where the backend has a kernel that can be kept (gVisor).
class Suspends {
 public:
  virtual ~Suspends() = default;
  // The program with its processes, memory and workspace into `folder`, which is made; its run ends as cancelled.
  virtual Result<void> suspend(RunId id, const std::string& folder) = 0;
  // On from there, under the same policy, as often as one likes but one at a time: `request` brings streams and callbacks, no program.
  virtual Result<RunId> resume(const Policy& policy, const std::string& folder, Request request, Launcher::Done done) = 0;
};
Suspends* suspends(Launcher& launcher);   // null: it cannot

// The command line as it would be run, for `explain` and `wrap`. `scratch`: below it the pieces belong. `id`: the program's on the host; 0:
// as root the one for command lines that others run, otherwise the caller's.
Result<ToolPlan> plan_tool(const Backend& backend, const Policy& policy, const Request& request, const std::string& scratch, unsigned id,
                           const Settings& settings = {});

// As our own launcher runs it, in the words of a command line: a tool that can do without privileges gets none. As root bubblewrap would
// map the host's root inside.
void without_privileges(const Backend& backend, ToolPlan& plan, unsigned id);

}  // namespace hotcell::backends
