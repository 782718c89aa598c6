// Interpreters in lasting cells that keep what each call has left; and questions that wait for somebody's yes.
#include <array>

#include "base/strings.h"
#include "core/policy/env.h"
#include "server/rest/cells.h"
#include "server/rest/errors.h"
#include "server/rest/json_reader.h"

namespace hotcell::server {
namespace {

Error bad(std::string message) { return make_error(ErrorCode::kInvalid, std::move(message)); }
HttpResponse json_of(cells::Told told) { return json_answer(std::string(trim(told.text))); }
cells::Fields context_of(const HttpRequest& request) { return {{"context", request.params.at(1)}}; }

HttpResponse made(cells::Told told) {
  const std::string name = told.fields["context"];
  return json_answer(cat("{\"name\":", json_string(name), ",\"language\":", json_string(told.fields["language"]), "}"), 201);
}

void create(Services& services, ExchangePtr exchange) {
  static constexpr std::array<std::string_view, 3> kFields = {"language", "name", "env"};
  auto read = [&]() -> Result<cells::Ask> {
    TRY_SET(auto body, parse_body(exchange->request().body));
    TRY_SET(auto reader, JsonReader::of(body, "", kFields));
    cells::Ask ask;
    std::string language, name;
    TRY(reader.read_word("language", language));
    TRY(reader.read_word("name", name));
    if (language.empty()) return bad("language is required: python, javascript or bash");
    ask.fields["language"] = language;
    if (!name.empty()) ask.fields["context"] = name;
    TRY(reader.read("env", ask.env));
    for (const auto& [key, value] : ask.env)
      if (!is_env_name(key)) return bad(cat("env: ", printable(key), " is not a variable"));
    return ask;
  };
  auto ask = read();
  if (!ask.ok()) return exchange->respond(cell_error(ask.error()));
  with_cell(services, exchange, [exchange, ask = std::move(ask).value()](CellDoor& door, CellView cell) mutable {
    ask.verb = "context.create";
    ask.cell = cell.id;
    const std::uint64_t asked = door.link().ask(std::move(ask), [exchange](Result<KeeperLink::Answer> answer) {
      exchange->on_closed(nullptr);
      exchange->respond(answer.ok() ? made(std::move(answer.value().told)) : cell_error(answer.error()));
    });
    withdraw_with(exchange, door, asked);
  });
}

// Interrupted when the caller goes; the interpreter stays.
void run(Services& services, ExchangePtr exchange) {
  static constexpr std::array<std::string_view, 2> kFields = {"code", "timeout_secs"};
  std::string code;
  auto read = [&]() -> Result<cells::Fields> {
    TRY_SET(auto body, parse_body(exchange->request().body));
    TRY_SET(auto reader, JsonReader::of(body, "", kFields));
    if (reader.find("code") == nullptr) return bad("code is required");
    TRY(reader.read("code", code));
    std::optional<double> seconds;
    TRY(reader.read("timeout_secs", seconds));
    if (seconds && *seconds > 86'400) return bad("timeout_secs must be at most 86400");
    cells::Fields fields = context_of(exchange->request());
    fields["json"] = "1";
    if (seconds) fields["timeout_ns"] = cat(static_cast<std::uint64_t>(*seconds * 1e9));
    return fields;
  };
  auto fields = read();
  if (!fields.ok()) return exchange->respond(cell_error(fields.error()));
  with_cell(services, exchange, [exchange, code, fields = std::move(fields).value()](CellDoor& door, CellView cell) mutable {
    fields.try_emplace("timeout_ns", cat(static_cast<std::uint64_t>(cell.wall.count())));
    const std::uint64_t asked = door.ask(cell.id, "context.run", fields, {code}, [exchange](Result<cells::Told> told) {
      exchange->on_closed(nullptr);
      exchange->respond(told.ok() ? json_of(std::move(told).value()) : cell_error(told.error()));
    });
    withdraw_with(exchange, door, asked);
  });
}

void answer_question(Services& services, ExchangePtr exchange, bool yes) {
  const HttpRequest& request = exchange->request();
  cells::Fields fields = {{"question", request.params.at(1)}, {"yes", yes ? "1" : "0"}, {"by", cat("rest:", request.caller.name)}};
  ask_cell(services, exchange, "answer", std::move(fields), {}, [](cells::Told told) {
    // A list of one.
    std::string_view text = trim(told.text);
    return json_answer(std::string(text.size() > 2 ? text.substr(1, text.size() - 2) : text));
  });
}

void grant(Services& services, ExchangePtr exchange) {
  static constexpr std::array<std::string_view, 3> kFields = {"class", "pattern", "ttl_secs"};
  auto read = [&]() -> Result<cells::Fields> {
    TRY_SET(auto body, parse_body(exchange->request().body));
    TRY_SET(auto reader, JsonReader::of(body, "", kFields));
    std::string what, pattern;
    std::optional<double> ttl;
    TRY(reader.read_word("class", what));
    TRY(reader.read_word("pattern", pattern));
    TRY(reader.read("ttl_secs", ttl));
    if (what.empty() || pattern.empty()) return bad("class (command, read or write) and pattern are required");
    cells::Fields fields = {{"class", what}, {"pattern", pattern}, {"by", cat("rest:", exchange->request().caller.name)}};
    if (ttl && *ttl > 1e9) return bad("ttl_secs is too large");
    if (ttl && *ttl > 0) fields["ttl_ns"] = cat(static_cast<std::uint64_t>(*ttl * 1e9));
    return fields;
  };
  auto fields = read();
  if (!fields.ok()) return exchange->respond(cell_error(fields.error()));
  ask_cell(services, exchange, "grant", std::move(fields).value());
}

void revoke(Services& services, ExchangePtr exchange) {
  auto pattern = exchange->request().param("pattern");
  if (!pattern || pattern->empty()) return exchange->respond(cell_error(bad("pattern is required: ?pattern=…")));
  ask_cell(services, exchange, "revoke", {{"pattern", std::string(*pattern)}, {"by", cat("rest:", exchange->request().caller.name)}});
}

using Handler2 = std::function<void(Services&, ExchangePtr)>;
auto adder(RouteList& routes, Services& services) {
  return [&routes, &services](const char* method, const char* path, Scope scope, Handler2 handler) {
    routes.push_back({method, path, scope, [&services, handler = std::move(handler)](ExchangePtr x) { handler(services, std::move(x)); }});
  };
}

}  // namespace

void add_cell_context_routes(RouteList& routes, Services& services) {
  auto add = adder(routes, services);
  add("POST", "/api/v1/cells/:id/contexts", Scope::kRun, create);
  add("GET", "/api/v1/cells/:id/contexts", Scope::kRead, [](Services& s, ExchangePtr x) {
    ask_cell(s, x, "context.list", {}, {}, [](cells::Told told) { return json_answer(cat("{\"contexts\":", trim(told.text), "}")); });
  });
  add("POST", "/api/v1/cells/:id/contexts/:context/run", Scope::kRun, run);
  add("POST", "/api/v1/cells/:id/contexts/:context/interrupt", Scope::kRun, [](Services& s, ExchangePtr x) { ask_cell(s, x, "context.interrupt", context_of(x->request())); });
  add("POST", "/api/v1/cells/:id/contexts/:context/restart", Scope::kRun, [](Services& s, ExchangePtr x) { ask_cell(s, x, "context.restart", context_of(x->request())); });
  add("DELETE", "/api/v1/cells/:id/contexts/:context", Scope::kRun, [](Services& s, ExchangePtr x) { ask_cell(s, x, "context.close", context_of(x->request())); });
}

void add_cell_question_routes(RouteList& routes, Services& services) {
  auto add = adder(routes, services);
  add("GET", "/api/v1/cells/:id/questions", Scope::kRead, [](Services& s, ExchangePtr x) {
    ask_cell(s, x, "questions", {}, {}, [](cells::Told told) { return json_answer(cat("{\"questions\":", trim(told.text), "}")); });
  });
  add("POST", "/api/v1/cells/:id/questions/:question/approve", Scope::kAdmin, [](Services& s, ExchangePtr x) { answer_question(s, std::move(x), true); });
  add("POST", "/api/v1/cells/:id/questions/:question/deny", Scope::kAdmin, [](Services& s, ExchangePtr x) { answer_question(s, std::move(x), false); });
  add("GET", "/api/v1/cells/:id/grants", Scope::kRead, [](Services& s, ExchangePtr x) {
    ask_cell(s, x, "grants", {}, {}, [](cells::Told told) { return json_answer(cat("{\"grants\":", trim(told.text), "}")); });
  });
  add("POST", "/api/v1/cells/:id/grants", Scope::kAdmin, grant);
  add("DELETE", "/api/v1/cells/:id/grants", Scope::kAdmin, revoke);
}

}  // namespace hotcell::server
