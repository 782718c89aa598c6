// A helper program with one socket as its descriptor 0 and nothing else of ours: no environment, no other descriptors.
#pragma once
#include <sys/socket.h>

#include <string>
#include <vector>

#include "sys/process.h"

namespace hotcell::sys {

struct SocketChild {
  Fd socket;
  Child child;
};

// Costs the same however large this process is: nothing of it is copied. argv[0] is a name, `program` the file.
Result<SocketChild> start_socket_child(const std::string& program, std::vector<std::string> argv, int type = SOCK_STREAM);

// Kills it unless it ends by itself within the grace, and reaps it: by its own pid, so that nobody else's children are
// touched. Its status as of wait(2), 0 when somebody else has taken it.
int end_socket_child(SocketChild& child, int grace_ms);

}  // namespace hotcell::sys
