#include "daemon/notify.h"

#include <fcntl.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <cstddef>
#include <cstring>
#include <string>

#include "base/strings.h"

namespace hotcell::daemon {
namespace {

std::optional<std::uint64_t> number(const char* name) {
  const char* text = ::getenv(name);
  return text == nullptr ? std::nullopt : parse_u64(text);
}

}  // namespace

void notify(std::string_view state) {
  const char* path = ::getenv("NOTIFY_SOCKET");
  if (path == nullptr || (path[0] != '/' && path[0] != '@')) return;
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  std::size_t length = std::strlen(path);
  if (length >= sizeof address.sun_path) return;
  std::memcpy(address.sun_path, path, length);
  if (path[0] == '@') address.sun_path[0] = '\0';
  sys::Fd fd(::socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0));
  if (!fd.valid()) return;
  // Nobody to tell is no reason to fail.
  (void)!::sendto(fd.get(), state.data(), state.size(), MSG_NOSIGNAL, reinterpret_cast<sockaddr*>(&address),
                  static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + length));
}

std::optional<std::chrono::microseconds> watchdog_every() {
  auto usec = number("WATCHDOG_USEC");
  auto pid = number("WATCHDOG_PID");
  if (!usec || *usec == 0 || (pid && *pid != static_cast<std::uint64_t>(::getpid()))) return std::nullopt;
  return std::chrono::microseconds(*usec / 2);
}

std::vector<sys::Fd> activated_sockets() {
  std::vector<sys::Fd> out;
  auto pid = number("LISTEN_PID");
  auto count = number("LISTEN_FDS");
  if (pid && count && *pid == static_cast<std::uint64_t>(::getpid()) && *count < 64) {
    for (std::uint64_t i = 0; i < *count; ++i) {
      int fd = 3 + static_cast<int>(i);
      if (::fcntl(fd, F_SETFD, FD_CLOEXEC) == 0) out.emplace_back(fd);
    }
  }
  for (const char* name : {"LISTEN_PID", "LISTEN_FDS", "LISTEN_FDNAMES"}) ::unsetenv(name);
  return out;
}

}  // namespace hotcell::daemon
