// What was found in a program's output, and what was done about it. How the program ended is another matter: its verdict
// says that, and is the same whether its output was shown or not.
#pragma once
#include <cstdint>
#include <string>
#include <vector>

#include "core/policy/stages.h"

namespace hotcell {

struct OutputFinding {
  std::string stream;  // stdout, stderr, compile (what a compiler said), or the name of one of Report::outputs
  std::string kind, type, level, rule, message;
  std::string snippet;       // what was found; empty where the output is withheld
  std::uint64_t offset = 0;  // in what the program wrote, before any mark
};

struct OutputInspection {
  InspectMode mode = InspectMode::kOff;
  std::vector<OutputFinding> findings;
  bool cut = false;             // there were more than are kept
  std::string level = "none";   // the worst: none, low, medium, high, critical
  std::string mark;             // begins each mark; made when the program had ended, so it could not write one itself
  bool withheld = false;
  std::string failure;          // why it could not be inspected; then it is withheld, unless it was only to be reported
  std::string message;          // one sentence; empty when nothing was found
  bool safe() const { return failure.empty() && (level == "none" || level == "low"); }
};

}  // namespace hotcell
