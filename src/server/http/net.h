// Sockets under Asio: streams over TCP, Unix sockets and TLS, and what listens for them.
#pragma once
#include <functional>
#include <memory>
#include <string>

#include "hotcell/result.h"
#include "server/http/loop.h"
#include "server/http/stream.h"
#include "sys/fd.h"

namespace hotcell::server {

// A certificate with its key. TLS 1.2 and 1.3, forward secrecy only.
class TlsContext {
 public:
  static Result<std::shared_ptr<TlsContext>> create(const std::string& cert_file, const std::string& key_file);
  virtual ~TlsContext() = default;
};

std::unique_ptr<Stream> make_stream(Loop& loop, sys::Fd socket, const std::shared_ptr<TlsContext>& tls);

// Of a connected socket.
Peer peer_of(int fd, bool tls);

// Calls back with each connection, until it is destroyed. `fd` must be listening. Out of descriptors, it waits a while.
class Acceptor {
 public:
  Acceptor(Loop& loop, sys::Fd fd, std::function<void(sys::Fd)> accepted);
  Acceptor(const Acceptor&) = delete;
  Acceptor& operator=(const Acceptor&) = delete;

 private:
  void accept_some();
  void watch();

  Loop& loop_;
  sys::Fd fd_;
  std::function<void(sys::Fd)> accepted_;
  Loop::Handle readable_, pause_;
};

// "127.0.0.1:7070", "[::1]:0", "localhost:7070"; only literal addresses, so that nothing is asked of a name server.
struct ListenAddress {
  std::string text;  // "127.0.0.1:7070"
  std::string host;  // "127.0.0.1", "::1"
  std::uint16_t port = 0;
  bool v6 = false;
  bool loopback = false;
};
Result<ListenAddress> parse_listen(std::string_view text);
// Bound, and nobody can connect yet: whoever is to serve confines itself first.
Result<sys::Fd> bind_tcp(const ListenAddress& address);
Result<sys::Fd> bind_unix(const std::string& path);    // 0600; a dead socket there is replaced, nothing else is
Result<sys::Fd> listen_tcp(const ListenAddress& address);
Result<ListenAddress> bound_address(int fd);           // of a TCP socket: with the port that the kernel chose

}  // namespace hotcell::server
