// Slots of a file that is mapped: what is put into one outlives this process, for a few hundred bytes of copying and no system
// call. Not a machine that loses its power: the kernel writes the pages when it likes.
#pragma once
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <string_view>
#include <vector>

#include "hotcell/result.h"

namespace hotcell {

class MappedSlots {
 public:
  using Left = std::function<void(std::uint64_t number, std::string_view bytes)>;
  // `folder` is the state folder's descriptor. `left` is told what an earlier process put there and never forgot.
  static Result<MappedSlots> open(int folder, const char* name, std::size_t count, std::size_t size, const Left& left);
  // What is there now, read beside whoever has it open. Nothing when there is no such file.
  static Result<void> look(int folder, const char* name, std::size_t count, std::size_t size, const Left& found);
  MappedSlots(MappedSlots&& other) noexcept;
  MappedSlots(const MappedSlots&) = delete;
  MappedSlots& operator=(const MappedSlots&) = delete;
  ~MappedSlots();

  // False: all slots are taken, or it is longer than a slot has room for. `number` is not 0.
  bool put(std::uint64_t number, std::string_view bytes);
  void forget(std::uint64_t number);
  void forget_left();                                // what an earlier process put there
  bool contains(std::uint64_t number) const { return taken_.contains(number); }
  std::size_t size() const { return taken_.size(); }

  static constexpr std::size_t kHead = 16;           // of each slot, before its bytes

 private:
  MappedSlots(char* slots, std::size_t count, std::size_t size);
  char* at(std::uint32_t slot) const { return slots_ + std::size_t{slot} * size_; }

  char* slots_ = nullptr;
  std::size_t count_ = 0, size_ = 0;
  std::vector<std::uint32_t> free_;                  // the last is taken first: few pages are ever touched
  std::vector<std::uint32_t> left_;
  std::map<std::uint64_t, std::uint32_t> taken_;     // by number
};

}  // namespace hotcell
