// What has ended and is not in the database yet, whole, kept where it outlives this process: whoever waits for an execution
// need not wait for a commit as well, and those that end within a moment are one commit.
#pragma once
#include <cstddef>
#include <cstdint>
#include <vector>

#include "hotcell/result.h"
#include "store/history.h"
#include "store/mapped_slots.h"

namespace hotcell {

struct WholeExecution {
  ExecutionRecord record;
  ExecutionDetails details;
};

class Ended {
 public:
  // Most results are of some three thousand bytes. Longer ones than these are written at once, and wait for it.
  static constexpr std::size_t kSlots = 256, kSlot = 16u << 10;

  static Result<Ended> open(int folder, std::vector<WholeExecution>& left);
  // What is noted at this moment, for whoever reads beside a daemon, or after one that was killed. Read before the database it
  // misses nothing: a note goes when its row is there.
  static Result<std::vector<WholeExecution>> look(int folder);

  bool note(const ExecutionRecord& record, const ExecutionDetails& details);   // false: no room for it
  void forget(std::uint64_t number) { slots_.forget(number); }
  void forget_left() { slots_.forget_left(); }
  std::size_t size() const { return slots_.size(); }

 private:
  explicit Ended(MappedSlots slots) : slots_(std::move(slots)) {}
  MappedSlots slots_;
};

}  // namespace hotcell
