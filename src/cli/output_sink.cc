#include "cli/output_sink.h"

#include <cerrno>
#include <climits>
#include <poll.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>

#include "cli/signals.h"

namespace hotcell {

namespace {
// The default --output limit: a cell under it is never made to wait for a slow reader.
constexpr std::size_t kBuffer = 1 << 20;
}  // namespace

OutputSink::OutputSink(int fd) : fd_(fd) {
  struct stat s {};
  if (::fstat(fd, &s) != 0) return;
  file_ = S_ISREG(s.st_mode);
  tty_ = S_ISCHR(s.st_mode) && ::isatty(fd) == 1;
}

std::size_t OutputSink::write_some(std::string_view bytes) {
  std::size_t total = 0;
  while (total < bytes.size() && error_ == 0) {
    auto rest = bytes.substr(total);
    ssize_t n = -1;
    if (file_) {
      n = ::write(fd_, rest.data(), rest.size());
    } else if (no_wait_works_) {
      struct iovec io = {const_cast<char*>(rest.data()), rest.size()};
      n = ::pwritev2(fd_, &io, 1, -1, RWF_NOWAIT);
      if (n < 0 && (errno == EOPNOTSUPP || errno == ENOSYS || errno == EINVAL)) {
        no_wait_works_ = false;
        continue;
      }
    } else {
      // O_NONBLOCK would change the descriptor for everybody who shares it. A pipe or terminal that polls writable
      // takes PIPE_BUF bytes without blocking.
      if (!wait(0)) return total;
      n = ::write(fd_, rest.data(), std::min<std::size_t>(rest.size(), PIPE_BUF));
    }
    if (n >= 0) {
      total += static_cast<std::size_t>(n);
      continue;
    }
    if (errno == EAGAIN) return total;
    if (errno != EINTR) error_ = errno;
  }
  return total;
}

bool OutputSink::wait(int milliseconds) {
  struct pollfd p = {fd_, POLLOUT, 0};
  return ::poll(&p, 1, milliseconds) > 0;
}

void OutputSink::flush_some() {
  if (!waiting()) return;
  taken_ += write_some(std::string_view(buffer_).substr(taken_));
  if (error_ != 0 || taken_ == buffer_.size()) {
    buffer_.clear();
    taken_ = 0;
  } else if (taken_ > buffer_.size() / 2) {
    buffer_.erase(0, taken_);
    taken_ = 0;
  }
}

void OutputSink::push(std::string_view bytes, Clock::time_point deadline) {
  if (error_ != 0 || bytes.empty()) return;
  std::string shown;
  if (tty_) {
    filter_.feed(bytes, shown);
    if (shown.empty()) return;
    bytes = shown;
  }
  line_start_ = bytes.back() == '\n';
  flush_some();
  if (!waiting()) bytes.remove_prefix(write_some(bytes));
  if (bytes.empty() || error_ != 0) return;
  buffer_ += bytes;
  while (error_ == 0 && buffer_.size() - taken_ > kBuffer && caught_signal() == 0) {
    auto left = std::chrono::duration_cast<std::chrono::milliseconds>(deadline - Clock::now());
    if (left.count() <= 0) return;
    wait(static_cast<int>(std::min<long>(left.count() + 1, 100)));
    flush_some();
  }
}

void OutputSink::finish() {
  if (tty_) filter_.finish(buffer_);
  flush_some();
  while (waiting() && error_ == 0 && caught_signal() == 0) {
    wait(100);
    flush_some();
  }
}

}  // namespace hotcell
