// One end of the socket between front and launcher: never blocks, keeps what the other side has not taken yet.
#pragma once
#include <deque>
#include <functional>

#include "core/remote/wire.h"

namespace hotcell::remote {

class Connection {
 public:
  explicit Connection(sys::Fd socket) : socket_(std::move(socket)) {}

  int fd() const { return socket_.get(); }
  bool open() const { return socket_.valid(); }
  bool waiting() const { return !queue_.empty(); }   // wants to be told when the socket takes more

  // In order. What waits is bounded: past it the other side is taken for dead and the connection is closed.
  void send(Head head, std::string body, std::vector<sys::Fd> fds = {});  // two of them at most
  void flush();
  // The next packet that is there; nothing when there is none, or when the connection has been closed.
  std::optional<Packet> receive();
  void close();

 private:
  struct Waiting {
    Head head;
    std::string body;
    std::vector<sys::Fd> fds;
  };
  static constexpr std::size_t kMostWaiting = 256u << 20;

  sys::Fd socket_;
  std::deque<Waiting> queue_;
  std::size_t queued_ = 0;
};

// A pair of ends, both non-blocking, with room for a good many packets.
struct Ends {
  sys::Fd front, launcher;
};
Result<Ends> make_ends();

}  // namespace hotcell::remote
