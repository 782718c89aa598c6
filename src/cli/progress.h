// One line on a terminal while something runs longer than a second, rewritten in place and gone at the end.
#pragma once
#include <chrono>
#include <string>

#include "hotcell/report.h"
#include "hotcell/units.h"

namespace hotcell {

class Progress {
 public:
  using Clock = std::chrono::steady_clock;
  Progress(bool on_terminal, Nanoseconds wall);

  void note(const Event& event);           // a limit that is nearly reached is shown
  void note(const LiveUsage& usage) { usage_ = usage; }
  bool on() const { return on_; }
  void output() { last_output_ = Clock::now(); erase(); }  // before anything else is written to the terminal
  void tick(bool at_line_start);           // draws when it is time to; never into a line the program has begun
  void erase();

 private:
  bool on_;
  bool drawn_ = false;
  Nanoseconds wall_;
  Clock::time_point started_ = Clock::now(), last_output_ = started_, last_drawn_ = started_;
  LiveUsage usage_;
  std::string near_limit_;
};

// Cut to `columns`: a line that wraps cannot be erased.
std::string progress_line(Nanoseconds elapsed, Nanoseconds wall, const LiveUsage& usage, const std::string& near_limit,
                          std::size_t columns);

}  // namespace hotcell
