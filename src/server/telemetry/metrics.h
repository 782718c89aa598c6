// What the daemon counts, as Prometheus reads it. Any thread may count.
#pragma once
#include <array>
#include <chrono>
#include <cstdint>
#include <map>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

#include "hotcell/units.h"
#include "manager/executions.h"
#include "server/http/exchange.h"

namespace hotcell::server {

// How a program came into its cell: a waiting one, one stamped out by a template, one made from nothing.
enum class StartPath : std::uint8_t { kWarm, kTemplate, kCold };
std::string_view to_string(StartPath path);

// One execution that has ended.
struct RunSample {
  StartPath path = StartPath::kCold;
  Nanoseconds start{0};   // from taken out of the queue to running
  Nanoseconds total{0};   // from asked for to ended
  bool started = true;    // false: refused before there was a cell, `path` and `start` say nothing
  std::string exit_reason;
  std::map<std::string, std::uint64_t> denials;   // by layer
  std::uint64_t out_bytes = 0, err_bytes = 0;
};

// Cumulative, with bounds in seconds.
class Histogram {
 public:
  static constexpr std::array<double, 16> kBounds = {0.0001, 0.00025, 0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025,
                                                     0.05,   0.1,     0.25,   0.5,   1,      2.5,   10,   60};
  void add(Nanoseconds time);
  void write(std::string& out, std::string_view name, std::string_view labels) const;

 private:
  std::array<std::uint64_t, kBounds.size() + 1> counts_{};
  double sum_ = 0;
};

// The last thousand values, for quantiles that people look at now.
class Recent {
 public:
  void add(Nanoseconds time);
  struct Quantiles {
    std::uint64_t p50 = 0, p90 = 0, p99 = 0;   // µs
  };
  Quantiles quantiles() const;

 private:
  std::vector<std::uint64_t> ring_;
  std::size_t next_ = 0;
};

class Metrics {
 public:
  void ran(const RunSample& sample);
  void answered(std::string_view method, std::string_view route, int status, Nanoseconds time);
  void launcher_restarted();
  void audit_entry();
  void store_committed(Nanoseconds time);
  void reader_dropped();   // a stream whose reader was too slow

  Recent::Quantiles start_latency() const;
  Recent::Quantiles total_latency() const;
  std::string text(const ExecutionsStats& now) const;

 private:
  struct Route {
    std::map<int, std::uint64_t> by_status;
    Histogram time;
  };
  mutable std::mutex mutex_;
  std::array<Histogram, 3> start_;
  Histogram total_, commits_;
  Recent recent_start_, recent_total_;
  std::map<std::string, std::uint64_t> verdicts_, denials_;
  std::map<std::pair<std::string, std::string>, Route> routes_;   // by method and pattern
  std::uint64_t out_bytes_ = 0, err_bytes_ = 0, launcher_restarts_ = 0, audit_entries_ = 0, readers_dropped_ = 0;
  std::chrono::system_clock::time_point began_ = std::chrono::system_clock::now();
};

// `handler`, with each of its answers counted under its pattern.
Handler counted(Metrics& metrics, std::string method, std::string pattern, Handler handler);

}  // namespace hotcell::server
