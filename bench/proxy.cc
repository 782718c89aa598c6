// The egress proxy against a direct connection, on loopback: how much of the throughput is left, and what a request
// costs more; and 2000 tunnels at once. bench_proxy [MiB]
#include <fcntl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <thread>

#include "base/strings.h"
#include "net/listen.h"
#include "net/proxy.h"

namespace {

using namespace hotcell;
using Clock = std::chrono::steady_clock;

const net::Address kLoopback = net::Address::v4(0x7f000001);

sys::Fd connect_to(std::uint16_t port) {
  sockaddr_storage to;
  socklen_t size = kLoopback.fill(to, port);
  sys::Fd fd(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  if (::connect(fd.get(), reinterpret_cast<sockaddr*>(&to), size) < 0) std::perror("connect"), std::exit(1);
  return fd;
}

void say(int fd, std::string_view text) {
  while (!text.empty()) {
    ssize_t n = ::send(fd, text.data(), text.size(), MSG_NOSIGNAL);
    if (n <= 0) return;
    text.remove_prefix(static_cast<std::size_t>(n));
  }
}

void hear_head(int fd) {
  std::string head;
  for (char c; !head.ends_with("\r\n\r\n") && ::recv(fd, &c, 1, 0) == 1;) head += c;
  if (!head.starts_with("HTTP/1.1 200")) std::fprintf(stderr, "%s\n", head.c_str()), std::exit(1);
}

// "d": sends so many MiB. Anything else: an answer of two bytes.
void serve(sys::Fd fd, std::size_t mebibytes) {
  char first[4096];
  if (::recv(fd.get(), first, sizeof first, 0) <= 0) return;
  if (first[0] != 'd') return say(fd.get(), "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok");
  std::string block(1 << 20, 'x');
  for (std::size_t i = 0; i < mebibytes; ++i) say(fd.get(), block);
}

double download(sys::Fd fd) {
  auto begin = Clock::now();
  say(fd.get(), "d");
  static char chunk[1 << 18];
  std::uint64_t all = 0;
  for (ssize_t n; (n = ::recv(fd.get(), chunk, sizeof chunk, 0)) > 0;) all += static_cast<std::uint64_t>(n);
  return static_cast<double>(all) / (1 << 20) / std::chrono::duration<double>(Clock::now() - begin).count();
}

sys::Fd tunnel(std::uint16_t proxy, std::uint16_t port) {
  sys::Fd fd = connect_to(proxy);
  say(fd.get(), cat("CONNECT 127.0.0.1:", port, " HTTP/1.1\r\nHost: 127.0.0.1:", port, "\r\n\r\n"));
  hear_head(fd.get());
  return fd;
}

double median(std::vector<double> v) {
  std::nth_element(v.begin(), v.begin() + static_cast<std::ptrdiff_t>(v.size() / 2), v.end());
  return v[v.size() / 2];
}

template <typename F>
double latency_us(F request) {
  std::vector<double> all;
  for (int i = 0; i < 2000; ++i) {
    auto begin = Clock::now();
    request();
    all.push_back(std::chrono::duration<double, std::micro>(Clock::now() - begin).count());
  }
  return median(std::move(all));
}

}  // namespace

int main(int argc, char** argv) {
  std::size_t mebibytes = argc > 1 ? static_cast<std::size_t>(std::atoi(argv[1])) : 1024;
  auto listener = net::listen_tcp(kLoopback, 0).value();
  ::fcntl(listener.get(), F_SETFL, 0);
  std::uint16_t port = net::port_of(listener.get()).value();
  std::thread([&] {
    for (;;) {
      sys::Fd fd(::accept4(listener.get(), nullptr, nullptr, SOCK_CLOEXEC));
      std::thread([f = std::make_shared<sys::Fd>(std::move(fd)), mebibytes] { serve(std::move(*f), mebibytes); }).detach();
    }
  }).detach();
  net::ProxyOptions options;
  options.listener = net::listen_tcp(kLoopback, 0).value();
  std::uint16_t proxy_port = net::port_of(options.listener.get()).value();
  options.rules = std::make_shared<net::RuleSet>(net::RuleSet::create({.allow = {"127.0.0.1"}, .allow_private = {"127.0.0.1"}}).value());
  auto proxy = net::Proxy::start(std::move(options)).value();

  std::vector<double> direct, through, part;
  for (int i = 0; i < 11; ++i) {
    direct.push_back(download(connect_to(port)));
    through.push_back(download(tunnel(proxy_port, port)));
    part.push_back(through.back() / direct.back());
  }
  double d = median(direct), t = median(through);
  std::printf("tunnel throughput, %zu MiB: direct %.0f MiB/s, through the proxy %.0f MiB/s: %.2f of it\n", mebibytes, d, t, median(part));
  auto ask = [](const sys::Fd& fd, const std::string& request) {
    say(fd.get(), request);
    hear_head(fd.get());
  };
  std::string plain = cat("GET / HTTP/1.1\r\nHost: 127.0.0.1:", port, "\r\n\r\n"), absolute = cat("GET http://127.0.0.1:", port, plain.substr(4));
  double ld = latency_us([&] { ask(connect_to(port), plain); }), lp = latency_us([&] { ask(connect_to(proxy_port), absolute); });
  std::printf("one plain request with its connection: direct %.0f us, through the proxy %.0f us: %.2f times\n", ld, lp, lp / ld);
  double lt = latency_us([&] { ask(tunnel(proxy_port, port), plain); });
  std::printf("the same through a tunnel of its own: %.0f us: %.2f times\n", lt, lt / ld);
  // Each end of each is a descriptor of this process.
  rlimit files{};
  ::getrlimit(RLIMIT_NOFILE, &files);
  files.rlim_cur = files.rlim_max;
  ::setrlimit(RLIMIT_NOFILE, &files);
  constexpr std::size_t kTunnels = 2000;
  std::vector<sys::Fd> tunnels;
  while (tunnels.size() < kTunnels) tunnels.push_back(tunnel(proxy_port, port));
  std::size_t failed = 0;
  for (auto& fd : tunnels) say(fd.get(), plain);
  for (auto& fd : tunnels) {
    char answer[256];
    ssize_t n = ::recv(fd.get(), answer, sizeof answer, 0);
    failed += n > 0 && std::string_view(answer, static_cast<std::size_t>(n)).starts_with("HTTP/1.1 200") ? 0 : 1;
  }
  std::printf("%zu tunnels at once: %zu failed\n", kTunnels, failed);
  std::fflush(stdout);
  ::_exit(failed == 0 ? 0 : 1);
}
