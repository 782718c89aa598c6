// MCP over Streamable HTTP: one POST, answered with JSON, or with a stream of events when there is progress to tell.
#pragma once
#include <memory>

#include "server/http/exchange.h"
#include "server/mcp/server.h"

namespace hotcell::server::mcp {

// POST /mcp. There are no sessions, so neither GET nor DELETE: the router answers those with 405.
void add_mcp(Router& router, std::shared_ptr<McpServer> server);

}  // namespace hotcell::server::mcp
