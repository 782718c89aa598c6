// The usage of a lasting cell over time: warnings near its limits, and a series for those who draw it. Pure: samples
// come in, events go out; no clock, no thread.
//
// Unlike UsageMonitor (hotcell/usage_monitor.h), which judges one run by its peaks and warns once, this one follows a cell
// that goes up and down for days: a warning is given once for each time four fifths are crossed upwards.
#pragma once
#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "hotcell/report.h"
#include "hotcell/units.h"

namespace hotcell::cells {

struct UsageSample {
  std::chrono::sys_time<std::chrono::milliseconds> at{};
  Nanoseconds cpu{0};              // since the cell began
  Bytes memory, disk;              // now
  std::uint64_t processes = 0;     // now
  Bytes read, written;             // since the cell began
};

// 0: no limit. `cpu_share` is in thousandths of one processor, over the time since the sample before.
struct WatchLimits {
  std::uint64_t cpu_share = 0;
  Bytes memory, disk;
  std::uint64_t processes = 0;
};

class LimitWatch {
 public:
  // `series` samples are kept, the oldest go first.
  LimitWatch(std::string id, WatchLimits limits, std::size_t series = 600);

  // A sample older than the last one is dropped.
  void add(const UsageSample& sample);
  // `limit.warning` events since the last call: limit_type, current, max.
  std::vector<Event> take_warnings();
  // The first quantity that is past its limit in the newest sample: "memory", "disk", "processes"; share of CPU never is.
  std::optional<std::string> exceeded() const { return exceeded_; }
  void set_limits(WatchLimits limits);  // crossings are judged anew from the next sample

  std::vector<UsageSample> series() const;         // oldest first
  std::vector<UsageSample> series(std::size_t at_most) const;  // thinned evenly, the newest is always there
  // One object with one array for each quantity, for charts; rates where the sample counts up.
  std::string series_json(std::size_t at_most = 300) const;

 private:
  struct Watched {
    const char* name;
    std::uint64_t limit = 0, value = 0;
    bool above = false;
  };
  void judge(const UsageSample& sample);

  std::string id_;
  std::array<Watched, 4> watched_;
  std::vector<UsageSample> ring_;
  std::size_t capacity_, next_ = 0;
  std::vector<Event> warnings_;
  std::optional<std::string> exceeded_;
};

}  // namespace hotcell::cells
