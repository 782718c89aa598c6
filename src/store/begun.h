// What was asked for and is not in the database yet, kept where it outlives this process: slots of a file that is mapped, so
// that a note is a few hundred bytes of copying and no system call. Most executions end before their row would be worth
// writing; a daemon that is killed in that time must still leave a trace of every program it started.
//
// Not for a machine that loses its power: the kernel writes the pages when it likes.
#pragma once
#include <cstddef>
#include <cstdint>
#include <map>
#include <vector>

#include "hotcell/result.h"
#include "store/history.h"

namespace hotcell {

class Begun {
 public:
  static constexpr std::size_t kSlots = 2048, kSlot = 1024;

  // `folder` is the state folder's descriptor. `left`: what an earlier process noted and never forgot.
  static Result<Begun> open(int folder, std::vector<ExecutionRecord>& left);
  Begun(Begun&& other) noexcept;
  Begun(const Begun&) = delete;
  Begun& operator=(const Begun&) = delete;
  ~Begun();

  // False: all slots are taken. Texts that are too long for a slot are cut.
  bool note(const ExecutionRecord& record);
  void forget(std::uint64_t number);
  void forget_all();                                 // what was left is in the database now
  std::size_t size() const { return taken_.size(); }

 private:
  explicit Begun(char* slots);

  char* slots_ = nullptr;
  std::vector<std::uint32_t> free_;                  // the last is taken first: few pages are ever touched
  std::map<std::uint64_t, std::uint32_t> taken_;     // by the number of the execution
};

}  // namespace hotcell
