// Questions and answers between a program and a child that reads hostile text for it: frames over a socket, each a magic
// number, a length and its bytes. Both sides check every length; what a child says may be what its text made it say.
#pragma once
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "hotcell/units.h"
#include "sys/fd.h"

namespace hotcell::sys {

inline constexpr std::size_t kFrameHead = 8;

std::string frame(std::string_view payload);
// The length that a frame's head announces; nothing when it is no head or more than `most`.
std::optional<std::size_t> frame_length(std::string_view head, std::size_t most);

// The child's side, one at a time. False when the owner is gone or says what no owner would.
bool send_frame(int socket, std::string_view payload);
bool receive_frame(int socket, std::size_t most, std::string& payload);

// The owner's side: a child that was started, asked, killed. Nothing here waits for any process but its own.
class FramedChild {
 public:
  // Ends it: its wait status; it has this long to die of its own cause.
  using End = std::function<int(int grace_ms)>;

  FramedChild() = default;
  FramedChild(const FramedChild&) = delete;
  FramedChild& operator=(const FramedChild&) = delete;
  ~FramedChild() { stop(); }

  void start(Fd socket, End end);
  bool running() const { return socket_.valid(); }

  enum class How : std::uint8_t { kAnswered, kTimeout, kDied, kNonsense };
  struct Answer {
    How how = How::kDied;
    std::string payload;  // when answered
    int status = 0;       // as of wait(2), when it died
  };
  // One frame out, one of at most `most` bytes in. After anything but kAnswered there is no child any more.
  // Descriptors go with the first byte and stay the caller's.
  Answer ask(std::string_view frame, Nanoseconds wall, std::size_t most, std::span<const int> fds = {});

  void stop();  // kills and reaps; nothing when there is none

 private:
  int end_it(int grace_ms = 0);

  Fd socket_;
  End end_;
};

}  // namespace hotcell::sys
