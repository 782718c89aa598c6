#include "server/rest/routes.h"

#include "server/rest/cells.h"
#include "server/rest/query_names.h"

namespace hotcell::server {

RouteList rest_routes(Services& services) {
  RouteList routes;
  add_execute_routes(routes, services);
  add_sandbox_routes(routes, services);
  add_execution_routes(routes, services);
  add_event_routes(routes, services);
  add_verify_routes(routes, services);
  add_inspect_routes(routes, services);
  add_network_routes(routes, services);
  add_catalogue_routes(routes, services);
  add_audit_routes(routes, services);
  add_key_routes(routes, services);
  add_health_routes(routes, services);
  add_document_routes(routes, services);
  add_code_sandbox_routes(routes, services);
  add_estimate_routes(routes);
  add_cell_routes(routes, services);
  add_cell_clean_routes(routes, services);
  add_cell_exec_routes(routes, services);
  add_cell_file_routes(routes, services);
  add_cell_change_routes(routes, services);
  add_cell_monitor_routes(routes, services);
  add_cell_context_routes(routes, services);
  add_cell_question_routes(routes, services);
  add_cell_shell_routes(routes, services);
  add_cell_terminal_routes(routes, services);
  return routes;
}

void add_rest(Router& router, Services& services) {
  for (auto& route : rest_routes(services)) {
    auto checked = with_known_query(route.method, route.pattern, std::move(route.handler));
    auto handler = counted(services.metrics, route.method, route.pattern, std::move(checked));
    router.add(route.method, route.pattern, route.scope, std::move(handler), route.body);
  }
}

}  // namespace hotcell::server
