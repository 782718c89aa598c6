// Executions as resources: hotcell://executions/ID is its result, …/stdout and …/stderr its output.
#pragma once
#include <string>
#include <variant>

#include "server/http/exchange.h"
#include "server/mcp/protocol.h"
#include "server/mcp/services.h"

namespace hotcell::server::mcp {

using Members = std::variant<std::string, RpcError>;  // the members of a result, or why there is none

Members list_resources(const McpServices& services, const Caller& caller, const Message& message);
Members read_resource(const McpServices& services, const Caller& caller, const Message& message);
Members list_resource_templates(const McpServices& services);

}  // namespace hotcell::server::mcp
