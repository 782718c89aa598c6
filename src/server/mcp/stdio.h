// MCP over standard input and output: one message a line. Whoever started us closes our input when it is done.
#pragma once
#include <cstddef>
#include <functional>
#include <memory>

#include "server/mcp/server.h"

namespace boost::asio {
class io_context;
}

namespace hotcell::server::mcp {

struct StdioOptions {
  int in = 0, out = 1;                      // stay the caller's
  std::size_t max_message = 16u << 20;      // a longer line is refused and skipped
  std::size_t max_waiting = 64u << 20;      // of answers that nobody reads; past it the peer is given up
};

class StdioDoor {
 public:
  // `ended` is called once, on the loop: the input has ended, or nobody reads the output. Everything that was under way
  // has been cancelled then, and what could be written is written.
  static Result<std::unique_ptr<StdioDoor>> open(boost::asio::io_context& loop, McpServer& server, StdioOptions options,
                                                 std::function<void()> ended);
  virtual ~StdioDoor() = default;
};

}  // namespace hotcell::server::mcp
