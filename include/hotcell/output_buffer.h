// Keeps at most `limit` bytes of a stream, counts all of them, and says when the limit was passed. Memory never grows
// with the flood.
#pragma once
#include <cstdint>
#include <string>
#include <string_view>

#include "hotcell/units.h"

namespace hotcell {

class OutputBuffer {
 public:
  explicit OutputBuffer(Bytes limit, bool keep = true) : limit_(limit.n), keep_(keep) {}

  // The part of `chunk` that is still within the limit.
  std::string_view append(std::string_view chunk) {
    std::uint64_t room = total_ < limit_ ? limit_ - total_ : 0;
    std::string_view kept = chunk.substr(0, chunk.size() < room ? chunk.size() : static_cast<std::size_t>(room));
    total_ += chunk.size();
    if (keep_) text_.append(kept);
    return kept;
  }
  void count_dropped(std::uint64_t n) { total_ += n; }

  bool truncated() const { return total_ > limit_; }
  std::uint64_t total() const { return total_; }
  const std::string& text() const { return text_; }
  std::string take() { return std::move(text_); }

 private:
  std::uint64_t limit_, total_ = 0;
  bool keep_;
  std::string text_;
};

}  // namespace hotcell
