// hotcell-front: every door of the daemon in one process that starts nothing and may touch nothing but its state folder.
#pragma once
#include <string>
#include <vector>

#include "hotcell/result.h"

namespace hotcell::server {

struct FrontArguments {
  bool bound = false;         // the supervisor has its sockets already; otherwise it binds what its configuration says
  bool stdio = false;         // MCP on 0 and 1 instead of HTTP
  bool fixtures = false;
  bool proxy = false;         // the launcher has a proxy to start for programs that may use the network
  std::vector<std::string> proxy_words;   // what that may reach at most (net/door/order.h)
  std::string home;           // whose profiles it may use; empty: the system's alone
};

// Until the supervisor says so, or its end of the control socket is gone. The exit code.
Result<int> run_front(const FrontArguments& arguments);

}  // namespace hotcell::server
