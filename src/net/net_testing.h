// A small world for tests of the proxy: names of our own, public addresses that lead to servers on loopback.
#pragma once
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>

#include <atomic>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <map>
#include <mutex>
#include <optional>
#include <thread>

#include "base/strings.h"
#include "net/listen.h"
#include "net/proxy.h"

namespace hotcell::net::testing {

inline const Address kLoopback = Address::v4(0x7f000001);

inline sys::Fd connect_to(std::uint16_t port) {
  sockaddr_storage to;
  socklen_t size = kLoopback.fill(to, port);
  sys::Fd fd(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  if (::connect(fd.get(), reinterpret_cast<sockaddr*>(&to), size) < 0) return sys::Fd();
  timeval limit{10, 0};
  ::setsockopt(fd.get(), SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof limit);
  return fd;
}

inline void say(const sys::Fd& fd, std::string_view text) {
  while (!text.empty()) {
    ssize_t n = ::send(fd.get(), text.data(), text.size(), MSG_NOSIGNAL);
    if (n <= 0) return;
    text.remove_prefix(static_cast<std::size_t>(n));
  }
}

// Until `end` was seen, or the other side has nothing more.
inline std::string hear(const sys::Fd& fd, std::string_view end = {}) {
  std::string out;
  char chunk[64 << 10];
  while (end.empty() || out.find(end) == std::string::npos) {
    ssize_t n = ::recv(fd.get(), chunk, sizeof chunk, 0);
    if (n <= 0) break;
    out.append(chunk, static_cast<std::size_t>(n));
  }
  return out;
}

// Each connection in a thread of its own.
class Server {
 public:
  explicit Server(std::function<void(const sys::Fd&)> serve) : serve_(std::move(serve)) {
    listener_ = listen_tcp(kLoopback, 0).value();
    thread_ = std::thread([this] { accept_all(); });
  }
  ~Server() {
    ::shutdown(listener_.get(), SHUT_RDWR);
    thread_.join();
    for (auto& t : clients_) t.join();
  }
  std::uint16_t port() const { return port_of(listener_.get()).value(); }

 private:
  void accept_all() {
    for (;;) {
      pollfd p{listener_.get(), POLLIN, 0};
      ::poll(&p, 1, -1);
      sys::Fd fd(::accept4(listener_.get(), nullptr, nullptr, SOCK_CLOEXEC));
      if (!fd.valid() && errno == EAGAIN && (p.revents & POLLHUP) == 0) continue;
      if (!fd.valid()) return;
      timeval limit{3, 0};
      ::setsockopt(fd.get(), SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof limit);
      clients_.emplace_back([this, f = std::make_shared<sys::Fd>(std::move(fd))] { serve_(*f); });
    }
  }
  std::function<void(const sys::Fd&)> serve_;
  sys::Fd listener_;
  std::thread thread_;
  std::vector<std::thread> clients_;
};

class TableResolver final : public Resolver {
 public:
  using Table = std::map<std::string, std::vector<std::string>>;
  // Also while a proxy asks.
  void set(Table table) {
    std::lock_guard lock(mutex_);
    table_ = std::move(table);
  }
  void set(const std::string& name, std::vector<std::string> addresses) {
    std::lock_guard lock(mutex_);
    table_[name] = std::move(addresses);
  }
  void resolve(const std::string& name, Done done) override {
    std::optional<std::vector<std::string>> known;
    {
      std::lock_guard lock(mutex_);
      if (auto it = table_.find(name); it != table_.end()) known = it->second;
    }
    if (!known) return done(make_error(ErrorCode::kNotFound, "no such name"));
    std::vector<Address> out;
    for (const auto& text : *known) out.push_back(*parse_host(text).value().address);
    done(std::move(out));
  }

 private:
  std::mutex mutex_;
  Table table_;
};

// A proxy with rules; whatever it dials ends at `server`.
struct World {
  explicit World(RuleOptions rules, Server* server = nullptr, ProxyLimits limits = {}) {
    if (server != nullptr) upstream = server->port();
    resolver->set({{"api.good.test", {"203.0.113.10"}}, {"x.pkg.test", {"203.0.113.11"}}, {"_x.pkg.test", {"203.0.113.11"}}, {"evil.test", {"203.0.113.66"}}});
    auto made = RuleSet::create(rules);
    if (!made) std::fprintf(stderr, "%s\n", made.error().message.c_str()), std::abort();
    ProxyOptions options;
    options.listener = listen_tcp(kLoopback, 0).value();
    options.dns = bind_udp(kLoopback, 0).value();
    port = port_of(options.listener.get()).value();
    dns_port = port_of(options.dns.get()).value();
    options.rules = std::make_shared<RuleSet>(std::move(made).value());
    options.resolver = resolver;
    options.limits = limits;
    options.dial = [this](const Address& address, std::uint16_t) -> Result<sys::Fd> {
      {
        std::lock_guard lock(mutex);
        dialled.push_back(address.text());
      }
      if (upstream == 0) return errno_error("connect", ECONNREFUSED);
      sockaddr_storage to;
      socklen_t size = kLoopback.fill(to, upstream);
      sys::Fd fd(::socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
      if (::connect(fd.get(), reinterpret_cast<sockaddr*>(&to), size) < 0 && errno != EINPROGRESS) return errno_error("connect", errno);
      return fd;
    };
    auto started = Proxy::start(std::move(options));
    if (!started) std::fprintf(stderr, "%s\n", started.error().message.c_str()), std::abort();
    proxy = std::move(started).value();
  }

  sys::Fd client() const { return connect_to(port); }
  // One request, all of the answer.
  std::string ask(std::string_view text) const {
    sys::Fd fd = client();
    say(fd, text);
    ::shutdown(fd.get(), SHUT_WR);
    return hear(fd);
  }
  std::vector<std::string> all_dialled() {
    std::lock_guard lock(mutex);
    return dialled;
  }

  std::shared_ptr<TableResolver> resolver = std::make_shared<TableResolver>();
  std::atomic<std::uint16_t> upstream = 0;  // the port on loopback where every address leads
  std::mutex mutex;
  std::vector<std::string> dialled;
  std::uint16_t port = 0, dns_port = 0;
  std::unique_ptr<Proxy> proxy;
};

// What a DNS door says of a name, whole; empty when it says nothing.
inline std::string ask_name(std::uint16_t port, std::string_view name, int type = 1) {
  using namespace std::string_literals;
  sys::Fd udp(::socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0));
  sockaddr_storage to;
  socklen_t size = kLoopback.fill(to, port);
  if (::connect(udp.get(), reinterpret_cast<sockaddr*>(&to), size) != 0) return {};
  timeval limit{5, 0};
  ::setsockopt(udp.get(), SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof limit);
  std::string packet = "\x12\x34\x01\x00\x00\x01\x00\x00\x00\x00\x00\x00"s;
  for (auto label : split(name, '.')) packet += static_cast<char>(label.size()) + std::string(label);
  packet += "\0\0"s + static_cast<char>(type) + "\x00\x01"s;
  (void)!::send(udp.get(), packet.data(), packet.size(), 0);
  char answer[600];
  ssize_t n = ::recv(udp.get(), answer, sizeof answer, 0);
  return std::string(answer, n > 0 ? static_cast<std::size_t>(n) : 0);
}
inline int dns_code(const std::string& answer) { return answer.size() < 12 ? -1 : answer[3] & 15; }

inline void echo(const sys::Fd& fd) {
  char chunk[64 << 10];
  for (ssize_t n; (n = ::recv(fd.get(), chunk, sizeof chunk, 0)) > 0;) say(fd, {chunk, static_cast<std::size_t>(n)});
}

inline std::string client_hello(const std::string& name) {
  using namespace std::string_literals;
  std::string extensions;
  if (!name.empty()) {
    auto n = static_cast<char>(name.size());
    extensions = "\x00\x00\x00"s + static_cast<char>(n + 5) + "\x00"s + static_cast<char>(n + 3) + "\x00\x00"s + n + name;
  }
  std::string body = "\x03\x03"s + std::string(32, 'r') + "\0"s + "\x00\x02\x13\x01"s + "\x01\x00"s + "\0"s + static_cast<char>(extensions.size()) + extensions;
  std::string message = "\x01\x00\x00"s + static_cast<char>(body.size()) + body;
  return "\x16\x03\x01\x00"s + static_cast<char>(message.size()) + message;
}

}  // namespace hotcell::net::testing
