// What a front may ask for at most. A front that was taken over can send any policy; the launcher carries out only what
// the daemon's configuration allows anyway.
#pragma once
#include <string>
#include <vector>

#include "hotcell/policy.h"
#include "hotcell/request.h"
#include "hotcell/result.h"

namespace hotcell::remote {

struct Ceiling {
  std::vector<std::string> read, write;   // host paths that cells may be shown, with what is below them
  bool host_network = false;
  Bytes memory = 8_GiB, disk = 8_GiB, output = 64_MiB;
  Nanoseconds wall = std::chrono::hours(24);
  std::uint32_t processes = 4096;
  std::uint64_t running = 256, parked = 1024;   // cells at once
  Bytes reader = 2_GiB;                         // address space of one
};

Result<void> check(const Ceiling& ceiling, const Policy& policy);

}  // namespace hotcell::remote
