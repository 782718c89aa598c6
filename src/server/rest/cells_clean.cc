// Lasting cells removed by age and by count, as `hotcell cell clean` does it, but of the caller's own alone.
#include <array>

#include "base/strings.h"
#include "server/rest/cells.h"
#include "server/rest/errors.h"
#include "server/rest/json_reader.h"

namespace hotcell::server {
namespace {

constexpr double kDay = 24 * 3600;

struct Wanted {
  std::optional<double> older;           // seconds
  std::optional<std::uint64_t> keep;
};

Result<Wanted> read_wanted(const HttpRequest& request) {
  static constexpr std::array<std::string_view, 2> kFields = {"older_than_secs", "keep"};
  Wanted out;
  JsonValue body;
  body.v = JsonValue::Object{};
  if (!trim(request.body).empty()) {
    TRY_SET(body, parse_body(request.body));
  }
  TRY_SET(auto reader, JsonReader::of(body, "", kFields));
  TRY(reader.read("older_than_secs", out.older));
  TRY(reader.read("keep", out.keep));
  if (!out.older && !out.keep) out.older = kDay;
  return out;
}

struct One {
  std::string id, name;
};

// One after the other: a caller with many cells is not to fill the keeper's threads.
struct Cleaning : std::enable_shared_from_this<Cleaning> {
  Cleaning(Services& s, ExchangePtr x) : services(s), exchange(std::move(x)) {}

  void next() {
    if (at == chosen.size()) return exchange->respond(json_answer(cat("{\"removed\":[", removed, "],\"left\":[", left, "]}")));
    const One& one = chosen[at++];
    services.cells->ask(one.id, "rm", {}, {}, [self = shared_from_this(), one](Result<cells::Told> told) {
      const std::string cell = cat("{\"id\":", json_string(one.id), ",\"name\":", json_string(one.name));
      if (told.ok()) {
        note_cell(self->services, self->exchange->request(), "cell.rm", "a lasting cell: cleaned up", one.id);
        self->removed += cat(self->removed.empty() ? "" : ",", cell, "}");
      } else {
        self->left += cat(self->left.empty() ? "" : ",", cell, ",\"why\":", json_string(told.error().message), "}");
      }
      self->next();
    });
  }

  Services& services;
  ExchangePtr exchange;
  std::vector<One> chosen;
  std::size_t at = 0;
  std::string removed, left;
};

void clean(Services& services, ExchangePtr exchange) {
  if (services.cells == nullptr) return exchange->respond(error_response(501, "lasting cells cannot be had here", "unsupported"));
  auto wanted = read_wanted(exchange->request());
  if (!wanted.ok()) return exchange->respond(cell_error(wanted.error()));
  services.cells->list(exchange->request().caller, [&services, exchange, wanted = wanted.value()](Result<JsonValue> all) {
    if (!all.ok()) return exchange->respond(cell_error(all.error()));
    auto cleaning = std::make_shared<Cleaning>(services, exchange);
    std::uint64_t number = 0;
    for (const auto& cell : *all.value().array()) {
      const bool many = wanted.keep && number++ >= *wanted.keep;
      const bool old = wanted.older && static_cast<double>(cell.integer_or("age_seconds", 0)) >= *wanted.older;
      // One that runs is in use, however old it is.
      if ((many || old) && cell.text("status") != "running") cleaning->chosen.push_back({std::string(cell.text("id")), std::string(cell.text("name"))});
    }
    cleaning->next();
  });
}

}  // namespace

void add_cell_clean_routes(RouteList& routes, Services& services) {
  routes.push_back({"POST", "/api/v1/cells/clean", Scope::kRun, [&services](ExchangePtr x) { clean(services, std::move(x)); }});
}

}  // namespace hotcell::server
