#include "cli/event_writer.h"

#include <cerrno>
#include <climits>
#include <fcntl.h>
#include <poll.h>
#include <unistd.h>

#include <algorithm>

#include "base/strings.h"
#include "manager/report_json.h"

namespace hotcell {

namespace {
constexpr std::size_t kBuffer = 64 << 10;  // some 400 events; a run makes about ten
constexpr int kLastWaitMs = 1000;
}  // namespace

Result<EventWriter> EventWriter::create(std::string_view fd_number) {
  auto number = parse_u64(fd_number);
  int flags = number && *number <= INT_MAX ? ::fcntl(static_cast<int>(*number), F_GETFL) : -1;
  if (flags < 0) {
    return make_error(ErrorCode::kInvalid, cat("--status-fd: ", fd_number, " is not an open descriptor"));
  }
  if ((flags & O_ACCMODE) == O_RDONLY) {
    return make_error(ErrorCode::kInvalid, cat("--status-fd: descriptor ", fd_number, " is not open for writing"));
  }
  int fd = static_cast<int>(*number);
  if (fd > STDERR_FILENO && ::fcntl(fd, F_SETFD, FD_CLOEXEC) != 0) return errno_error("--status-fd", errno);
  return EventWriter(fd);
}

bool EventWriter::flush(int wait_ms) {
  while (!buffer_.empty()) {
    struct pollfd p = {fd_, POLLOUT, 0};
    int ready = ::poll(&p, 1, wait_ms);
    if (ready == 0 || (ready < 0 && errno == EINTR)) return false;
    // What polls writable takes PIPE_BUF bytes without blocking; the descriptor is shared, so O_NONBLOCK is not ours to
    // set.
    ssize_t n = ::write(fd_, buffer_.data(), std::min<std::size_t>(buffer_.size(), PIPE_BUF));
    if (n < 0 && errno == EINTR) return false;
    if (n < 0) {
      broken_ = true;
      buffer_.clear();
      return true;
    }
    buffer_.erase(0, static_cast<std::size_t>(n));
  }
  return true;
}

void EventWriter::write(const Event& event) {
  if (broken_) return;
  std::string line = event_json(event) + "\n";
  // A whole event is dropped rather than half a line written.
  if (buffer_.size() + line.size() <= kBuffer) buffer_ += line;
  flush(0);
}

void EventWriter::finish() { flush(kLastWaitMs); }

}  // namespace hotcell
