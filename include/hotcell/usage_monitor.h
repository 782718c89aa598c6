// Judges samples of usage against limits: which limit is passed first, and one warning for each at four fifths of it.
// A pure value without a thread or a clock. Whoever has samples feeds it: a caller's own loop, an account, a replay.
#pragma once
#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "hotcell/policy.h"
#include "hotcell/report.h"

namespace hotcell {

class UsageMonitor {
 public:
  // `id` is what its events carry.
  explicit UsageMonitor(Limits limits, std::string id = {});

  // Samples may arrive late or out of order: the highest value of each quantity counts. `disk` is what the private
  // folders hold now; Usage has no such figure, since bytes written may have been removed again.
  void update(const Usage& usage, Nanoseconds elapsed, Bytes disk = {});

  // What a run should be ended for. When one sample passes several limits: wall clock, CPU, memory, disk, processes,
  // in this order. The first reason stands.
  std::optional<ExitReason> exceeded() const { return exceeded_; }

  // `limit.warning` events since the last call, with limit_type, current and max; each limit warns once.
  std::vector<Event> take_warnings();

 private:
  struct Watched {
    const char* name;
    ExitReason reason;
    bool at_limit_is_over;  // time is used up when it is reached; a quantity only when it is passed
    std::uint64_t most, seen = 0;
    bool warned = false;
  };
  std::string id_;
  std::array<Watched, 5> watched_;
  std::optional<ExitReason> exceeded_;
  std::vector<Event> warnings_;
};

}  // namespace hotcell
