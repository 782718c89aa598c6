#include "net/listen.h"

#include <netinet/in.h>
#include <sys/socket.h>

#include <cerrno>

#include "base/strings.h"

namespace hotcell::net {
namespace {

Result<sys::Fd> bound(const Address& address, std::uint16_t port, int type) {
  sys::Fd fd(::socket(address.v6 ? AF_INET6 : AF_INET, type | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  if (!fd.valid()) return errno_error("socket", errno);
  int on = 1;
  if (type == SOCK_STREAM) ::setsockopt(fd.get(), SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
  sockaddr_storage at;
  socklen_t size = address.fill(at, port);
  if (::bind(fd.get(), reinterpret_cast<sockaddr*>(&at), size) < 0) return errno_error(cat("bind to ", address.text(), " port ", port), errno);
  return fd;
}

}  // namespace

Result<sys::Fd> listen_tcp(const Address& address, std::uint16_t port) {
  TRY_SET(sys::Fd fd, bound(address, port, SOCK_STREAM));
  if (::listen(fd.get(), 1024) < 0) return errno_error("listen", errno);
  return fd;
}

Result<sys::Fd> bind_udp(const Address& address, std::uint16_t port) { return bound(address, port, SOCK_DGRAM); }

Result<std::uint16_t> port_of(int fd) {
  sockaddr_storage at{};
  socklen_t size = sizeof at;
  if (::getsockname(fd, reinterpret_cast<sockaddr*>(&at), &size) < 0) return errno_error("getsockname", errno);
  return ntohs(at.ss_family == AF_INET6 ? reinterpret_cast<sockaddr_in6&>(at).sin6_port : reinterpret_cast<sockaddr_in&>(at).sin_port);
}

bool leads_here(const Address& address) {
  sockaddr_storage at;
  socklen_t size = address.fill(at, 9);
  sys::Fd fd(::socket(address.v6 ? AF_INET6 : AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0));
  if (!fd.valid() || ::connect(fd.get(), reinterpret_cast<sockaddr*>(&at), size) < 0) return false;  // no way there at all
  // To an address of its own the kernel goes from that same address, and to no other.
  size = sizeof at;
  if (::getsockname(fd.get(), reinterpret_cast<sockaddr*>(&at), &size) < 0) return false;
  return Address::from(reinterpret_cast<sockaddr*>(&at)) == address;
}

}  // namespace hotcell::net
