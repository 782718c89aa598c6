// NW: the network at kernel level.
#include <arpa/inet.h>
#include <fcntl.h>
#include <linux/netlink.h>
#include <net/if.h>
#include <poll.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "escape/escape.h"

namespace hotcell::testing {
namespace {

int reach4(int type, const char* host, int port) {
  int fd = ::socket(AF_INET, type | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
  if (fd < 0) return errno;
  sockaddr_in to{};
  to.sin_family = AF_INET;
  to.sin_port = htons(static_cast<std::uint16_t>(port));
  ::inet_pton(AF_INET, host, &to.sin_addr);
  int r = ::connect(fd, reinterpret_cast<sockaddr*>(&to), sizeof to);
  int err = r < 0 ? errno : 0;
  if (err == EINPROGRESS) {
    pollfd p = {fd, POLLOUT, 0};
    socklen_t size = sizeof err;
    if (::poll(&p, 1, 300) == 1) ::getsockopt(fd, SOL_SOCKET, SO_ERROR, &err, &size);
  }
  if (err == 0 && type == SOCK_DGRAM) {
    // A datagram to nobody is answered by ICMP at once on loopback, and reported by the second send.
    if (::send(fd, "x", 1, 0) < 0 || (::usleep(20000), ::send(fd, "x", 1, 0)) < 0) err = errno;
  }
  ::close(fd);
  return err;
}
int reach6(const char* host, int port) {
  int fd = ::socket(AF_INET6, SOCK_STREAM | SOCK_CLOEXEC, 0);
  if (fd < 0) return errno;
  sockaddr_in6 to{};
  to.sin6_family = AF_INET6;
  to.sin6_port = htons(static_cast<std::uint16_t>(port));
  ::inet_pton(AF_INET6, host, &to.sin6_addr);
  int err = result_of(::connect(fd, reinterpret_cast<sockaddr*>(&to), sizeof to));
  ::close(fd);
  return err;
}
socklen_t unix_address(sockaddr_un& to, const std::string& name) {
  to = {};
  to.sun_family = AF_UNIX;
  std::memcpy(to.sun_path, name.data(), std::min(name.size(), sizeof to.sun_path));
  return static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + name.size());
}
int reach_unix(const std::string& name) {
  int fd = ::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_un to;
  socklen_t size = unix_address(to, name);
  return result_of(::connect(fd, reinterpret_cast<sockaddr*>(&to), size));
}
std::string abstract_name() { return std::string(1, '\0') + ::getenv("S_ABSTRACT"); }
int family(int domain, int type, int protocol) { return result_of(::socket(domain, type, protocol)); }

// clang-format off
const Area kNetwork({
    {"NW-01a", "TCP to the internet",
     [] { return reach4(SOCK_STREAM, "192.0.2.1", 80); },
     ENETUNREACH, {kDiffers, kDiffers}, {.structure = ENETUNREACH}},
    {"NW-01b", "UDP to the internet",
     [] { return reach4(SOCK_DGRAM, "192.0.2.1", 53); }, ENETUNREACH, {kDiffers, kDiffers}, {.structure = ENETUNREACH}},
    {"NW-02a", "a host service on 127.0.0.1",
     [] { return reach4(SOCK_STREAM, "127.0.0.1", scene_number("S_PORT")); },
     ECONNREFUSED, {}, {.structure = ECONNREFUSED}},
    {"NW-02b", "a host service on 0.0.0.0",
     [] { return reach4(SOCK_STREAM, "0.0.0.0", scene_number("S_PORT")); },
     ECONNREFUSED, {}, {.structure = ECONNREFUSED}},
    {"NW-02c", "a host service by a mapped address",
     [] { return reach6("::ffff:127.0.0.1", scene_number("S_PORT")); }, ECONNREFUSED, {}, {.structure = ECONNREFUSED}},
    {"NW-03", "cloud metadata",
     [] { return reach4(SOCK_STREAM, "169.254.169.254", 80); },
     ENETUNREACH, {kDiffers, kDiffers}, {.structure = ENETUNREACH}},
    {"NW-04", "a host service by UDP",
     [] { return reach4(SOCK_DGRAM, "127.0.0.1", scene_number("S_UDP")); },
     ECONNREFUSED, {}, {.structure = ECONNREFUSED}},
    {"NW-05a", "MPTCP",
     [] { return family(AF_INET, SOCK_STREAM, 262); },
     EPROTONOSUPPORT, {kDiffers, kDiffers}, {.seccomp = EPROTONOSUPPORT}},
    {"NW-05b", "SCTP",
     [] { return family(AF_INET, SOCK_STREAM, 132); }, EPERM, {kDiffers, kDiffers}, {.seccomp = EPERM}, "socket"},
    {"NW-06a", "raw sockets",
     [] { return family(AF_INET, SOCK_RAW, IPPROTO_ICMP); },
     EPERM, {kDiffers, EPERM}, {.seccomp = EPERM, .structure = EPERM}, "socket"},
    {"NW-06b", "packet sockets",
     [] { return family(AF_PACKET, SOCK_RAW, 0); },
     EPERM, {kDiffers, EPERM}, {.seccomp = EPERM, .structure = EPERM}, "socket"},
    {"NW-06c", "ICMP datagrams",
     [] { return family(AF_INET, SOCK_DGRAM, IPPROTO_ICMP); },
     EPERM, {kDiffers, kDiffers}, {.seccomp = EPERM}, "socket"},
    {"NW-06d", "XDP",
     [] { return family(AF_XDP, SOCK_RAW, 0); }, EPERM, {kDiffers, kAny}, {.seccomp = EPERM}, "socket"},
    {"NW-07", "a unix socket of the host by path",
     [] { return reach_unix(scene_path("sock")); }, ENOENT, {}, {.structure = ENOENT}},
    {"NW-08", "a datagram from a socketpair to a host path",
     [] {
       int pair[2];
       if (::socketpair(AF_UNIX, SOCK_DGRAM, 0, pair) != 0) return -3;
       sockaddr_un to;
       socklen_t size = unix_address(to, scene_path("sock"));
       return result_of(::sendto(pair[0], "x", 1, 0, reinterpret_cast<sockaddr*>(&to), size));
     },
     ENOENT, {kDiffers, kDiffers}, {.structure = ENOENT}},
    {"NW-09", "an abstract unix socket of the host",
     [] { return reach_unix(abstract_name()); }, ECONNREFUSED, {}, {.landlock = EPERM, .structure = ECONNREFUSED}},
    {"NW-10", "a socket in a shared folder, for somebody outside to connect to",
     [] {
       int fd = ::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
       sockaddr_un to;
       const std::string name = scene_path("rw/made");
       socklen_t size = unix_address(to, name);
       int err = result_of(::bind(fd, reinterpret_cast<sockaddr*>(&to), size));
       if (err == 0) err = result_of(::listen(fd, 1));
       if (err == 0) err = reach_unix(name);  // as anybody who sees the folder could
       ::unlink(name.c_str());
       ::close(fd);
       return err;
     },
     EACCES, {}, {.landlock = EACCES}},
    {"NW-11", "AF_VSOCK",
     [] { return family(AF_VSOCK, SOCK_STREAM, 0); }, EPERM, {kDiffers, kDiffers}, {.seccomp = EPERM}, "socket"},
    {"NW-12a", "AF_ALG",
     [] { return family(AF_ALG, SOCK_SEQPACKET, 0); }, EPERM, {kDiffers, kDiffers}, {.seccomp = EPERM}, "socket"},
    {"NW-12b", "AF_KEY",
     [] { return family(AF_KEY, SOCK_RAW, 2); }, EPERM, {kDiffers, kDiffers}, {.seccomp = EPERM}, "socket"},
    {"NW-12c", "AF_BLUETOOTH",
     [] { return family(AF_BLUETOOTH, SOCK_STREAM, 3); }, EPERM, {kDiffers, kDiffers}, {.seccomp = EPERM}, "socket"},
    {"NW-12d", "AF_TIPC",
     [] { return family(AF_TIPC, SOCK_STREAM, 0); }, EPERM, {kDiffers, kDiffers}, {.seccomp = EPERM}, "socket"},
    {"NW-12e", "AF_CAN",
     [] { return family(AF_CAN, SOCK_RAW, 1); }, EPERM, {kDiffers, kDiffers}, {.seccomp = EPERM}, "socket"},
    {"NW-12f", "an unknown family",
     [] { return family(45, SOCK_STREAM, 0); }, EPERM, {kDiffers, kDiffers}, {.seccomp = EPERM}, "socket"},
    {"NW-15", "a connected socket of the caller",
     [] {
       int type;
       socklen_t size = sizeof type;
       return result_of(::getsockopt(scene_number("S_FD"), SOL_SOCKET, SO_TYPE, &type, &size));
     },
     EBADF, {kDiffers, kDiffers}, {.structure = EBADF}},
    {"NW-16a", "netlink: audit",
     [] { return family(AF_NETLINK, SOCK_RAW, NETLINK_AUDIT); },
     EPERM, {kDiffers, kDiffers}, {.seccomp = EPERM}, "socket"},
    {"NW-16b", "netlink: netfilter",
     [] { return family(AF_NETLINK, SOCK_RAW, NETLINK_NETFILTER); },
     EPERM, {kDiffers, kDiffers}, {.seccomp = EPERM}, "socket"},
    {"NW-16c", "netlink: uevents",
     [] { return family(AF_NETLINK, SOCK_RAW, NETLINK_KOBJECT_UEVENT); },
     EPERM, {kDiffers, kDiffers}, {.seccomp = EPERM}, "socket"},
    {"NW-16d", "netlink: socket diagnosis",
     [] { return family(AF_NETLINK, SOCK_RAW, NETLINK_SOCK_DIAG); },
     EPERM, {kDiffers, kDiffers}, {.seccomp = EPERM}, "socket"},
    {"NW-16e", "netlink: routes, without a network",
     [] { return family(AF_NETLINK, SOCK_RAW, NETLINK_ROUTE); }, EAFNOSUPPORT, {}, {.seccomp = EAFNOSUPPORT}},
    {"NW-17", "network administration",
     [] {
       int fd = ::socket(AF_INET, SOCK_DGRAM, 0);
       ifreq request{};
       std::strcpy(request.ifr_name, "lo");
       request.ifr_mtu = 65536;
       return result_of(::ioctl(fd, SIOCSIFMTU, &request));
     },
     EPERM, {kDiffers, EPERM}, {.structure = EPERM}},
});
// clang-format on

// What a program may do on the network of its own: serve itself.
HOTCELL_PROGRAM(own_loopback) {
  int server = ::socket(AF_INET, SOCK_STREAM, 0);
  sockaddr_in at{};
  at.sin_family = AF_INET;
  at.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t size = sizeof at;
  if (::bind(server, reinterpret_cast<sockaddr*>(&at), size) != 0 || ::listen(server, 1) != 0) return 2;
  ::getsockname(server, reinterpret_cast<sockaddr*>(&at), &size);
  if (::fork() == 0) {
    int client = ::socket(AF_INET, SOCK_STREAM, 0);
    ::_exit(::connect(client, reinterpret_cast<sockaddr*>(&at), size) == 0 && ::write(client, "hello", 5) == 5 ? 0 : 3);
  }
  int peer = ::accept(server, nullptr, nullptr);
  char text[8] = {};
  ssize_t n = ::read(peer, text, sizeof text);
  return n == 5 && std::string_view(text, 5) == "hello" ? 0 : 4;
}

// The name is taken for as long as the cell lives; a second cell that could see it would fail to bind it.
HOTCELL_PROGRAM(take_abstract_name) {
  int fd = ::socket(AF_UNIX, SOCK_STREAM, 0);
  sockaddr_un at;
  socklen_t size = unix_address(at, std::string(1, '\0') + "hc-shared");
  if (::bind(fd, reinterpret_cast<sockaddr*>(&at), size) != 0 || ::listen(fd, 1) != 0) return 2;
  if (reach_unix(std::string(1, '\0') + "hc-shared") != 0) return 3;
  char byte;
  ::dprintf(1, "bound\n");
  return ::read(0, &byte, 1) == 0 ? 0 : 4;
}

HOTCELL_PROGRAM(list_interfaces) {
  if (struct if_nameindex* list = ::if_nameindex()) {
    for (auto* i = list; i->if_index != 0; ++i) ::dprintf(1, "%s\n", i->if_name);
    return 0;
  }
  std::string text = read_text("/proc/net/dev");
  return ::write(1, text.data(), text.size()) >= 0 ? 0 : 1;
}

// A socket that is told to listen without having been bound gets a port of the kernel's choice.
int listen_unbound() {
  int fd = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  if (fd < 0 || ::listen(fd, 1) != 0) return errno;
  sockaddr_in at{};
  socklen_t size = sizeof at;
  ::getsockname(fd, reinterpret_cast<sockaddr*>(&at), &size);
  ::close(fd);
  return at.sin_port != 0 ? kOpen : -1;
}
HOTCELL_PROGRAM(listen_unbound) {
  ::dprintf(1, "answer %d\n", listen_unbound());
  return 0;
}

class NetworkTest : public LeakCheck {};

TEST_F(NetworkTest, OnTheHostsNetworkNothingListensUnlessTheProfileAllowsIt) {
  EXPECT_EQ(in_child({}, listen_unbound), kOpen) << "outside it gets a port";
  Policy policy = test_policy();
  policy.network.mode = NetworkMode::kHost;
  Report r = run(policy, program("listen_unbound"));
  EXPECT_EQ(r.out, "answer 1\n") << describe(r);
  EXPECT_TRUE(has_denial(r, "listen")) << describe(r);
  ASSERT_FALSE(r.denials.empty());
  EXPECT_EQ(r.denials[0].fix, "syscalls: {allow: [listen]}");
  policy.syscalls.allow = {"listen"};
  EXPECT_EQ(run(policy, program("listen_unbound")).out, "answer 0\n");
  // Connecting is what that network is for.
  EXPECT_EQ(run(test_policy(), program("listen_unbound")).out, "answer 0\n") << "its own network is its own";
}

TEST_F(NetworkTest, LoopbackWorksBetweenProcessesOfOneCell) {
  Report r = run(program("own_loopback"));
  EXPECT_EQ(r.verdict.exit_code, 0) << describe(r);
}

TEST_F(NetworkTest, OnlyLoopbackIsThere) {
  Report r = run(program("list_interfaces"));
  EXPECT_EQ(r.verdict.exit_code, 0) << describe(r);
  EXPECT_NE(r.out.find("lo"), std::string::npos) << describe(r);
  for (const auto& name : matches("/sys/class/net/*")) {
    std::string device = name.substr(name.rfind('/') + 1);
    if (device == "lo") continue;
    EXPECT_EQ(r.out.find(device), std::string::npos) << "the host's interface is visible";
  }
}

TEST_F(NetworkTest, TwoCellsDoNotShareAbstractNames) {
  int hold[2];
  ASSERT_EQ(::pipe2(hold, O_CLOEXEC), 0);
  int ended = 0, bound = 0;
  for (int i = 0; i < 2; ++i) {
    Request request = program("take_abstract_name");
    request.stdin_source = StdinFd{hold[0]};
    request.on_output = [&](Stream, std::string_view) { ++bound; };
    auto started = launcher().start(test_policy(), std::move(request), [&](RunId, Result<Report> r) {
      ++ended;
      ASSERT_TRUE(r.ok());
      EXPECT_EQ(r.value().verdict.exit_code, 0) << describe(r.value());
    });
    ASSERT_TRUE(started.ok());
  }
  // Both hold the name at the same time, and only then are they let go.
  for (int i = 0; i < 1000 && bound < 2 && ended == 0; ++i)
    ASSERT_TRUE(launcher().step(std::chrono::milliseconds(10)).ok());
  EXPECT_EQ(bound, 2);
  ::close(hold[1]);
  while (ended < 2) ASSERT_TRUE(launcher().step(std::chrono::milliseconds(100)).ok());
  ::close(hold[0]);
}

TEST_F(NetworkTest, StrictHasNoInternetSockets) {
  Policy policy = strict_policy();
  policy.filesystem.grants.push_back({self_path(), Access::kRead, ""});
  policy.limits.open_files = 64;
  Report r = run(policy, program("own_loopback"));
  EXPECT_EQ(r.verdict.exit_code, 2) << describe(r);
  EXPECT_TRUE(has_denial(r, "socket")) << describe(r);
}

// A door belongs to one cell, also where cells are stamped out and wait: what one says is heard at its own door alone.
TEST_F(NetworkTest, EveryStampedCellHasADoorOfItsOwn) {
  Policy policy = default_policy();
  Request request;
  request.argv = {"/bin/bash", "-c", "exec 3<>/dev/tcp/127.0.0.1/3128 && echo \"$WHO\" >&3 && echo said"};
  request.env["WHO"] = "nobody";
  Report control = run_stamped(policy, request);
  EXPECT_EQ(control.out, "") << "without the mode there is no door: " << describe(control);
  policy.network.mode = NetworkMode::kProxy;
  std::string heard[2];
  int doors[2] = {-1, -1};
  for (int i = 0; i < 2; ++i) {
    request.env["WHO"] = i == 0 ? "first" : "second";
    request.on_network = [&, i](int door, int dns) {
      doors[i] = door;
      ::close(dns);
    };
    Report r = run_stamped(policy, request);
    EXPECT_EQ(r.out, "said\n") << describe(r);
  }
  for (int i = 0; i < 2; ++i) {
    char text[64];
    for (int one; (one = ::accept4(doors[i], nullptr, nullptr, SOCK_CLOEXEC)) >= 0;) {
      if (ssize_t n = ::recv(one, text, sizeof text, 0); n > 0) heard[i].append(text, static_cast<std::size_t>(n));
      ::close(one);
    }
    ::close(doors[i]);
  }
  EXPECT_EQ(heard[0], "first\n");
  EXPECT_EQ(heard[1], "second\n");
}

}  // namespace
}  // namespace hotcell::testing
