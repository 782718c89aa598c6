#include <arpa/inet.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <poll.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "attack.h"

namespace attack {
namespace {

constexpr Errors kNoFamily = errors(EPERM, EACCES, ENOSYS, EAFNOSUPPORT, EPROTONOSUPPORT, ESOCKTNOSUPPORT);
constexpr Errors kNoRoute =
    errors(EPERM, EACCES, ENOSYS, EAFNOSUPPORT, ENETUNREACH, EHOSTUNREACH, EADDRNOTAVAIL, ENETDOWN);
constexpr Errors kNobody = errors(EPERM, EACCES, ENOSYS, EAFNOSUPPORT, ENETUNREACH, EADDRNOTAVAIL, ECONNREFUSED);

// A connection that is under way counts as made: the packet has left.
long reach(const sockaddr* to, socklen_t size, int type) {
  int s = socket(to->sa_family, type | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
  if (s < 0) return -1;
  long r = type == SOCK_DGRAM ? sendto(s, "x", 1, 0, to, size) : connect(s, to, size);
  int err = errno;
  if (r < 0 && err == EINPROGRESS) r = 0;
  if (r == 0 && type == SOCK_STREAM) {
    // On the loopback the answer is there at once, and a refusal is not a connection.
    pollfd p{s, POLLOUT, 0};
    int so = 0;
    socklen_t n = sizeof so;
    if (poll(&p, 1, 300) == 1 && getsockopt(s, SOL_SOCKET, SO_ERROR, &so, &n) == 0 && so != 0) {
      r = -1;
      err = so;
    }
  }
  close(s);
  errno = err;
  return r;
}

sockaddr_in v4(const char* text, long port) {
  sockaddr_in a{};
  a.sin_family = AF_INET;
  a.sin_port = htons(static_cast<unsigned short>(port));
  inet_pton(AF_INET, text, &a.sin_addr);
  return a;
}
sockaddr_in6 v6(const char* text, long port) {
  sockaddr_in6 a{};
  a.sin6_family = AF_INET6;
  a.sin6_port = htons(static_cast<unsigned short>(port));
  inet_pton(AF_INET6, text, &a.sin6_addr);
  return a;
}
template <typename A>
long reach(const A& a, int type) {
  return reach(reinterpret_cast<const sockaddr*>(&a), sizeof a, type);
}

// The addresses are the caller's to choose: run outside a cell, this really sends.
Outcome network(const Args& args) {
  if (args.count < 2) return unclear("needs an address and a port");
  Tries t;
  for (int i = 0; i + 1 < args.count; i += 2) {
    const char* to = args.values[i];
    const long port = args.number(i + 1, 80);
    char what[64];
    snprintf(what, sizeof what, "TCP %s", to);
    if (strchr(to, ':') != nullptr) {
      t.did(what, reach(v6(to, port), SOCK_STREAM), kNoRoute);
      continue;
    }
    t.did(what, reach(v4(to, port), SOCK_STREAM), kNoRoute);
    snprintf(what, sizeof what, "UDP %s", to);
    t.did(what, reach(v4(to, port), SOCK_DGRAM), kNoRoute);
  }
  return t.outcome();
}

Outcome host_loopback(const Args& args) {
  const long port = args.number(0, 0);
  if (port == 0) return unclear("needs the port of a listener outside");
  Tries t;
  t.did("127.0.0.1", reach(v4("127.0.0.1", port), SOCK_STREAM), kNobody);
  t.did("0.0.0.0", reach(v4("0.0.0.0", port), SOCK_STREAM), kNobody);
  t.did("::ffff:127.0.0.1", reach(v6("::ffff:127.0.0.1", port), SOCK_STREAM), kNobody);
  return t.outcome();
}

Outcome abstract_socket(const Args& args) {
  const char* name = args.text(0, "");
  if (*name == 0) return unclear("needs the name of a listener outside");
  sockaddr_un a{};
  a.sun_family = AF_UNIX;
  strncpy(a.sun_path + 1, name, sizeof a.sun_path - 2);
  const auto size = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + 1 + strlen(name));
  Tries t;
  t.did("connect", reach(reinterpret_cast<const sockaddr*>(&a), size, SOCK_STREAM), kNobody);
  return t.outcome();
}

void make(Tries& t, const char* what, int family, int type, int protocol) {
  int s = socket(family, type | SOCK_CLOEXEC, protocol);
  t.did(what, s, kNoFamily);
  if (s >= 0) close(s);
}

Outcome raw_socket(const Args&) {
  Tries t;
  make(t, "ICMP", AF_INET, SOCK_RAW, IPPROTO_ICMP);
  make(t, "raw IP", AF_INET, SOCK_RAW, 255);
  make(t, "ICMPv6", AF_INET6, SOCK_RAW, 58);
  make(t, "packet", AF_PACKET, SOCK_RAW, htons(3));
  make(t, "packet dgram", AF_PACKET, SOCK_DGRAM, htons(3));
  return t.outcome();
}

Outcome vsock(const Args&) {
  Tries t;
  make(t, "AF_VSOCK stream", 40, SOCK_STREAM, 0);
  make(t, "AF_VSOCK dgram", 40, SOCK_DGRAM, 0);
  return t.outcome();
}

Outcome alg(const Args&) {
  Tries t;
  make(t, "AF_ALG", 38, SOCK_SEQPACKET, 0);
  return t.outcome();
}

// Families that few programs need and many kernel bugs were found in.
Outcome odd_sockets(const Args&) {
  Tries t;
  struct Kind {
    const char* name;
    int family, type;
  };
  constexpr Kind kKinds[] = {{"AX25", 3, SOCK_SEQPACKET}, {"IPX", 4, SOCK_DGRAM},    {"KEY", 15, SOCK_RAW},
                             {"LLC", 26, SOCK_STREAM},    {"CAN", 29, SOCK_RAW},     {"TIPC", 30, SOCK_STREAM},
                             {"BLUETOOTH", 31, SOCK_RAW}, {"RXRPC", 33, SOCK_DGRAM}, {"NFC", 39, SOCK_SEQPACKET},
                             {"SMC", 43, SOCK_STREAM},    {"XDP", 44, SOCK_RAW}};
  for (const Kind& k : kKinds) make(t, k.name, k.family, k.type, 0);
  make(t, "NETLINK netfilter", AF_NETLINK, SOCK_RAW, 12);
  make(t, "NETLINK audit", AF_NETLINK, SOCK_RAW, 9);
  make(t, "NETLINK xfrm", AF_NETLINK, SOCK_RAW, 6);
  return t.outcome();
}

constexpr Attack kList[] = {
    {"network", "ADDRESS PORT… TCP and UDP to each", network},
    {"host-loopback", "PORT a listener on the host's loopback", host_loopback},
    {"abstract-socket", "NAME a listener in the abstract namespace", abstract_socket},
    {"raw-socket", "raw IP and packet sockets", raw_socket},
    {"vsock", "AF_VSOCK: from a guest to its host", vsock},
    {"alg-socket", "AF_ALG: the kernel's cryptography", alg},
    {"odd-sockets", "KEY, XDP, TIPC, CAN, netfilter …", odd_sockets},
};

}  // namespace

const Family kNetwork = {kList, sizeof kList / sizeof kList[0]};

}  // namespace attack
