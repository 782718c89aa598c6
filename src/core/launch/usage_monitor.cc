#include "hotcell/usage_monitor.h"

#include <algorithm>
#include <utility>

namespace hotcell {
namespace {

std::uint64_t nanoseconds(Nanoseconds time) { return time.count() > 0 ? static_cast<std::uint64_t>(time.count()) : 0; }

}  // namespace

UsageMonitor::UsageMonitor(Limits limits, std::string id)
    : id_(std::move(id)),
      watched_{{{"timeout", ExitReason::kTimeoutWall, true, nanoseconds(limits.wall)},
                {"cpu_time", ExitReason::kTimeoutCpu, true, nanoseconds(limits.cpu_time)},
                {"memory", ExitReason::kMemory, false, limits.memory.n},
                {"disk", ExitReason::kDisk, false, limits.disk.n},
                {"processes", ExitReason::kProcesses, false, limits.processes}}} {}

void UsageMonitor::update(const Usage& usage, Nanoseconds elapsed, Bytes disk) {
  const std::uint64_t now[] = {nanoseconds(elapsed), nanoseconds(usage.cpu), usage.memory_peak.n, disk.n, usage.processes_peak};
  for (std::size_t i = 0; i < watched_.size(); ++i) {
    Watched& w = watched_[i];
    w.seen = std::max(w.seen, now[i]);
    bool over = w.at_limit_is_over ? w.seen >= w.most : w.seen > w.most;
    if (over && !exceeded_) exceeded_ = w.reason;
    // most - most/5 rather than most*4/5: the limit may be the largest number there is.
    if (w.warned || w.seen < w.most - w.most / 5) continue;
    w.warned = true;
    warnings_.push_back({"limit.warning", id_, std::chrono::system_clock::now(),
                         {{"limit_type", w.name}, {"current", std::to_string(w.seen)}, {"max", std::to_string(w.most)}}});
  }
}

std::vector<Event> UsageMonitor::take_warnings() { return std::exchange(warnings_, {}); }

}  // namespace hotcell
