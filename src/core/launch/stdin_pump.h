// Feeds the program's stdin from memory or a descriptor without ever blocking the supervisor. The program may never
// read, or close early: both end the pumping, not the run.
#pragma once
#include <string>

#include "hotcell/request.h"
#include "sys/fd.h"

namespace hotcell {

class StdinPump {
 public:
  StdinPump() = default;
  // `first` goes before everything else.
  StdinPump(sys::Fd sink, decltype(Request::stdin_source) source, std::string first = {});

  bool active() const { return sink_.valid(); }
  int sink_fd() const { return sink_.get(); }
  int source_fd() const { return source_.get(); }
  bool wants_sink() const { return active() && (at_ < buffer_.size() || !source_.valid() || !source_waits_); }
  bool wants_source() const { return active() && source_waits_ && at_ >= buffer_.size(); }
  void set_source_waits(bool waits) { source_waits_ = waits; }  // the source can be polled: read only when told
  void on_source_ready();
  void on_sink_ready();

 private:
  ssize_t read_source(char* buffer, std::size_t size);  // never blocks on what can be polled
  bool refill();                                        // false: the source has ended
  sys::Fd sink_;
  sys::Fd source_;  // of our own: two runs may share a source, and epoll knows each descriptor once
  bool source_waits_ = false;
  std::string buffer_;
  std::size_t at_ = 0;
};

}  // namespace hotcell
