#include "core/launch/stdin_pump.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/uio.h>
#include <unistd.h>

#include <cerrno>

namespace hotcell {
namespace {

// A program that has closed its stdin is no reason for SIGPIPE to end whoever uses this library.
ssize_t write_quietly(int fd, const char* bytes, std::size_t size) {
  sigset_t pipe_only, old, pending;
  ::sigemptyset(&pipe_only);
  ::sigaddset(&pipe_only, SIGPIPE);
  ::sigpending(&pending);
  bool was_pending = ::sigismember(&pending, SIGPIPE) == 1;
  ::pthread_sigmask(SIG_BLOCK, &pipe_only, &old);
  ssize_t n = ::write(fd, bytes, size);
  int err = errno;
  if (n < 0 && err == EPIPE && !was_pending) {
    timespec now{};
    ::sigtimedwait(&pipe_only, nullptr, &now);
  }
  ::pthread_sigmask(SIG_SETMASK, &old, nullptr);
  errno = err;
  return n;
}

}  // namespace

StdinPump::StdinPump(sys::Fd sink, decltype(Request::stdin_source) source, std::string first)
    : sink_(std::move(sink)), buffer_(std::move(first)) {
  if (auto* bytes = std::get_if<StdinBytes>(&source)) buffer_ += bytes->bytes;
  if (auto* fd = std::get_if<StdinFd>(&source)) source_ = sys::Fd(::fcntl(fd->fd, F_DUPFD_CLOEXEC, 3));
  if (buffer_.empty() && !source_.valid()) sink_.reset();  // end of file at once
}

ssize_t StdinPump::read_source(char* buffer, std::size_t size) {
  if (!source_waits_) return ::read(source_.get(), buffer, size);
  // Readiness may be stale: somebody else can read from the same pipe. The flags of the descriptor are the caller's,
  // so it is the call that must not wait.
  iovec part{buffer, size};
  ssize_t n = ::preadv2(source_.get(), &part, 1, -1, RWF_NOWAIT);
  if (n >= 0 || (errno != EOPNOTSUPP && errno != ENOSYS)) return n;
  pollfd ready{source_.get(), POLLIN, 0};
  if (::poll(&ready, 1, 0) == 0) {
    errno = EAGAIN;
    return -1;
  }
  return ::read(source_.get(), buffer, size);
}

bool StdinPump::refill() {
  if (!source_.valid()) return false;
  buffer_.resize(64 << 10);
  at_ = 0;
  ssize_t n;
  do n = read_source(buffer_.data(), buffer_.size());
  while (n < 0 && errno == EINTR);
  bool later = n < 0 && (errno == EAGAIN || errno == EWOULDBLOCK);
  buffer_.resize(n > 0 ? static_cast<std::size_t>(n) : 0);
  return n > 0 || later;
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
      if (source_waits_) return;  // on_source_ready will come
      if (!refill()) {
        sink_.reset();
        return;
      }
    }
    ssize_t n = write_quietly(sink_.get(), buffer_.data() + at_, buffer_.size() - at_);
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) {
      if (errno != EAGAIN) sink_.reset();  // EPIPE: the program has closed its end
      return;
    }
    at_ += static_cast<std::size_t>(n);
  }
}

}  // namespace hotcell
