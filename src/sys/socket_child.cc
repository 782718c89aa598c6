#include "sys/socket_child.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>

#include "sys/file.h"
#include "sys/spawn.h"

namespace hotcell::sys {
Result<SocketChild> start_socket_child(const std::string& program, std::vector<std::string> argv, int type) {
  int pair[2];
  if (::socketpair(AF_UNIX, type | SOCK_CLOEXEC, 0, pair) < 0) return errno_error("socketpair", errno);
  Fd ours(pair[0]), theirs(pair[1]);
  TRY_SET(Fd null, open("/dev/null", O_RDWR));
  Spawn what;
  what.program = program;
  what.argv = std::move(argv);
  what.fds = {theirs.get(), null.get(), null.get()};
  what.die_with_us = false;  // its owner may be any thread; it ends when its socket is closed
  TRY_SET(Child child, spawn(what));
  return SocketChild{std::move(ours), std::move(child)};
}

int end_socket_child(SocketChild& child, int grace_ms) {
  pollfd p{child.child.pidfd.get(), POLLIN, 0};
  if (::poll(&p, 1, grace_ms) <= 0) signal_pidfd(child.child.pidfd.get(), SIGKILL).ignore("it may be gone already");
  auto reaped = reap(child.child.pid, true);
  int status = reaped.ok() && reaped.value() ? reaped.value()->status : 0;
  child = {};
  return status;
}

}  // namespace hotcell::sys
