// Sequenced-packet pairs between launcher and cell, with descriptors alongside; sockets that others connect to.
#pragma once
#include <span>
#include <string_view>
#include <vector>

#include "sys/fd.h"

namespace hotcell::sys {

struct SocketPair {
  Fd ours, theirs;
};
// Bytes, for what stands in for a pipe that nobody else of the same user may open by its name below /proc: a socket has none.
Result<SocketPair> stream_pair();
Result<SocketPair> seqpacket_pair();  // `ours` asks for the sender's credentials with each message

struct Message {
  std::size_t size = 0;       // 0: the peer has closed
  bool again = false;         // nothing there yet (non-blocking)
  bool truncated = false;
  int pid = 0;                // the sender's, in our pid namespace
  std::vector<Fd> fds;
};
Result<Message> receive(int fd, std::span<char> buffer, int flags);
Result<void> send(int fd, std::string_view bytes, std::span<const int> fds = {}, int flags = 0);

Result<void> listen(int fd);  // with room for a crowd that comes at once

}  // namespace hotcell::sys
