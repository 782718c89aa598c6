// A machine of its own: from its request to the first byte of output, out of a snapshot against a cold boot, interleaved.
// Usage: bench_backends_vm [runs]
#include <algorithm>
#include <cstdlib>

#include "backends/vm.h"
#include "measure.h"

using namespace hotcell;

namespace {

double first_output_ms(Launcher& launcher, const Policy& policy) {
  auto start = bench::Clock::now();
  double took = 0;
  Request request;
  request.argv = {"/bin/echo", "here"};
  request.on_output = [&](Stream, std::string_view) {
    if (took == 0) took = std::chrono::duration<double, std::milli>(bench::Clock::now() - start).count();
  };
  auto report = launcher.run(policy, std::move(request));
  if (!report) std::fprintf(stderr, "%s\n", report.error().message.c_str());
  return report && report.value().verdict.exit_code == 0 ? took : 0;
}

double median(std::vector<double> v) {
  std::sort(v.begin(), v.end());
  return v.empty() ? 0 : v[v.size() / 2];
}

}  // namespace

int main(int argc, char** argv) {
  int runs = argc > 1 ? std::atoi(argv[1]) : 5;
  auto cold = backends::open_vm({}, {.snapshot = false});
  auto warm = backends::open_vm({});
  if (!cold || !warm) {
    std::fprintf(stderr, "%s\n", (cold ? warm : cold).error().message.c_str());
    return 1;
  }
  Policy policy = default_policy();
  if (first_output_ms(*warm.value(), policy) == 0) return 1;  // makes the snapshot
  std::vector<double> booted, restored;
  for (int i = 0; i < runs; ++i) {
    booted.push_back(first_output_ms(*cold.value(), policy));
    restored.push_back(first_output_ms(*warm.value(), policy));
    if (booted.back() == 0 || restored.back() == 0) return 1;
  }
  std::printf("vm       cold boot %8.1f ms  snapshot %8.1f ms  ratio %.3f (%d runs)\n", median(booted), median(restored), median(restored) / median(booted), runs);
}
