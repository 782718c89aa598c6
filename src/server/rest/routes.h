// Every REST route in one list: what the router gets, and what the OpenAPI document is compared with.
#pragma once
#include <string>
#include <vector>

#include "server/http/exchange.h"
#include "server/rest/services.h"

namespace hotcell::server {

struct RestRoute {
  std::string method, pattern;
  Scope scope = Scope::kRead;
  Handler handler;
  BodyKind body = BodyKind::kWhole;
};
using RouteList = std::vector<RestRoute>;

RouteList rest_routes(Services& services);
void add_rest(Router& router, Services& services);   // `services` must outlive the router

// What PATCH /config has saved in an earlier life takes effect again. Before the first request.
Result<void> restore_config(Services& services);

// One file each.
void add_execute_routes(RouteList& routes, Services& services);
void add_sandbox_routes(RouteList& routes, Services& services);
void add_execution_routes(RouteList& routes, Services& services);
void add_event_routes(RouteList& routes, Services& services);
void add_verify_routes(RouteList& routes, Services& services);
void add_inspect_routes(RouteList& routes, Services& services);
void add_network_routes(RouteList& routes, Services& services);
void add_catalogue_routes(RouteList& routes, Services& services);
void add_audit_routes(RouteList& routes, Services& services);
void add_key_routes(RouteList& routes, Services& services);
void add_health_routes(RouteList& routes, Services& services);
void add_document_routes(RouteList& routes, Services& services);
void add_code_sandbox_routes(RouteList& routes, Services& services);
void add_estimate_routes(RouteList& routes);

}  // namespace hotcell::server
