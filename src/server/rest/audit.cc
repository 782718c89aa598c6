#include "base/json_write.h"
#include "base/strings.h"
#include "server/rest/errors.h"
#include "server/rest/query.h"
#include "server/rest/routes.h"

namespace hotcell::server {

namespace {

Result<std::string> page_json(Services& services, const HttpRequest& request) {
  TRY_SET(auto limit, query_number(request, "limit", 50, 1, 500));
  TRY_SET(auto before, query_number(request, "before", 0, 0, 1ULL << 62));
  TRY_SET(auto page, services.audit.page(limit, before));
  std::string out = "{\"entries\":[";
  for (std::size_t i = 0; i < page.entries.size(); ++i) out += cat(i == 0 ? "" : ",", trim(page.entries[i]));
  return out + cat("],\"next\":", page.next ? std::to_string(*page.next) : "null", "}");
}

void list(Services& services, ExchangePtr exchange) {
  auto page = page_json(services, exchange->request());
  exchange->respond(page.ok() ? json_answer(std::move(page).value()) : error_answer(page.error()));
}

void check(Services& services, ExchangePtr exchange) {
  services.audit.check([exchange](Result<AuditCheck> checked) {
    if (!checked.ok()) return exchange->respond(error_answer(checked.error()));
    JsonWriter w;
    w.begin_object();
    w.field("ok", checked.value().ok);
    w.field("entries", checked.value().entries);
    w.key("first_bad");
    if (checked.value().first_bad > 0) w.value(checked.value().first_bad);
    else w.null();
    w.field("why", checked.value().why);
    w.end_object();
    exchange->respond(json_answer(w.take()));
  });
}

}  // namespace

void add_audit_routes(RouteList& routes, Services& services) {
  // Everybody's doings are in there, so it is not for everybody.
  routes.push_back({"GET", "/api/v1/audit", Scope::kAdmin, [&services](ExchangePtr x) { list(services, std::move(x)); }});
  routes.push_back({"GET", "/api/v1/audit/verify", Scope::kAdmin, [&services](ExchangePtr x) { check(services, std::move(x)); }});
}

}  // namespace hotcell::server
