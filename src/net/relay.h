// Bytes from one socket to another. In the kernel where possible: splice(2) through a pipe that is borrowed only while
// bytes are in it, so that thousands of idle tunnels hold none.
#pragma once
#include <cstdint>
#include <string>
#include <vector>

#include "sys/fd.h"

namespace hotcell::net {

// How much is on its way at a time between server and cell. The pages of a long download are filled, passed on and freed again
// while they are in the processors' caches; megabytes of them in flight are written to cold memory at half the speed.
inline constexpr int kStride = 160 << 10;

// One end. Edge-triggered: what the kernel has said stays true until a call says otherwise.
struct End {
  sys::Fd fd;
  bool readable = false, writable = false;
  bool read_done = false;   // end of file was read
  bool write_done = false;  // shut down by us
};

class PipePool {
 public:
  Result<sys::Pipe> take();
  void give_back(sys::Pipe pipe);

 private:
  std::vector<sys::Pipe> idle_;
};

// One direction. `pending` goes first; then what is read from `from`.
class Relay {
 public:
  enum class Outcome : unsigned char { kWaiting, kMore, kFinished, kBroken };
  // Moves at most `budget` bytes (and takes from it), or until one side would block.
  Outcome move(End& from, End& to, PipePool& pipes, std::uint64_t& budget);
  // `pending` alone, at most `budget` bytes of it; true: all of it is sent.
  bool flush(End& to, bool& broken, std::uint64_t& budget);
  bool flush(End& to, bool& broken);        // words of our own, which nobody has to pay for
  bool holds() const { return in_pipe_ > 0; }  // what was taken from the budget and is on its way
  void drop(PipePool& pipes);

  std::string pending;
  std::uint64_t moved = 0;

 private:
  Outcome move_by_splice(End& from, End& to, PipePool& pipes, std::uint64_t& budget);
  sys::Pipe pipe_;
  std::size_t in_pipe_ = 0;
};

}  // namespace hotcell::net
