// Bytes that have come and are not understood yet. Memory grows with what is there and goes when all is consumed.
// Between prepare() and commit() somebody else writes into it: until then nothing moves, whatever is consumed.
#pragma once
#include <cstddef>
#include <cstring>
#include <memory>
#include <string_view>

namespace hotcell::server {

class InputBuffer {
 public:
  std::string_view view() const { return {data_.get() + begin_, end_ - begin_}; }
  std::size_t size() const { return end_ - begin_; }

  // Room for at least `n` more; valid until commit().
  char* prepare(std::size_t n) {
    lent_ = true;
    if (begin_ == end_) begin_ = end_ = 0;
    if (capacity_ - end_ >= n) return data_.get() + end_;
    const std::size_t held = size();
    if (held + n > capacity_) {
      const std::size_t capacity = held + n;
      std::unique_ptr<char[]> fresh(new char[capacity]);
      if (held > 0) std::memcpy(fresh.get(), data_.get() + begin_, held);
      data_ = std::move(fresh);
      capacity_ = capacity;
    } else if (held > 0) {
      std::memmove(data_.get(), data_.get() + begin_, held);
    }
    begin_ = 0;
    end_ = held;
    return data_.get() + end_;
  }
  void commit(std::size_t n) {
    end_ += n;
    lent_ = false;
  }
  void consume(std::size_t n) { begin_ += n; }
  // What a large body needed is not kept for the next small request.
  void shrink(std::size_t to) {
    if (lent_ || size() > 0 || capacity_ <= to) return;
    data_.reset();
    begin_ = end_ = capacity_ = 0;
  }

 private:
  std::unique_ptr<char[]> data_;
  std::size_t begin_ = 0, end_ = 0, capacity_ = 0;
  bool lent_ = false;
};

}  // namespace hotcell::server
