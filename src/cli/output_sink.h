// Passes one stream of the program on to ours. The reader of our stdout may be slow or stopped; the limits of the cell
// must hold all the same, so a write never waits while there is room in a bounded buffer, and never past the deadline.
#pragma once
#include <chrono>
#include <cstddef>
#include <string>
#include <string_view>

#include "cli/terminal_filter.h"

namespace hotcell {

class OutputSink {
 public:
  using Clock = std::chrono::steady_clock;
  explicit OutputSink(int fd);

  void push(std::string_view bytes, Clock::time_point deadline);
  void flush_some();                // what can be written without waiting
  void finish();                    // the rest, waiting as long as it takes; a signal ends that too
  int fd() const { return fd_; }
  bool tty() const { return tty_; }
  bool waiting() const { return taken_ < buffer_.size(); }
  int failed() const { return error_; }         // errno of the write that failed; EPIPE: the reader went away
  bool at_line_start() const { return line_start_; }

 private:
  std::size_t write_some(std::string_view bytes);  // bytes taken without waiting
  bool wait(int milliseconds);

  int fd_;
  bool tty_ = false;
  bool file_ = false;          // a regular file never makes anybody wait
  bool no_wait_works_ = true;  // RWF_NOWAIT on this descriptor
  bool line_start_ = true;
  int error_ = 0;
  std::string buffer_;
  std::size_t taken_ = 0;      // bytes of buffer_ already written
  TerminalFilter filter_;
};

}  // namespace hotcell
