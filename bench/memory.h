// What the machine has left: two readings, with something made between them, tell what that costs, whatever part of the kernel holds it.
#pragma once
#include <unistd.h>

#include <cstdlib>
#include <fstream>
#include <string>

namespace bench {

inline double available_kib() {
  std::ifstream info("/proc/meminfo");
  for (std::string line; std::getline(info, line);)
    if (line.starts_with("MemAvailable:")) return std::atof(line.c_str() + 13);
  return 0;
}

// The kernel frees what others have just let go of for seconds afterwards.
inline double settled_kib() {
  ::sleep(6);
  double sum = 0;
  for (int i = 0; i < 10; ++i) {
    ::usleep(50'000);
    sum += available_kib();
  }
  return sum / 10;
}

}  // namespace bench
