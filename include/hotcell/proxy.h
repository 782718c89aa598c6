// The egress proxy: the one way out of a cell with network mode proxy, or a proxy by itself.
//
//   std::unique_ptr<EgressProxy> proxy;
//   request.on_network = [&](int door, int dns) {     // before the program starts
//     auto served = EgressProxy::serve(options, door, dns);
//     if (served) proxy = std::move(served).value();  // otherwise the door stays shut
//   };
//
// Patterns, modes and what is refused in every one of them: docs/guide/network.md.
#pragma once
#include <chrono>
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "hotcell/policy.h"
#include "hotcell/report.h"
#include "hotcell/request.h"
#include "hotcell/result.h"
#include "hotcell/units.h"

namespace hotcell {

struct ProxyRules {
  RuleMode mode = RuleMode::kAllowlist;
  std::vector<std::string> allow = {}, block = {};  // @registries and @development are read from this host's configuration
  std::vector<std::string> allow_private = {};      // may have an address inside
};

struct ProxyDecision {
  bool allowed = false;
  std::string rule, reason, how;  // `how`: what would allow it; empty when nothing does
};

// A host as somebody writes it, with or without its port (443 then). No name is looked up.
Result<ProxyDecision> check_host(const ProxyRules& rules, std::string_view host);

struct ProxySecretsOptions {
  // "NAME@HOST", the variable and who it is for (a host, *.d, perhaps a port), and the value: from 8 to 4096 printable characters.
  std::map<std::string, std::string> values;
  std::string program = {};      // hotcell-tls; empty: beside this program, or in ../libexec/hotcell
  std::string authorities = {};  // a PEM file that servers are checked against; empty: the host's own
};

// Secrets that a program uses and never sees. It has placeholders; in requests to their hosts, and to no others, the proxy puts
// the values in their place, over TLS by an authority that is made here and that the program is told to trust.
//
//   auto secrets = ProxySecrets::start({.values = {{"TOKEN@api.example.org", token}}});   // for one cell
//   options.secrets = secrets.value();                                                    // of its proxy
//   secrets.value()->place(policy, request);                                              // before it is started
//   report.out = secrets.value()->clean(report.out);                                      // a host may have said it back in disguise
class ProxySecrets {
 public:
  // Starts hotcell-tls, which is where TLS and the values are dealt with; it goes with this object and its proxy.
  static Result<std::shared_ptr<ProxySecrets>> start(const ProxySecretsOptions& options);
  virtual ~ProxySecrets() = default;

  // The placeholders and what makes programs trust the authority: variables, and two files in the workspace. What the policy or
  // the request sets itself stays. An error when the policy passes such a variable on as it is.
  virtual Result<void> place(const Policy& policy, Request& request) = 0;
  // Values become placeholders. Of a stream the whole is to be given: half a value is none.
  virtual std::string clean(std::string_view text) const = 0;
};

struct EgressProxyOptions {
  ProxyRules rules;
  std::shared_ptr<ProxySecrets> secrets = {};       // their hosts are allowed thereby, unless they are blocked
  std::map<std::string, std::vector<std::string>> names = {};  // with addresses of their own; the host's resolver knows the rest
  // 0: no limit.
  Bytes bytes{0};                                   // both ways together, over the proxy's life
  Bytes bytes_per_second{0};
  std::size_t connections = 4096;                   // at once
  std::chrono::milliseconds time{0};                // how long it serves
  std::chrono::milliseconds connection_time{0};     // how long one connection may last
};

struct ProxyEntry {
  std::uint64_t number = 0;        // from 1 on
  std::chrono::system_clock::time_point time;
  std::string method, host;        // CONNECT, GET …, SOCKS5, DNS A
  std::uint16_t port = 0;
  bool allowed = false;
  bool notice = false;             // no request: `reason` says what was noticed
  std::string rule, reason, how;
  std::uint64_t bytes_up = 0, bytes_down = 0;
  Nanoseconds duration{0};
  bool open = false;               // has not ended, and moved so much so far; another entry tells of its end
  bool failed = false;             // no rule was against it, but there was no address, nobody there, or no answer; `allowed` is false
};

struct ProxyStats {
  std::uint64_t allowed = 0, refused = 0, failed = 0, bytes_up = 0, bytes_down = 0, open = 0;
  std::uint64_t dropped = 0;       // entries that the log does not hold any more
  std::map<std::string, std::uint64_t> hosts;
  std::vector<std::string> notices;
};

// Served by a thread of its own until close() or its end. Safe to use from any thread.
class EgressProxy {
 public:
  // The descriptors are the proxy's from now on, also when it fails. Without `dns` (-1) no names are answered.
  static Result<std::unique_ptr<EgressProxy>> serve(const EgressProxyOptions& options, int door, int dns = -1);
  // On an address of this host; port 0: any. Nothing holds a program to it.
  static Result<std::unique_ptr<EgressProxy>> listen(const EgressProxyOptions& options, std::string_view address, std::uint16_t port);
  virtual ~EgressProxy() = default;

  virtual std::uint16_t port() const = 0;                    // of the door
  virtual Result<void> set_rules(const ProxyRules& rules) = 0;  // from now on; connections that are no longer allowed are ended
  virtual std::vector<ProxyEntry> log(std::uint64_t after = 0) const = 0;  // oldest first, those after that number
  virtual ProxyStats stats() const = 0;
  virtual std::vector<Denial> denials() const = 0;           // each refused host and rule once, with its count
  virtual void close() = 0;                                  // ends every connection, so that the log is whole
};

}  // namespace hotcell
