// What a command will probably need: a guess by its name, for whoever must choose limits. Decides nothing, starts nothing.
#include "cells/monitor/needs.h"
#include "server/rest/errors.h"
#include "server/rest/query.h"
#include "server/rest/routes.h"

namespace hotcell::server {

void add_estimate_routes(RouteList& routes) {
  routes.push_back({"GET", "/api/v1/estimate", Scope::kRead, [](ExchangePtr exchange) {
    const std::string command = query_text(exchange->request(), "command");
    if (command.empty()) return exchange->respond(error_response(400, "command is required: a line as a shell has it", "invalid"));
    exchange->respond(json_answer(cells::needs_json(cells::estimate_needs(command))));
  }});
}

}  // namespace hotcell::server
