#include "sys/socket.h"

#include <sys/socket.h>

#include <cerrno>
#include <cstring>

#include "sys/fault.h"

namespace hotcell::sys {

Result<SocketPair> stream_pair() {
  if (int e = fault("socketpair")) return errno_error("socketpair", e);
  int ends[2];
  if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) < 0) return errno_error("socketpair", errno);
  return SocketPair{Fd(ends[0]), Fd(ends[1])};
}

Result<SocketPair> seqpacket_pair() {
  if (int e = fault("socketpair")) return errno_error("socketpair", e);
  int ends[2];
  if (::socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) < 0) return errno_error("socketpair", errno);
  SocketPair pair{Fd(ends[0]), Fd(ends[1])};
  int on = 1;
  if (::setsockopt(ends[0], SOL_SOCKET, SO_PASSCRED, &on, sizeof on) < 0) return errno_error("SO_PASSCRED", errno);
  return pair;
}

Result<Message> receive(int fd, std::span<char> buffer, int flags) {
  iovec iov{buffer.data(), buffer.size()};
  alignas(cmsghdr) char control[CMSG_SPACE(sizeof(ucred)) + CMSG_SPACE(sizeof(int) * 8)];
  msghdr msg{};
  msg.msg_iov = &iov;
  msg.msg_iovlen = 1;
  msg.msg_control = control;
  msg.msg_controllen = sizeof control;
  // A peer that went with something of ours unread is reported once, before what it had said itself.
  ssize_t n;
  int resets = 0;
  do n = ::recvmsg(fd, &msg, flags | MSG_CMSG_CLOEXEC);
  while (n < 0 && (errno == EINTR || (errno == ECONNRESET && resets++ == 0)));
  Message out;
  if (n < 0 && (errno == EAGAIN || errno == EWOULDBLOCK)) {
    out.again = true;
    return out;
  }
  if (n < 0 && errno == ECONNRESET) n = 0;
  if (n < 0) return errno_error("recvmsg", errno);
  out.size = static_cast<std::size_t>(n);
  out.truncated = (msg.msg_flags & (MSG_TRUNC | MSG_CTRUNC)) != 0;
  for (cmsghdr* c = CMSG_FIRSTHDR(&msg); c != nullptr; c = CMSG_NXTHDR(&msg, c)) {
    if (c->cmsg_level != SOL_SOCKET) continue;
    if (c->cmsg_type == SCM_RIGHTS) {
      std::size_t count = (c->cmsg_len - CMSG_LEN(0)) / sizeof(int);
      for (std::size_t i = 0; i < count; ++i) {
        int got;
        std::memcpy(&got, CMSG_DATA(c) + i * sizeof(int), sizeof got);
        out.fds.emplace_back(got);
      }
    } else if (c->cmsg_type == SCM_CREDENTIALS) {
      ucred who;
      std::memcpy(&who, CMSG_DATA(c), sizeof who);
      out.pid = who.pid;
    }
  }
  return out;
}

Result<void> send(int fd, std::string_view bytes, std::span<const int> fds, int flags) {
  if (int e = fault("sendmsg")) return errno_error("sendmsg", e);
  iovec iov{const_cast<char*>(bytes.data()), bytes.size()};
  alignas(cmsghdr) char control[CMSG_SPACE(sizeof(int) * 32)] = {};
  msghdr msg{};
  msg.msg_iov = &iov;
  msg.msg_iovlen = 1;
  if (!fds.empty()) {
    if (fds.size() > 32) return make_error(ErrorCode::kInternal, "sendmsg: too many descriptors");
    msg.msg_control = control;
    msg.msg_controllen = CMSG_SPACE(sizeof(int) * fds.size());
    cmsghdr* c = CMSG_FIRSTHDR(&msg);
    c->cmsg_level = SOL_SOCKET;
    c->cmsg_type = SCM_RIGHTS;
    c->cmsg_len = CMSG_LEN(sizeof(int) * fds.size());
    std::memcpy(CMSG_DATA(c), fds.data(), sizeof(int) * fds.size());
  }
  ssize_t n;
  do n = ::sendmsg(fd, &msg, MSG_NOSIGNAL | flags);
  while (n < 0 && errno == EINTR);
  if (n < 0) return errno_error("sendmsg", errno);
  return {};
}

Result<void> listen(int fd) {
  constexpr int kBacklog = 1024;
  if (int e = fault("listen")) return errno_error("listen", e);
  if (::listen(fd, kBacklog) < 0) return errno_error("listen", errno);
  return {};
}

}  // namespace hotcell::sys
