// For tests: a real server on a thread of its own, and clients that send exactly the bytes they are told to.
#pragma once
#include <arpa/inet.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <chrono>
#include <functional>
#include <future>
#include <list>
#include <memory>
#include <string>
#include <string_view>
#include <thread>

#include "server/http/server.h"

namespace hotcell::server::testing {

// Lets everybody in whose Host is not "evil".
class OpenGate : public Gate {
 public:
  std::optional<Refusal> admit(const Peer&, HttpRequest& request, Scope, std::shared_ptr<void>&) override {
    request.caller.name = "tester";
    return std::nullopt;
  }
  std::optional<Refusal> check_names(const Peer&, const HttpRequest& request, const std::string&) override {
    if (request.header("host") != "evil") return std::nullopt;
    Refusal refusal;
    refusal.message = "no";
    return refusal;
  }
  bool is_allowed_origin(std::string_view origin) const override { return origin == "https://friend.test"; }
};

class Client {
 public:
  explicit Client(std::uint16_t port, int receive_buffer = 0) : fd_(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
    if (receive_buffer > 0) ::setsockopt(fd_.get(), SOL_SOCKET, SO_RCVBUF, &receive_buffer, sizeof receive_buffer);
    sockaddr_in to{};
    to.sin_family = AF_INET;
    to.sin_port = htons(port);
    to.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    sockaddr any;
    static_assert(sizeof any == sizeof to);
    __builtin_memcpy(&any, &to, sizeof any);
    connected_ = ::connect(fd_.get(), &any, sizeof any) == 0;
  }
  explicit Client(sys::Fd fd) : fd_(std::move(fd)), connected_(true) {}

  bool connected() const { return connected_; }
  int fd() const { return fd_.get(); }
  bool send(std::string_view bytes) {
    while (!bytes.empty()) {
      const ssize_t n = ::send(fd_.get(), bytes.data(), bytes.size(), MSG_NOSIGNAL);
      if (n <= 0) return false;
      bytes.remove_prefix(static_cast<std::size_t>(n));
    }
    return true;
  }
  void half_close() { ::shutdown(fd_.get(), SHUT_WR); }
  void close() { fd_.reset(); }

  // Until `enough` says so of what has come so far, the end of the connection, or the time is up.
  std::string read_until(const std::function<bool(const std::string&)>& enough, int ms = 5000) {
    const auto end = std::chrono::steady_clock::now() + std::chrono::milliseconds(ms);
    while (!enough(got_)) {
      const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(end - std::chrono::steady_clock::now());
      pollfd p{fd_.get(), POLLIN, 0};
      if (left.count() <= 0 || ::poll(&p, 1, static_cast<int>(left.count())) <= 0) break;
      char buffer[65536];
      const ssize_t n = ::recv(fd_.get(), buffer, sizeof buffer, 0);
      ended_ = n == 0;
      reset_ = n < 0;
      if (n <= 0) break;
      got_.append(buffer, static_cast<std::size_t>(n));
    }
    return std::exchange(got_, {});
  }
  std::string read_to_end(int ms = 5000) {
    return read_until([](const std::string&) { return false; }, ms);
  }
  // One answer with a Content-Length (or without a body); what follows it is kept for the next.
  std::string read_answer(bool body = true, int ms = 5000) {
    std::size_t size = 0;
    std::string all = read_until([&](const std::string& got) { return (size = answer_size(got, body)) > 0; }, ms);
    if (size == 0) return all;
    got_ = all.substr(size);
    return all.substr(0, size);
  }
  std::string ask(std::string_view bytes) {
    if (!send(bytes)) return "";
    return read_answer();
  }
  bool ended() const { return ended_; }
  bool reset() const { return reset_; }

 private:
  static std::size_t answer_size(const std::string& got, bool body) {
    const std::size_t head = got.find("\r\n\r\n");
    if (head == std::string::npos) return 0;
    const std::size_t at = got.find("Content-Length: ");
    const std::size_t length = body && at < head ? std::stoul(got.substr(at + 16)) : 0;
    return got.size() >= head + 4 + length ? head + 4 + length : 0;
  }

  sys::Fd fd_;
  bool connected_ = false, ended_ = false, reset_ = false;
  std::string got_;
};

inline int status_of(const std::string& answer) {
  return answer.size() > 12 && answer.starts_with("HTTP/1.1 ") ? std::stoi(answer.substr(9, 3)) : 0;
}
inline std::string body_of(const std::string& answer) {
  const std::size_t at = answer.find("\r\n\r\n");
  return at == std::string::npos ? "" : answer.substr(at + 4);
}

class TestServer {
 public:
  explicit TestServer(const std::function<void(Router&, TestServer&)>& routes, ServerLimits limits = {},
                      std::shared_ptr<TlsContext> tls = nullptr, Gate* gate = nullptr) {
    routes(router_, *this);
    server_ = std::make_unique<HttpServer>(loop, limits, router_, gate != nullptr ? *gate : open_);
    auto address = parse_listen("127.0.0.1:0");
    auto fd = listen_tcp(address.value());
    port_ = bound_address(fd.value().get()).value().port;
    (void)server_->add_listener(std::move(fd.value()), std::move(tls));
    thread_ = std::thread([this] { loop.run(); });
  }
  ~TestServer() {
    on_loop([this] {
      held.reset();
      timers.clear();
      server_.reset();
    });
    loop.stop();
    thread_.join();
  }

  std::uint16_t port() const { return port_; }
  Client connect() { return Client(port_); }
  HttpServer& server() { return *server_; }
  ServerStats stats() {
    ServerStats out;
    on_loop([&] { out = server_->stats(); });
    return out;
  }
  void on_loop(const std::function<void()>& work) {
    std::promise<void> done;
    loop.post([&] {
      work();
      done.set_value();
    });
    done.get_future().wait();
  }

  Loop loop;
  ExchangePtr held;  // for handlers that answer when the test says so; the loop's alone
  std::list<Loop::Handle> timers;  // the same

 private:
  OpenGate open_;
  Router router_;
  std::unique_ptr<HttpServer> server_;
  std::uint16_t port_ = 0;
  std::thread thread_;
};

inline bool eventually(const std::function<bool()>& what, int ms = 5000) {
  const auto end = std::chrono::steady_clock::now() + std::chrono::milliseconds(ms);
  while (std::chrono::steady_clock::now() < end) {
    if (what()) return true;
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
  }
  return what();
}

}  // namespace hotcell::server::testing
