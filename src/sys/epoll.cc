#include "sys/epoll.h"

#include <sys/epoll.h>

#include <cerrno>

namespace hotcell::sys {

Result<Fd> epoll_with(int fd, std::uint32_t events) {
  Fd epoll(::epoll_create1(EPOLL_CLOEXEC));
  if (!epoll.valid()) return errno_error("epoll_create1", errno);
  epoll_event event{};
  event.events = events;
  if (::epoll_ctl(epoll.get(), EPOLL_CTL_ADD, fd, &event) < 0) return errno_error("epoll_ctl", errno);
  return epoll;
}

}  // namespace hotcell::sys
