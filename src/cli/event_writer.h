// --status-fd: one JSON object per line. A reader that does not read must not hold up the cell's limits.
#pragma once
#include <string>
#include <string_view>

#include "hotcell/report.h"
#include "hotcell/result.h"

namespace hotcell {

class EventWriter {
 public:
  static Result<EventWriter> create(std::string_view fd_number);
  void write(const Event& event);
  void finish();  // waits a moment for a slow reader, then gives up

 private:
  explicit EventWriter(int fd) : fd_(fd) {}
  bool flush(int wait_ms);  // false: somebody else's turn first
  int fd_;
  bool broken_ = false;
  std::string buffer_;
};

}  // namespace hotcell
