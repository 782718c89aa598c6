// run_code and run_command with a sandbox_id: the same tools, in a cell that lasts.
#pragma once
#include <string_view>
#include <utility>

#include "server/mcp/call.h"

namespace hotcell::server::mcp {

// The argument that names a sandbox, and the header that repeats it (Mcp-Param-Sandbox): what stands in front of several
// daemons routes by it and need not read the message.
inline constexpr std::pair<std::string_view, std::string_view> kSandboxHeader[] = {{"sandbox_id", "Sandbox"}};
#define HOTCELL_SANDBOX_ID(text) R"("sandbox_id":{"type":"string","description":")" text R"(","x-mcp-header":"Sandbox"})"

// An answer of the tool `of` names the one that was called.
void say_as(ToolResult& to, std::string_view of, std::string_view name);

bool wants_sandbox(const CallPtr& call);

void run_code_in_sandbox(const CallPtr& call);
void run_command_in_sandbox(const CallPtr& call);

}  // namespace hotcell::server::mcp
