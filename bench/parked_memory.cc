// What one parked cell costs in memory, init and network namespace included: the whole machine's available memory
// before and after parking many. Usage: bench_parked_memory [cells]
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <string>

#include "hotcell/launcher.h"

using namespace hotcell;

namespace {

double available_kib() {
  std::ifstream info("/proc/meminfo");
  for (std::string line; std::getline(info, line);)
    if (line.starts_with("MemAvailable:")) return std::atof(line.c_str() + 13);
  return 0;
}

// The kernel frees what others have just let go of for seconds afterwards.
double settled_kib() {
  ::sleep(6);
  double sum = 0;
  for (int i = 0; i < 10; ++i) {
    ::usleep(50'000);
    sum += available_kib();
  }
  return sum / 10;
}

}  // namespace

int main(int argc, char** argv) {
  auto count = static_cast<std::size_t>(argc > 1 ? std::atoi(argv[1]) : 400);
  auto launcher = Launcher::create();
  if (!launcher) return 1;
  Policy policy = default_policy();
  auto fill = [&](std::size_t n) {
    if (!launcher.value()->park(policy, n)) std::exit(1);
    for (int i = 0; i < 100'000 && launcher.value()->parked(policy) < n; ++i)
      if (!launcher.value()->step(std::chrono::milliseconds(10))) std::exit(1);
    if (launcher.value()->parked(policy) < n) std::exit(1);
  };
  fill(8);  // caches are warm, lists have their first pages
  double before = settled_kib();
  fill(8 + count);
  double after = settled_kib();
  std::printf("%zu parked cells\nper cell %.0f KiB\n", count, (before - after) / static_cast<double>(count));
}
