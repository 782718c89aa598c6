#include "base/json_write.h"
#include "base/strings.h"
#include "server/rest/errors.h"
#include "server/rest/result_json.h"
#include "server/rest/routes.h"

namespace hotcell::server {

namespace {

// Alive: this process answers. Whether it can do anything is /ready.
void health(ExchangePtr exchange) { exchange->respond(json_answer(R"({"status":"ok"})")); }

void ready(Services& services, ExchangePtr exchange) {
  const auto now = services.executions.stats();
  const bool can = now.launcher_up && !now.draining;
  JsonWriter w;
  w.begin_object();
  w.field("status", can ? "ready" : now.draining ? "draining" : "starting");
  w.field("launcher_up", now.launcher_up);
  w.field("draining", now.draining);
  w.end_object();
  auto answer = json_answer(w.take(), can ? 200 : 503);
  if (!can) answer.headers.emplace_back("Retry-After", "1");
  exchange->respond(std::move(answer));
}

void version(ExchangePtr exchange) {
  exchange->respond(json_answer(cat(R"({"name":"hotcell","version":")", HOTCELL_VERSION, R"(","api":"v1"})")));
}

void metrics(Services& services, ExchangePtr exchange) {
  HttpResponse answer;
  answer.content_type = "text/plain; version=0.0.4; charset=utf-8";
  answer.body = services.metrics.text(services.executions.stats());
  exchange->respond(std::move(answer));
}

}  // namespace

void add_health_routes(RouteList& routes, Services& services) {
  routes.push_back({"GET", "/health", Scope::kNone, health});
  routes.push_back({"GET", "/ready", Scope::kNone, [&services](ExchangePtr x) { ready(services, std::move(x)); }});
  routes.push_back({"GET", "/version", Scope::kNone, version});
  routes.push_back({"GET", "/metrics", Scope::kRead, [&services](ExchangePtr x) { metrics(services, std::move(x)); }});
  routes.push_back({"GET", "/api/v1/stats", Scope::kRead,
                    [&services](ExchangePtr x) { x->respond(json_answer(stats_json(services))); }});
}

}  // namespace hotcell::server
