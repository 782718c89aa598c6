// What was asked for and is not in the database yet, kept where it outlives this process. Most executions end before their row
// would be worth writing; a daemon that is killed in that time must still leave a trace of every program it started.
#pragma once
#include <cstddef>
#include <cstdint>
#include <vector>

#include "hotcell/result.h"
#include "store/history.h"
#include "store/mapped_slots.h"

namespace hotcell {

class Begun {
 public:
  static constexpr std::size_t kSlots = 2048, kSlot = 1024;

  // `folder` is the state folder's descriptor. `left`: what an earlier process noted and never forgot.
  static Result<Begun> open(int folder, std::vector<ExecutionRecord>& left);

  // False: all slots are taken. Texts that are too long for a slot are cut.
  bool note(const ExecutionRecord& record);
  void forget(std::uint64_t number) { slots_.forget(number); }
  void forget_left() { slots_.forget_left(); }       // it is in the database now
  bool contains(std::uint64_t number) const { return slots_.contains(number); }
  std::size_t size() const { return slots_.size(); }

 private:
  explicit Begun(MappedSlots slots) : slots_(std::move(slots)) {}
  MappedSlots slots_;
};

}  // namespace hotcell
