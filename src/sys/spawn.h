// Starting a program of ours with exactly the descriptors it is to have.
#pragma once
#include <string>
#include <vector>

#include "sys/process.h"

namespace hotcell::sys {

struct Spawn {
  std::string program;
  std::vector<std::string> argv;
  std::vector<int> fds;       // what its descriptors 0, 1, 2, 3, … shall be
  bool die_with_us = true;
  bool keep_environment = false;
};
Result<Child> spawn(const Spawn& what);

}  // namespace hotcell::sys
