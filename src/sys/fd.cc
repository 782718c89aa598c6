#include "sys/fd.h"

#include <fcntl.h>

#include <cerrno>

#include "sys/fault.h"

namespace hotcell::sys {

Result<Pipe> make_pipe(int flags) {
  int ends[2];
  if (int e = fault("pipe")) return errno_error("pipe", e);
  if (::pipe2(ends, flags | O_CLOEXEC) < 0) return errno_error("pipe", errno);
  return Pipe{Fd(ends[0]), Fd(ends[1])};
}

Result<void> set_nonblocking(int fd) {
  int flags = ::fcntl(fd, F_GETFL);
  if (flags < 0 || ::fcntl(fd, F_SETFL, flags | O_NONBLOCK) < 0) return errno_error("fcntl", errno);
  return {};
}

Result<Fd> duplicate(int fd) {
  int copy = ::fcntl(fd, F_DUPFD_CLOEXEC, 3);
  if (copy < 0) return errno_error("dup", errno);
  return Fd(copy);
}

}  // namespace hotcell::sys
