#include "server/mcp/executions_view.h"

#include "server/mcp/outcome.h"

namespace hotcell::server::mcp {

std::optional<ExecutionRecord> visible_execution(const McpServices& services, const Caller& caller,
                                                 std::string_view id) {
  auto record = services.executions.find(id);
  // One that belongs to somebody else is as unknown as one that never was.
  if (record && !caller.admin && record->client != caller.name) return std::nullopt;
  return record;
}

Result<ExecutionPage> visible_executions(const McpServices& services, const Caller& caller, HistoryQuery query) {
  if (!caller.admin) query.client = caller.name;
  std::size_t limit = query.limit++;  // one more tells whether there is a next page
  ExecutionPage page;
  TRY_SET(page.records, list_executions(services.executions, services.history, query));
  if (page.records.size() > limit) {
    page.records.resize(limit);
    page.next = page.records.back().number;
  }
  return page;
}

Result<JsonValue> execution_result(const McpServices& services, std::string_view id) {
  TRY_SET(ExecutionDetails details, services.history.details(id));
  if (details.result.empty()) return make_error(ErrorCode::kNotFound, "its result is no longer kept");
  return parse_json(details.result, kResultBounds);
}

}  // namespace hotcell::server::mcp
