#include "base/json_write.h"
#include "base/strings.h"
#include "server/rest/errors.h"
#include "server/rest/execute_spec.h"
#include "server/rest/query.h"
#include "server/rest/result_json.h"
#include "server/rest/routes.h"
#include "server/rest/update_stream.h"

namespace hotcell::server {

namespace {

Result<std::string> idempotency_key(const HttpRequest& request) {
  auto said = request.header("idempotency-key");
  if (!said) return std::string();
  bool fits = !said->empty() && said->size() <= 200;
  for (char c : *said) fits = fits && c >= 0x20 && c < 0x7f;
  if (!fits) return make_error(ErrorCode::kInvalid, "Idempotency-Key must be 1 to 200 printable ASCII characters");
  return std::string(*said);
}

struct Asked {
  JobSpec spec;
  bool wait = true;
};

Result<Asked> read_request(const HttpRequest& request) {
  Asked asked;
  TRY_SET(asked.wait, query_bool(request, "wait", true));
  TRY_SET(auto body, parse_body(request.body));
  TRY_SET(asked.spec, job_spec_from_json(body));
  asked.spec.door = "rest";
  asked.spec.client = request.caller.name;
  asked.spec.max_running = request.caller.max_running;
  TRY_SET(asked.spec.idempotency_key, idempotency_key(request));
  asked.spec.trace_parent = trace_parent(request);
  return asked;
}

HttpResponse accepted(Services& services, const Executions::Submitted& submitted) {
  auto record = submitted.existing ? services.executions.find(submitted.id) : std::nullopt;
  JsonWriter w;
  w.begin_object();
  w.field("id", submitted.id);
  w.field("status", to_string(record ? record->status : RunStatus::kPending));
  w.end_object();
  return json_answer(w.take(), 202);
}

void execute(Services& services, ExchangePtr exchange) {
  const HttpRequest& request = exchange->request();
  auto asked = read_request(request);
  if (!asked.ok()) return exchange->respond(error_answer(asked.error()));
  const bool named = !asked.value().spec.idempotency_key.empty();
  // Whoever is told the id before it has ended must find it again, whatever happens to us.
  asked.value().spec.recorded_first = named || !asked.value().wait || stream_format(request).has_value();
  auto submitted = services.executions.submit(std::move(asked.value().spec));
  if (!submitted.ok()) return exchange->respond(submit_error(submitted.error(), services.executions.stats()));
  const std::string& id = submitted.value().id;
  const std::string location = cat("/api/v1/executions/", id);
  if (!asked.value().wait) {
    auto answer = accepted(services, submitted.value());
    answer.headers.emplace_back("Location", location);
    return exchange->respond(std::move(answer));
  }
  // Nobody would ever see what comes of it, unless they have a name to ask for it again.
  const WhenClosed closed = named ? WhenClosed::kGoOn : WhenClosed::kKill;
  if (auto format = stream_format(request)) return stream_updates(services, exchange, id, 0, *format, closed);
  answer_at_end(services, exchange, id, closed, [location](const ExecutionRecord&, const std::string& result) {
    auto answer = json_answer(result);
    answer.headers.emplace_back("Content-Location", location);
    return answer;
  });
}

}  // namespace

void add_execute_routes(RouteList& routes, Services& services) {
  routes.push_back({"POST", "/api/v1/sandbox/execute", Scope::kRun,
                    [&services](ExchangePtr x) { execute(services, std::move(x)); }});
}

}  // namespace hotcell::server
