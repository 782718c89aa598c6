#include "base/strings.h"
#include "net/journal.h"
#include "server/http/door_words.h"
#include "server/json/json_value.h"
#include "server/rest/errors.h"
#include "server/rest/query.h"
#include "server/rest/routes.h"

namespace hotcell::server {

namespace {

void check(Services& services, ExchangePtr exchange) {
  const std::string host = query_text(exchange->request(), "host");
  if (host.empty()) return exchange->respond(error_response(400, "host is required: NAME, NAME:PORT or an address", "invalid"));
  if (!services.network.rules) return exchange->respond(error_response(422, "programs have no proxy here", "unsupported"));
  net::Decision decision = net::check_text(*services.network.rules, host);
  decision.how = door_words(decision.how, Hosts::kOfConfiguration);
  exchange->respond(json_answer(net::decision_json(host, decision)));
}

Result<std::string> log_page(Services& services, const HttpRequest& request) {
  TRY_SET(auto limit, query_number(request, "limit", 100, 1, 5000));
  TRY_SET(auto entries, net::read_journal(services.network.journal_folder));
  std::string out = "{\"entries\":[";
  std::size_t left = limit;
  // Newest first, each with its execution before what the proxy says of it.
  for (auto it = entries.rbegin(); it != entries.rend() && left > 0; ++it, --left) {
    it->entry.how = door_words(it->entry.how);
    out += cat(left == limit ? "" : ",", "{\"execution\":", json_string(it->run), ",", net::log_json(it->entry).substr(1));
  }
  return out + "]}";
}

void log(Services& services, ExchangePtr exchange) {
  auto page = log_page(services, exchange->request());
  exchange->respond(page.ok() ? json_answer(std::move(page).value()) : error_answer(page.error()));
}

void stats(Services& services, ExchangePtr exchange) {
  auto entries = net::read_journal(services.network.journal_folder);
  exchange->respond(entries.ok() ? json_answer(net::stats_json(net::sum_of(entries.value()))) : error_answer(entries.error()));
}

}  // namespace

void add_network_routes(RouteList& routes, Services& services) {
  routes.push_back({"GET", "/api/v1/network/check", Scope::kRead, [&services](ExchangePtr x) { check(services, std::move(x)); }});
  // Everybody's doings are in there.
  routes.push_back({"GET", "/api/v1/network/log", Scope::kAdmin, [&services](ExchangePtr x) { log(services, std::move(x)); }});
  routes.push_back({"GET", "/api/v1/network/stats", Scope::kAdmin, [&services](ExchangePtr x) { stats(services, std::move(x)); }});
}

}  // namespace hotcell::server
