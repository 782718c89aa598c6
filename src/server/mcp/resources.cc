#include "server/mcp/resources.h"

#include "base/json_write.h"
#include "base/strings.h"
#include "server/mcp/executions_view.h"
#include "server/mcp/fixtures.h"
#include "server/mcp/outcome.h"

namespace hotcell::server::mcp {

namespace {

constexpr std::string_view kPrefix = "hotcell://executions/";
constexpr std::size_t kMostResource = 4u << 20, kPage = 50;

RpcError not_found(const Message& message, std::string_view uri) {
  return {message.era == Era::kModern ? kInvalidParams : kResourceNotFound,
          cat("there is no resource '", printable(uri.substr(0, 100)), "'"),
          cat("{\"uri\":", json_string(uri.substr(0, 1000)), "}")};
}

std::string contents(std::string_view uri, std::string_view type, std::string_view bytes) {
  bool text = is_valid_utf8(bytes);
  return cat("\"contents\":[{\"uri\":", json_string(uri), ",\"mimeType\":\"",
             text ? type : std::string_view("application/octet-stream"), text ? "\",\"text\":" : "\",\"blob\":",
             text ? json_string(bytes) : json_string(base64(bytes)), "}]");
}

}  // namespace

Members list_resources(const McpServices& services, const Caller& caller, const Message& message) {
  HistoryQuery query;
  query.limit = kPage;
  if (const JsonValue* cursor = message.params.find("cursor"); cursor != nullptr && !cursor->is_null()) {
    auto before = cursor->string() == nullptr ? std::nullopt : parse_u64(*cursor->string());
    if (!before || *before == 0) return RpcError{kInvalidParams, "this is not a cursor of ours", {}};
    query.before = *before;
  }
  ExecutionPage page;
  if (caller.read) {
    auto found = visible_executions(services, caller, query);
    if (!found.ok()) return RpcError{kInternalError, found.error().message, {}};
    page = std::move(found).value();
  }
  std::string out =
      cat("\"resources\":[", services.conformance_fixtures && query.before == 0 ? fixture_resources() : "");
  for (const auto& r : page.records) {
    if (!out.ends_with('[')) out += ',';
    out += cat("{\"uri\":", json_string(cat(kPrefix, r.id)), ",\"name\":", json_string(r.id),
               ",\"title\":", json_string(printable(r.command.substr(0, 100))),
               ",\"description\":", json_string(cat("execution, ", to_string(r.status), r.language.empty() ? "" : ", ", r.language)),
               ",\"mimeType\":\"application/json\"}");
  }
  out += ']';
  if (page.next != 0) out += cat(",\"nextCursor\":\"", page.next, "\"");
  return out;
}

Members list_resource_templates(const McpServices& services) {
  std::string out = cat("\"resourceTemplates\":[{\"uriTemplate\":\"", kPrefix, "{id}\",\"name\":\"execution\",",
                        "\"description\":\"The result of an execution.\",\"mimeType\":\"application/json\"},",
                        "{\"uriTemplate\":\"", kPrefix, "{id}/{stream}\",\"name\":\"output\",",
                        "\"description\":\"What an execution wrote to stdout or stderr.\"}");
  if (services.conformance_fixtures) out += cat(",", fixture_templates());
  return out + "]";
}

Members read_resource(const McpServices& services, const Caller& caller, const Message& message) {
  const JsonValue* uri = message.params.find("uri");
  if (uri == nullptr || uri->string() == nullptr)
    return RpcError{kInvalidParams, "params.uri is missing or no string", {}};
  std::string_view whole = *uri->string(), rest = whole;
  if (services.conformance_fixtures)
    if (auto fixture = fixture_contents(whole)) return *fixture;
  if (!caller.read || !rest.starts_with(kPrefix)) return not_found(message, whole);
  rest.remove_prefix(kPrefix.size());
  std::string_view id = rest.substr(0, rest.find('/'));
  std::string_view stream = id.size() == rest.size() ? std::string_view() : rest.substr(id.size() + 1);
  if (!stream.empty() && stream != "stdout" && stream != "stderr") return not_found(message, whole);
  auto record = visible_execution(services, caller, id);
  if (!record) return not_found(message, whole);
  auto result = record->ended_already() ? execution_result(services, id)
                                        : Result<JsonValue>(make_error(ErrorCode::kNotFound, "it has not ended"));
  if (stream.empty()) {
    std::string text = result.ok() ? json_text(result.value()) : record_object(*record);
    // Half a JSON text is none.
    if (text.size() > kMostResource) text = run_outcome(result.value(), {}).structured;
    return contents(whole, "application/json", text);
  }
  std::string bytes = result.ok() ? stream_bytes(result.value(), stream) : std::string();
  OutputWindow window;
  window.bytes = kMostResource;
  return contents(whole, "text/plain", window_of(bytes, window));
}

}  // namespace hotcell::server::mcp
