#include "cells/monitor/limit_watch.h"

#include <algorithm>
#include <utility>

#include "base/json_write.h"

namespace hotcell::cells {
namespace {

enum Quantity : std::size_t { kCpu, kMemory, kDisk, kProcesses };

// most - most/5 rather than most*4/5: a limit may be the largest number there is.
std::uint64_t four_fifths(std::uint64_t most) { return most - most / 5; }

std::uint64_t rate(std::uint64_t before, std::uint64_t now, std::chrono::milliseconds took) {
  if (now <= before || took.count() <= 0) return 0;
  return static_cast<std::uint64_t>(static_cast<double>(now - before) * 1000.0 / static_cast<double>(took.count()));
}

// Thousandths of one processor.
std::uint64_t cpu_share(const UsageSample& before, const UsageSample& now) {
  auto used = now.cpu - before.cpu;
  return used.count() > 0 ? rate(0, static_cast<std::uint64_t>(used.count() / 1'000'000), now.at - before.at) : 0;
}

template <typename Value>
void put(JsonWriter& w, std::string_view name, const std::vector<UsageSample>& samples, Value value) {
  w.key(name);
  w.begin_array();
  for (std::size_t i = 0; i < samples.size(); ++i) w.value(value(samples[i == 0 ? 0 : i - 1], samples[i]));
  w.end_array();
}

}  // namespace

LimitWatch::LimitWatch(std::string id, WatchLimits limits, std::size_t series)
    : id_(std::move(id)), watched_{{{"cpu"}, {"memory"}, {"disk"}, {"processes"}}}, capacity_(std::max<std::size_t>(series, 2)) {
  set_limits(limits);
}

void LimitWatch::set_limits(WatchLimits limits) {
  const std::uint64_t most[] = {limits.cpu_share, limits.memory.n, limits.disk.n, limits.processes};
  for (std::size_t i = 0; i < watched_.size(); ++i) {
    watched_[i].limit = most[i];
    watched_[i].above = false;
  }
}

void LimitWatch::add(const UsageSample& sample) {
  if (!ring_.empty()) {
    const UsageSample& last = ring_[(next_ + ring_.size() - 1) % ring_.size()];
    if (sample.at < last.at) return;
  }
  judge(sample);
  if (ring_.size() < capacity_) {
    ring_.push_back(sample);
    return;
  }
  ring_[next_] = sample;
  next_ = (next_ + 1) % capacity_;
}

void LimitWatch::judge(const UsageSample& sample) {
  std::uint64_t share = ring_.empty() ? 0 : cpu_share(ring_[(next_ + ring_.size() - 1) % ring_.size()], sample);
  const std::uint64_t now[] = {share, sample.memory.n, sample.disk.n, sample.processes};
  exceeded_.reset();
  for (std::size_t i = 0; i < watched_.size(); ++i) {
    Watched& w = watched_[i];
    w.value = now[i];
    if (w.limit == 0) continue;
    if (i != kCpu && w.value > w.limit && !exceeded_) exceeded_ = w.name;
    bool was = std::exchange(w.above, w.value >= four_fifths(w.limit));
    if (was || !w.above) continue;
    warnings_.push_back({"limit.warning", id_, sample.at, {{"limit_type", w.name}, {"current", std::to_string(w.value)}, {"max", std::to_string(w.limit)}}});
  }
}

std::vector<Event> LimitWatch::take_warnings() { return std::exchange(warnings_, {}); }

std::vector<UsageSample> LimitWatch::series() const {
  std::vector<UsageSample> out;
  out.reserve(ring_.size());
  for (std::size_t i = 0; i < ring_.size(); ++i) out.push_back(ring_[(next_ + i) % ring_.size()]);
  return out;
}

std::vector<UsageSample> LimitWatch::series(std::size_t at_most) const {
  auto all = series();
  if (all.size() <= at_most) return all;
  std::vector<UsageSample> out;
  if (at_most == 0) return out;
  if (at_most == 1) return {all.back()};
  for (std::size_t i = 0; i < at_most; ++i) out.push_back(all[i * (all.size() - 1) / (at_most - 1)]);
  return out;
}

std::string LimitWatch::series_json(std::size_t at_most) const {
  auto samples = series(at_most);
  using S = const UsageSample&;
  JsonWriter w;
  w.begin_object();
  put(w, "time_ms", samples, [](S, S s) { return static_cast<std::int64_t>(s.at.time_since_epoch().count()); });
  put(w, "cpu_permille", samples, [](S before, S s) { return cpu_share(before, s); });
  put(w, "memory_bytes", samples, [](S, S s) { return s.memory.n; });
  put(w, "disk_bytes", samples, [](S, S s) { return s.disk.n; });
  put(w, "processes", samples, [](S, S s) { return s.processes; });
  put(w, "read_bytes_per_second", samples, [](S before, S s) { return rate(before.read.n, s.read.n, s.at - before.at); });
  put(w, "written_bytes_per_second", samples, [](S before, S s) { return rate(before.written.n, s.written.n, s.at - before.at); });
  w.end_object();
  return w.take();
}

}  // namespace hotcell::cells
