// The door out of a cell: one thread that serves HTTP CONNECT, plain HTTP and SOCKS5 on a listening socket, and DNS on
// a datagram socket. Both were made by whoever starts it, inside the cell's network namespace; the proxy itself dials
// from its own. Every name is checked against the rules, every address it has is checked again, and exactly the
// checked address is dialled.
#pragma once
#include <chrono>
#include <functional>
#include <memory>

#include "net/log.h"
#include "net/resolver.h"
#include "net/rules.h"
#include "sys/fd.h"

namespace hotcell::net {

struct ProxyLimits {
  std::size_t connections = 4096;            // at once
  std::uint64_t bytes = 0;                   // up and down together, over the proxy's life; 0: no limit
  std::uint64_t bytes_per_second = 0;        // both ways together; 0: no limit
  std::chrono::milliseconds head{10'000};    // until the client has said what it wants
  std::chrono::milliseconds dial{10'000};    // looking up and connecting
  std::chrono::milliseconds idle{300'000};   // nothing in either direction
  std::chrono::milliseconds life{0};         // of one connection; 0: no limit
  std::chrono::milliseconds time{0};         // of the door, from its start; 0: no limit
  std::chrono::milliseconds drip{1'000};     // so much silence makes two uploads of one (watcher.h)
};

// Takes a connection to a server and gives another in its place, on which what the cell says reaches the server changed:
// with secrets where their placeholders stood (inserter.h).
class Inserter {
 public:
  virtual ~Inserter() = default;
  virtual bool covers(const Target& target) const = 0;
  virtual Result<sys::Fd> insert(const Target& target, sys::Fd server) = 0;
};

struct ProxyOptions {
  sys::Fd listener;                          // a listening stream socket
  sys::Fd dns;                               // a bound datagram socket; may be absent
  std::shared_ptr<const RuleSet> rules;
  std::shared_ptr<Resolver> resolver;        // absent: the host's
  ProxyLimits limits;
  std::size_t log_entries = 4096;
  bool check_sni = true;                     // a TLS client must ask for the host it was connected to
  // Begins a connection; the default is a plain one. For tests, which have no public addresses of their own.
  std::function<Result<sys::Fd>(const Address&, std::uint16_t port)> dial;
  std::function<bool(const Address&)> own;   // whether an address is this machine's; the default asks the kernel
  std::shared_ptr<Inserter> inserter;        // may be absent
};

class Proxy {
 public:
  static Result<std::unique_ptr<Proxy>> start(ProxyOptions options);
  virtual ~Proxy() = default;
  virtual void close() = 0;  // ends every connection, so that the log is whole; the end of the object does it, too
  // From now on; connections that the new rules would not allow are ended.
  virtual void set_rules(std::shared_ptr<const RuleSet> rules) = 0;
  virtual const Log& journal() const = 0;
};

}  // namespace hotcell::net
