// What one parked cell costs in memory, init and network namespace included: the whole machine's available memory
// before and after parking many. Usage: bench_parked_memory [cells]
#include <cstdio>
#include <cstdlib>

#include "hotcell/launcher.h"
#include "memory.h"

using namespace hotcell;

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
  double before = bench::settled_kib();
  fill(8 + count);
  double after = bench::settled_kib();
  std::printf("%zu parked cells\nper cell %.0f KiB\n", count, (before - after) / static_cast<double>(count));
}
