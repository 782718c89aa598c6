// `hotcell serve`: starts a launcher and a front, and again whichever of them dies. It reads nothing from outside.
#pragma once
#include <chrono>
#include <string>
#include <vector>

#include "cells/keeper/bounds.h"
#include "core/remote/ceiling.h"
#include "hotcell/result.h"

namespace hotcell::daemon {

struct SupervisorOptions {
  std::string config;                // the effective configuration, as the front reads it
  std::string state_dir;
  std::string home;                  // whose profiles may be used
  std::string backend = "native";    // of the launcher: native or landlock
  std::chrono::milliseconds drain{10'000};   // the front lets what runs end for so long when it is told to stop
  remote::Ceiling ceiling;
  cells::Bounds cells;               // what the front may have the keeper of lasting cells do
  bool end_cells = false;            // nothing of them is to be kept when the daemon ends
  bool stdio = false;                // MCP on descriptors 0 and 1, and no listener
  bool fixtures = false;             // of the MCP conformance tests
  std::vector<std::string> proxy_words;   // what programs may reach at most; see remote::ReaderPrograms
  int ready_fd = -1;                 // gets the addresses, one a line, and is closed
  bool json_log = false;             // an object a line, as the front's
  bool gather_facts = true;          // what `doctor`, `language list` and `backend list` say, for the front to show
};

// Until it is told to stop; the exit code.
Result<int> supervise(const SupervisorOptions& options);

}  // namespace hotcell::daemon
