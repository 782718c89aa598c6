#include "core/remote/connection.h"

#include <sys/socket.h>

#include <cerrno>

namespace hotcell::remote {

void Connection::send(Head head, std::string body, std::vector<sys::Fd> fds) {
  if (!open()) return;
  if (queue_.empty()) {
    auto sent = send_packet(socket_.get(), head, body, fds);
    if (!sent.ok()) return close();
    if (sent.value()) return;
  }
  queued_ += body.size();
  if (queued_ > kMostWaiting) return close();
  queue_.push_back({head, std::move(body), std::move(fds)});
}

void Connection::flush() {
  while (open() && !queue_.empty()) {
    const Waiting& w = queue_.front();
    auto sent = send_packet(socket_.get(), w.head, w.body, w.fds);
    if (!sent.ok()) return close();
    if (!sent.value()) return;
    queued_ -= w.body.size();
    queue_.pop_front();
  }
}

std::optional<Packet> Connection::receive() {
  if (!open()) return std::nullopt;
  auto received = receive_packet(socket_.get());
  if (!received.ok() || received.value().closed) {
    close();
    return std::nullopt;
  }
  return std::move(received.value().packet);
}

void Connection::close() {
  socket_.reset();
  queue_.clear();
  queued_ = 0;
}

Result<Ends> make_ends() {
  int ends[2];
  if (::socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, ends) < 0) return errno_error("socketpair", errno);
  Ends out{sys::Fd(ends[0]), sys::Fd(ends[1])};
  // As much as we may have; the default holds three packets of the longest kind.
  int room = 4 << 20;
  for (int fd : ends) ::setsockopt(fd, SOL_SOCKET, SO_SNDBUF, &room, sizeof room);
  return out;
}

}  // namespace hotcell::remote
