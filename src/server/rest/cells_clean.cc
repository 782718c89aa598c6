#include <array>

#include "base/strings.h"
#include "server/cells/cleaning.h"
#include "server/rest/cells.h"
#include "server/rest/errors.h"
#include "server/rest/json_reader.h"

namespace hotcell::server {
namespace {

Result<CleanSpec> read_spec(const HttpRequest& request) {
  static constexpr std::array<std::string_view, 2> kFields = {"older_than_secs", "keep"};
  CleanSpec out;
  JsonValue body;
  body.v = JsonValue::Object{};
  if (!trim(request.body).empty()) {
    TRY_SET(body, parse_body(request.body));
  }
  TRY_SET(auto reader, JsonReader::of(body, "", kFields));
  TRY(reader.read("older_than_secs", out.older));
  TRY(reader.read("keep", out.keep));
  return out;
}

void clean(Services& services, ExchangePtr exchange) {
  if (services.cells == nullptr) return exchange->respond(error_response(501, "lasting cells cannot be had here", "unsupported"));
  auto spec = read_spec(exchange->request());
  if (!spec.ok()) return exchange->respond(cell_error(spec.error()));
  clean_cells(*services.cells, exchange->request().caller, spec.value(), [] { return true; }, [&services, exchange](Result<Cleaned> cleaned) {
    if (!cleaned.ok()) return exchange->respond(cell_error(cleaned.error()));
    for (const auto& one : cleaned.value().removed) note_cell(services, exchange->request(), "cell.rm", "a lasting cell: cleaned up", one.id);
    exchange->respond(json_answer(cleaned_json(cleaned.value())));
  });
}

}  // namespace

void add_cell_clean_routes(RouteList& routes, Services& services) {
  routes.push_back({"POST", "/api/v1/cells/clean", Scope::kRun, [&services](ExchangePtr x) { clean(services, std::move(x)); }});
}

}  // namespace hotcell::server
