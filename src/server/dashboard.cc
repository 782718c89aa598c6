#include "server/dashboard.h"

#include "server/assets.h"

namespace hotcell::server {

namespace {

void serve(const ExchangePtr& exchange) {
  const HttpRequest& request = exchange->request();
  const Asset* asset = find_asset(request.path);
  if (asset == nullptr) {
    // A page of an older build asks for files of that build.
    return exchange->respond(error_response(404, "no such file; reload the page", "not_found"));
  }
  exchange->respond(asset_response(*asset, request.header("if-none-match").value_or(""),
                                   request.header("accept-encoding").value_or("")));
}

}  // namespace

void add_dashboard(Router& router) {
  router.add("GET", "/", Scope::kNone, serve);
  router.add("GET", "/assets/*", Scope::kNone, serve);
}

}  // namespace hotcell::server
