// What a command will probably need: a guess from its name, for a default limit or a warning. Decides nothing.
#pragma once
#include <chrono>
#include <string>
#include <vector>

#include "hotcell/units.h"

namespace hotcell::cells {

struct Needs {
  Bytes memory = 64_MiB;
  std::chrono::seconds cpu{10};
  std::chrono::seconds wall{20};   // twice the CPU time
  std::string because;             // which words were recognised: "cargo, build"
};

// Wrappers (env, sudo, nice, timeout, sh -c …) are looked through; of several commands in a line the largest counts.
Needs estimate_needs(const std::vector<std::string>& argv);
Needs estimate_needs(const std::string& command_line);
std::string needs_json(const Needs& needs);

}  // namespace hotcell::cells
