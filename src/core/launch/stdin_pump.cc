#include "core/launch/stdin_pump.h"

#include <unistd.h>

#include <cerrno>

namespace hotcell {

StdinPump::StdinPump(sys::Fd sink, decltype(Request::stdin_source) source) : sink_(std::move(sink)) {
  if (auto* bytes = std::get_if<StdinBytes>(&source)) buffer_ = std::move(bytes->bytes);
  if (auto* fd = std::get_if<StdinFd>(&source)) source_fd_ = fd->fd;
  if (buffer_.empty() && source_fd_ < 0) sink_.reset();  // end of file at once
}

bool StdinPump::refill() {
  if (source_fd_ < 0) return false;
  buffer_.resize(64 << 10);
  at_ = 0;
  ssize_t n;
  do n = ::read(source_fd_, buffer_.data(), buffer_.size());
  while (n < 0 && errno == EINTR);
  if (n < 0 && (errno == EAGAIN || errno == EWOULDBLOCK)) n = -2;
  buffer_.resize(n > 0 ? static_cast<std::size_t>(n) : 0);
  return n != 0 && n != -1;
}

void StdinPump::on_source_ready() {
  if (at_ < buffer_.size()) return;
  if (!refill()) sink_.reset();
  else on_sink_ready();
}

void StdinPump::on_sink_ready() {
  if (!active()) return;
  for (int rounds = 0; rounds < 16; ++rounds) {
    if (at_ >= buffer_.size()) {
      if (source_waits_) return;
      if (!refill()) {
        sink_.reset();
        return;
      }
    }
    ssize_t n = ::write(sink_.get(), buffer_.data() + at_, buffer_.size() - at_);
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) {
      if (errno != EAGAIN) sink_.reset();  // EPIPE: the program has closed its end
      return;
    }
    at_ += static_cast<std::size_t>(n);
  }
}

}  // namespace hotcell
