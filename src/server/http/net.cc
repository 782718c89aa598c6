#include "server/http/net.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>

#include <cerrno>
#include <cstring>

#include "base/strings.h"
#include "server/http/target.h"
#include "sys/socket.h"

namespace hotcell::server {
namespace {

constexpr int kAcceptsAtOnce = 64;  // then others have their turn

union Address {
  sockaddr any;
  sockaddr_in v4;
  sockaddr_in6 v6;
  sockaddr_un path;
  sockaddr_storage room;
};

bool is_loopback(const Address& a) {
  if (a.any.sa_family == AF_INET) return (ntohl(a.v4.sin_addr.s_addr) >> 24) == 127;
  if (a.any.sa_family != AF_INET6) return false;
  const in6_addr& ip = a.v6.sin6_addr;
  return IN6_IS_ADDR_LOOPBACK(&ip) || (IN6_IS_ADDR_V4MAPPED(&ip) && ip.s6_addr[12] == 127);
}

std::string host_of(const Address& a) {
  char text[INET6_ADDRSTRLEN] = "";
  if (a.any.sa_family == AF_INET) inet_ntop(AF_INET, &a.v4.sin_addr, text, sizeof text);
  if (a.any.sa_family == AF_INET6) inet_ntop(AF_INET6, &a.v6.sin6_addr, text, sizeof text);
  return text;
}

std::uint16_t port_of(const Address& a) { return ntohs(a.any.sa_family == AF_INET ? a.v4.sin_port : a.v6.sin6_port); }

Error bad(std::string message) { return make_error(ErrorCode::kInvalid, std::move(message)); }

Result<sys::Fd> make_socket(int family) {
  sys::Fd fd(::socket(family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  if (!fd.valid()) return errno_error("socket", errno);
  return fd;
}

Result<Address> address_of(const ListenAddress& address) {
  Address out{};
  if (address.v6) {
    out.v6.sin6_family = AF_INET6;
    out.v6.sin6_port = htons(address.port);
    if (inet_pton(AF_INET6, address.host.c_str(), &out.v6.sin6_addr) != 1) return bad(cat("listen: ", address.text));
  } else {
    out.v4.sin_family = AF_INET;
    out.v4.sin_port = htons(address.port);
    if (inet_pton(AF_INET, address.host.c_str(), &out.v4.sin_addr) != 1) return bad(cat("listen: ", address.text));
  }
  return out;
}

ListenAddress describe(const Address& a) {
  ListenAddress out;
  out.host = host_of(a);
  out.port = port_of(a);
  out.v6 = a.any.sa_family == AF_INET6;
  out.loopback = is_loopback(a);
  out.text = out.v6 ? cat("[", out.host, "]:", out.port) : cat(out.host, ":", out.port);
  return out;
}

}  // namespace

Peer peer_of(int fd, bool tls) {
  Peer peer;
  peer.tls = tls;
  Address other{}, own{};
  socklen_t size = sizeof other;
  if (::getpeername(fd, &other.any, &size) < 0) return peer;
  size = sizeof own;
  if (::getsockname(fd, &own.any, &size) < 0) return peer;
  if (own.any.sa_family == AF_UNIX) {
    peer.unix_socket = true;
    peer.address = "unix";
    ucred who{};
    socklen_t length = sizeof who;
    if (::getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &who, &length) == 0) peer.uid = who.uid;
    return peer;
  }
  peer.loopback = is_loopback(other) && is_loopback(own);
  peer.address = describe(other).text;
  return peer;
}

Acceptor::Acceptor(Loop& loop, sys::Fd fd, std::function<void(sys::Fd)> accepted)
    : loop_(loop), fd_(std::move(fd)), accepted_(std::move(accepted)) {
  watch();
}

void Acceptor::watch() {
  readable_ = loop_.when_readable(fd_.get(), [this] { accept_some(); });
}

void Acceptor::accept_some() {
  for (int i = 0; i < kAcceptsAtOnce; ++i) {
    sys::Fd fd(::accept4(fd_.get(), nullptr, nullptr, SOCK_NONBLOCK | SOCK_CLOEXEC));
    if (fd.valid()) {
      int on = 1;
      ::setsockopt(fd.get(), IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);  // fails on a Unix socket, which has no delay
      accepted_(std::move(fd));
      continue;
    }
    if (errno == EINTR || errno == ECONNABORTED) continue;
    if (errno == EMFILE || errno == ENFILE || errno == ENOBUFS || errno == ENOMEM) {
      // The connection stays in the backlog and would wake us again at once.
      pause_ = loop_.after(std::chrono::milliseconds(100), [this] { watch(); });
      readable_.reset();
    }
    return;
  }
}

Result<ListenAddress> parse_listen(std::string_view text) {
  auto host = parse_host(text);
  if (!host.ok() || host.value().port.empty())
    return bad(cat("listen: '", printable(text), "' is not ADDRESS:PORT, [ADDRESS]:PORT or localhost:PORT"));
  ListenAddress out;
  out.host = host.value().host == "localhost" ? "127.0.0.1" : host.value().host;
  out.v6 = host.value().v6;
  out.port = static_cast<std::uint16_t>(*parse_u64(host.value().port));
  auto address = address_of(out);
  if (!address.ok())
    return bad(cat("listen: '", printable(text),
                   "' is a name; only addresses and localhost are understood, since what a "
                   "name stands for can change"));
  return describe(address.value());
}

Result<sys::Fd> bind_tcp(const ListenAddress& address) {
  TRY_SET(Address where, address_of(address));
  TRY_SET(sys::Fd fd, make_socket(where.any.sa_family));
  int on = 1;
  ::setsockopt(fd.get(), SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
  // [::] means [::]: the IPv4 side of a double socket would be an address nobody has written down.
  if (address.v6) ::setsockopt(fd.get(), IPPROTO_IPV6, IPV6_V6ONLY, &on, sizeof on);
  if (::bind(fd.get(), &where.any, address.v6 ? sizeof where.v6 : sizeof where.v4) < 0)
    return errno_error(cat("listen on ", address.text), errno);
  return fd;
}

Result<sys::Fd> listen_tcp(const ListenAddress& address) {
  TRY_SET(sys::Fd fd, bind_tcp(address));
  TRY(sys::listen(fd.get()).context(cat("listen on ", address.text)));
  return fd;
}

Result<sys::Fd> bind_unix(const std::string& path) {
  Address where{};
  where.path.sun_family = AF_UNIX;
  if (path.empty() || path.size() >= sizeof where.path.sun_path)
    return bad(cat("listen: the path of a Unix socket has 1 to ", sizeof where.path.sun_path - 1, " bytes: ", path));
  std::memcpy(where.path.sun_path, path.data(), path.size());
  struct stat st {};
  if (::lstat(path.c_str(), &st) == 0) {
    if (!S_ISSOCK(st.st_mode)) return bad(cat("listen: ", path, " is there and is not a socket"));
    TRY_SET(sys::Fd probe, make_socket(AF_UNIX));
    if (::connect(probe.get(), &where.any, sizeof where.path) == 0 || errno == EAGAIN)
      return bad(cat("listen: somebody listens on ", path, " already"));
    ::unlink(path.c_str());
  }
  TRY_SET(sys::Fd fd, make_socket(AF_UNIX));
  // The mode is that of the socket's name from its first moment: chmod afterwards would leave a gap.
  const mode_t old = ::umask(0177);
  const int bound = ::bind(fd.get(), &where.any, sizeof where.path);
  const int error = errno;
  ::umask(old);
  if (bound < 0) return errno_error(cat("listen on ", path), error);
  return fd;
}

Result<ListenAddress> bound_address(int fd) {
  Address own{};
  socklen_t size = sizeof own;
  if (::getsockname(fd, &own.any, &size) < 0) return errno_error("getsockname", errno);
  if (own.any.sa_family != AF_INET && own.any.sa_family != AF_INET6) return bad("not an internet socket");
  return describe(own);
}

}  // namespace hotcell::server
