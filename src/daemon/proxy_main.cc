// hotcell-proxy: serves the door of one cell, for a daemon or for the keeper of lasting cells. What may be reached at most is
// on its command line, which only the supervisor or the keeper writes; orders (net/door/order.h) can take away from that. Not for calling by hand.
#include <limits.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <unistd.h>

#include <array>
#include <string>
#include <vector>

#include "base/strings.h"
#include "hotcell/launcher.h"
#include "net/door/order.h"
#include "net/inserter.h"
#include "net/proxy.h"
#include "net/resolver.h"
#include "sys/framed_child.h"
#include "sys/socket.h"

namespace hotcell {
namespace {

constexpr int kSocket = 0;
constexpr rlim_t kMemory = 1u << 30, kFiles = 8192;

void limit(decltype(RLIMIT_AS) what, rlim_t most) {
  rlimit have{};
  if (::getrlimit(what, &have) != 0) return;
  have.rlim_cur = have.rlim_max = std::min(most, have.rlim_max);
  ::setrlimit(what, &have);
}

// It reads what a hostile program sends: no file but those that name resolution needs, nothing started, no listening.
Result<void> confine() {
  ConfineOptions options;
  options.alone = true;
  options.dial = true;
  for (const char* file : {"/etc/hosts", "/etc/resolv.conf", "/etc/nsswitch.conf", "/etc/host.conf", "/etc/gai.conf", "/etc/services"}) {
    char real[PATH_MAX];
    if (::realpath(file, real) != nullptr) options.read_only.emplace_back(real);
  }
  limit(RLIMIT_CORE, 0);
  limit(RLIMIT_FSIZE, 0);
  limit(RLIMIT_NOFILE, kFiles);
#ifndef HOTCELL_SANITIZED
  limit(RLIMIT_AS, kMemory);
#endif
  if (::prctl(PR_SET_DUMPABLE, 0, 0, 0, 0) < 0) return errno_error("PR_SET_DUMPABLE", errno);
  TRY_SET(Enforcement held, confine_self(options));
  return {};
}

// One packet: the frame of the order, and the sockets.
Result<net::ProxyOptions> receive_order(const net::DoorCeiling& most) {
  static std::array<char, sys::kFrameHead + net::kLongestDoorOrder> buffer;
  TRY_SET(sys::Message message, sys::receive(kSocket, buffer, 0));
  std::string_view bytes(buffer.data(), message.size);
  auto length = sys::frame_length(bytes, net::kLongestDoorOrder);
  if (!length || bytes.size() != sys::kFrameHead + *length || message.fds.size() < 2)
    return make_error(ErrorCode::kInvalid, "an order that makes no sense");
  auto order = net::unpack_door_order(bytes.substr(sys::kFrameHead));
  if (!order || message.fds.size() != (order->secret_hosts.empty() ? 2u : 3u)) return make_error(ErrorCode::kInvalid, "an order that makes no sense");
  TRY_SET(auto rules, net::rules_within(most.rules, *order, most.whose));
  net::ProxyOptions out;
  out.listener = std::move(message.fds[0]);
  out.dns = std::move(message.fds[1]);
  out.rules = std::move(rules);
  out.limits = most.limits;
  if (!order->secret_hosts.empty()) {
    TRY_SET(out.inserter, net::inserter_over(std::move(message.fds[2]), order->secret_hosts));
  }
  if (!most.names.empty()) out.resolver = net::mapped_resolver(most.names, net::host_resolver());
  return out;
}

std::string change(const net::DoorCeiling& most, std::string_view bytes, net::Proxy& proxy) {
  auto order = net::unpack_door_order(bytes);
  if (!order) return "an order that makes no sense";
  auto rules = net::rules_within(most.rules, *order, most.whose);
  if (!rules.ok()) return rules.error().message;
  proxy.set_rules(std::move(rules).value());
  return {};
}

Result<void> serve(const net::DoorCeiling& most) {
  TRY_SET(net::ProxyOptions options, receive_order(most));
  TRY_SET(auto proxy, net::Proxy::start(std::move(options)));
  if (!sys::send_frame(kSocket, {})) return {};
  auto account = [&] {
    net::Stats stats = proxy->journal().stats();
    return pack(net::DoorAccount{proxy->journal().entries(), proxy->journal().refusals(), stats.notices, stats});
  };
  // In pieces: what one program of the cell was refused, while the log goes on.
  auto since = [&](std::string_view numbers) -> std::string {
    auto blank = numbers.find(' ');
    auto moment = parse_u64(numbers.substr(0, blank)), after = blank == numbers.npos ? std::nullopt : parse_u64(numbers.substr(blank + 1));
    if (!moment || *moment >> 63 != 0 || !after) return "a question that makes no sense";
    std::chrono::system_clock::time_point from{std::chrono::nanoseconds(*moment)};
    const net::Log& log = proxy->journal();
    return pack(net::DoorAccount{log.entries(*after), log.refusals(from), log.notices(from), log.stats()});
  };
  for (std::string question; sys::receive_frame(kSocket, net::kLongestDoorOrder, question);) {
    if (question.empty()) {
      proxy->close();
      sys::send_frame(kSocket, account());
      return {};
    }
    std::string_view rest = std::string_view(question).substr(1);
    std::string answer = question[0] == 'a'   ? account()
                         : question[0] == 'd' ? since(rest)
                         : question[0] == 'r' ? change(most, rest, *proxy)
                                              : "a question that makes no sense";
    if (!sys::send_frame(kSocket, answer)) return {};
  }
  return {};  // whoever asked is gone, and so is the cell
}

}  // namespace
}  // namespace hotcell

int main(int argc, char** argv) {
  using namespace hotcell;
  auto most = net::read_door_words(std::vector<std::string>(argv + (argc > 0 ? 1 : 0), argv + argc));
  auto done = most.ok() ? confine() : Result<void>(most.error());
  if (done.ok()) done = serve(most.value());
  if (done.ok()) return 0;
  sys::send_frame(kSocket, done.error().message);
  return 1;
}
