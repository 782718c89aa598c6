// One run of a tool: what it holds of the host until it is over.
#pragma once
#include <chrono>
#include <memory>
#include <string>
#include <vector>

#include "backends/scratch.h"
#include "backends/told.h"
#include "core/launch/ids.h"
#include "hotcell/launcher.h"

namespace hotcell::backends {

struct ToolRun {
  CellIds ids, root_ids;   // outlive the files
  Scratch scratch;
  std::shared_ptr<const Scratch> base;   // what it has in common with others
  std::vector<std::vector<std::string>> after;
  std::string state;   // what the tool knows of living containers; an empty folder needs no `after`
  std::string group;
  std::vector<std::string> suspend;
  ToldBy told;             // what the seal says (told.h)
  bool resumed = false;    // it began in another run: its seal says nothing of that here
  bool own_tasks = false;  // its processes are counted in its own user namespace (ToolPlan)
  std::string tool;        // which file started it (tool_identity)
  std::string kept_in;     // it was suspended into this folder
  std::string broken;      // we have failed it: there is no verdict
  Launcher::Done done;
  Policy policy;
  std::vector<std::string> outputs, outputs_if_there;
  std::chrono::steady_clock::time_point next_look{};
  bool disk_full = false;
};

}  // namespace hotcell::backends
