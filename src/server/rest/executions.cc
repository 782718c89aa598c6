#include <array>

#include "base/json_write.h"
#include "base/strings.h"
#include "server/json/base64_decode.h"
#include "server/rest/errors.h"
#include "server/json/json_value.h"
#include "server/rest/query.h"
#include "server/rest/result_json.h"
#include "server/rest/routes.h"

namespace hotcell::server {

namespace {

constexpr std::array<std::string_view, 6> kStatuses = {"pending", "running", "completed", "failed", "timeout", "killed"};
constexpr std::array<std::string_view, 13> kReasons = {
    "exited",    "signal",        "timeout_wall",  "timeout_cpu", "memory", "output", "processes", "disk", "policy",
    "cancelled", "sandbox_error", "compile_error", "verification"};
constexpr std::array<std::string_view, 2> kStreams = {"stdout", "stderr"};
constexpr std::uint64_t kMaxNumber = 1ULL << 62;

Result<HistoryQuery> read_query(const HttpRequest& request) {
  HistoryQuery query;
  TRY_SET(query.status, query_choice(request, "status", kStatuses));
  TRY_SET(query.exit_reason, query_choice(request, "exit_reason", kReasons));
  TRY_SET(query.since, query_time(request, "since"));
  TRY_SET(query.until, query_time(request, "until"));
  TRY_SET(query.limit, query_number(request, "limit", 50, 1, 500));
  TRY_SET(query.before, query_number(request, "before", 0, 0, kMaxNumber));
  query.language = query_text(request, "language");
  query.door = query_text(request, "door");
  query.text = query_text(request, "q");
  query.client = request.caller.admin ? query_text(request, "client") : request.caller.name;
  return query;
}

void list(Services& services, ExchangePtr exchange) {
  auto query = read_query(exchange->request());
  if (!query.ok()) return exchange->respond(error_answer(query.error()));
  auto records = list_executions(services.executions, services.history, query.value());
  if (!records.ok()) return exchange->respond(error_answer(records.error()));
  JsonWriter w;
  w.begin_object();
  w.key("executions");
  w.begin_array();
  for (const auto& record : records.value()) {
    w.begin_object();
    write_record_fields(w, record);
    w.end_object();
  }
  w.end_array();
  w.key("next");
  if (records.value().size() == query.value().limit) w.value(records.value().back().number);
  else w.null();
  w.end_object();
  exchange->respond(json_answer(w.take()));
}

std::string_view or_else(std::string_view json, std::string_view otherwise) {
  json = trim(json);
  return json.empty() ? otherwise : json;
}

void show(Services& services, ExchangePtr exchange) {
  auto record = find_visible(services, exchange->request(), exchange->request().params.at(0));
  if (!record) return exchange->respond(no_such_execution());
  auto found = services.history.details(record->id);
  // Begun a moment ago: the row may not be there yet.
  const ExecutionDetails details = found.ok() ? std::move(found).value() : ExecutionDetails{};
  std::string body = record_json(*record);
  body.pop_back();
  body += cat(",\"request\":", or_else(details.request, "null"), ",\"result\":",
              record->ended_already() ? or_else(details.result, "null") : "null", ",\"usage\":",
              or_else(details.usage, "[]"), ",\"events\":", or_else(details.events, "[]"), "}");
  exchange->respond(json_answer(std::move(body)));
}

// The stream as the program wrote it, out of the result object.
Result<std::string> stream_bytes(const std::string& result, const std::string& stream) {
  TRY_SET(auto parsed, parse_json(result, JsonBounds{64, 10'000'000}));
  if (const JsonValue* text = parsed.find(stream); text != nullptr && text->string() != nullptr) return *text->string();
  const JsonValue* encoded = parsed.find(stream + "_base64");
  if (encoded == nullptr || encoded->string() == nullptr) return std::string();
  auto bytes = base64_decode(*encoded->string());
  if (!bytes) return make_error(ErrorCode::kInternal, "the stored output is damaged");
  return std::move(*bytes);
}

void output(Services& services, ExchangePtr exchange) {
  const HttpRequest& request = exchange->request();
  auto record = find_visible(services, request, request.params.at(0));
  if (!record) return exchange->respond(no_such_execution());
  auto stream = query_choice(request, "stream", kStreams);
  if (!stream.ok()) return exchange->respond(error_answer(stream.error()));
  if (!record->ended_already())
    return exchange->respond(error_response(409, "the execution has not ended: read its events", "running"));
  const std::string name = stream.value().empty() ? "stdout" : stream.value();
  auto bytes = stream_bytes(result_text(services, *record), name);
  if (!bytes.ok()) return exchange->respond(error_answer(bytes.error()));
  HttpResponse answer;
  answer.content_type = "text/plain; charset=utf-8";
  answer.body = std::move(bytes).value();
  // Bytes of a stranger on our own origin: never a page, never a script.
  answer.headers.emplace_back("Content-Security-Policy", "default-src 'none'; sandbox");
  answer.headers.emplace_back("Content-Disposition", cat("inline; filename=\"", name, ".txt\""));
  exchange->respond(std::move(answer));
}

}  // namespace

void add_execution_routes(RouteList& routes, Services& services) {
  auto add = [&](const char* path, void (*handler)(Services&, ExchangePtr)) {
    routes.push_back({"GET", path, Scope::kOwn, [&services, handler](ExchangePtr x) { handler(services, std::move(x)); }});
  };
  add("/api/v1/executions", list);
  add("/api/v1/executions/:id", show);
  add("/api/v1/executions/:id/output", output);
}

}  // namespace hotcell::server
