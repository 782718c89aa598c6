// Things are compared interleaved in one process: these machines are noisy, and only ratios of the same minute count.
#pragma once
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <functional>
#include <string>
#include <vector>

namespace bench {

using Clock = std::chrono::steady_clock;

struct Subject {
  std::string name;
  std::function<bool()> once;           // false: it failed, which ends the benchmark
  std::function<void()> between = [] {};  // not measured
  std::vector<double> us = {};

  double at(double q) const {
    auto sorted = us;
    std::sort(sorted.begin(), sorted.end());
    return sorted.empty() ? 0 : sorted[std::min(sorted.size() - 1, static_cast<std::size_t>(q * static_cast<double>(sorted.size())))];
  }
  double median() const { return at(0.5); }
  double p99() const { return at(0.99); }
};

inline bool interleave(std::vector<Subject>& subjects, int rounds, int warm_up = 5) {
  for (int i = -warm_up; i < rounds; ++i)
    for (auto& s : subjects) {
      s.between();
      auto start = Clock::now();
      if (!s.once()) {
        std::fprintf(stderr, "%s failed\n", s.name.c_str());
        return false;
      }
      std::chrono::duration<double, std::micro> took = Clock::now() - start;
      if (i >= 0) s.us.push_back(took.count());
    }
  return true;
}

inline void table(const std::vector<Subject>& subjects) {
  std::printf("%-44s %10s %10s %8s\n", "", "median us", "p99 us", "ratio");
  for (const auto& s : subjects)
    std::printf("%-44s %10.0f %10.0f %8.2f\n", s.name.c_str(), s.median(), s.p99(), s.median() / subjects.front().median());
}

}  // namespace bench
