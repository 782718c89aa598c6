// Executions as one caller may see them: its own, or all when it may administer.
#pragma once
#include <optional>
#include <string_view>
#include <vector>

#include "server/http/exchange.h"
#include "server/json/json_value.h"
#include "server/mcp/services.h"

namespace hotcell::server::mcp {

std::optional<ExecutionRecord> visible_execution(const McpServices& services, const Caller& caller,
                                                 std::string_view id);

struct ExecutionPage {
  std::vector<ExecutionRecord> records;  // newest first
  std::uint64_t next = 0;                // `before` of the next page; 0: this was the last
};
Result<ExecutionPage> visible_executions(const McpServices& services, const Caller& caller, HistoryQuery query);

// The result object of what has ended.
Result<JsonValue> execution_result(const McpServices& services, std::string_view id);

}  // namespace hotcell::server::mcp
