// Shells of lasting cells, for programs: one command after another in a shell that remembers.
#include <array>

#include "base/json_write.h"
#include "base/strings.h"
#include "server/rest/cells.h"
#include "server/rest/errors.h"
#include "server/rest/json_reader.h"

namespace hotcell::server {
namespace {

Error bad(std::string message) { return make_error(ErrorCode::kInvalid, std::move(message)); }

std::string field(const cells::Told& told, const char* name) {
  auto it = told.fields.find(name);
  return it == told.fields.end() ? std::string() : it->second;
}

// state: done, interrupted, timeout, awaiting_input, ended
HttpResponse told_answer(cells::Told told) {
  const std::string state = field(told, "state");
  JsonWriter w;
  w.begin_object();
  w.field("state", std::string_view(state));
  w.key("exit_code");
  if (auto code = parse_u64(field(told, "exit_code"))) w.value(*code);
  else w.null();
  if (is_valid_utf8(told.text)) w.field("output", std::string_view(told.text));
  else w.field("output_base64", std::string_view(base64(told.text)));
  w.field("truncated", field(told, "truncated") == "1");
  w.field("duration_ns", parse_u64(field(told, "duration_ns")).value_or(0));
  if (state == "awaiting_input") w.field("echo", field(told, "echo") == "1");
  w.end_object();
  return json_answer(w.take());
}

std::optional<std::string> size_word(const JsonReader& reader, std::string_view name, cells::Fields& fields) {
  std::optional<std::uint64_t> n;
  if (auto read = reader.read(name, n); !read.ok()) return read.error().message;
  if (!n) return std::nullopt;
  if (*n < 1 || *n > 1000) return cat(name, " must be from 1 to 1000");
  fields[std::string(name)] = cat(*n);
  return std::nullopt;
}

Result<JsonValue> body_of(const HttpRequest& request) {
  JsonValue empty;
  empty.v = JsonValue::Object{};
  if (trim(request.body).empty()) return empty;
  return parse_body(request.body);
}

void open(Services& services, ExchangePtr exchange) {
  static constexpr std::array<std::string_view, 5> kFields = {"name", "kind", "reuse", "rows", "columns"};
  static constexpr std::array<std::string_view, 2> kKinds = {"agent", "terminal"};
  std::string name = "agent";
  auto read = [&]() -> Result<cells::Fields> {
    TRY_SET(auto body, body_of(exchange->request()));
    TRY_SET(auto reader, JsonReader::of(body, "", kFields));
    cells::Fields fields;
    std::string kind;
    bool reuse = false;
    TRY(reader.read_word("name", name));
    TRY(reader.read_choice("kind", kKinds, kind));
    TRY(reader.read("reuse", reuse));
    for (std::string_view size : {"rows", "columns"})
      if (auto wrong = size_word(reader, size, fields)) return bad(*wrong);
    fields["session"] = name;
    if (!kind.empty()) fields["kind"] = kind;
    if (reuse) fields["reuse"] = "1";
    return fields;
  };
  auto fields = read();
  if (!fields.ok()) return exchange->respond(cell_error(fields.error()));
  const std::string id = exchange->request().params.at(0);
  ask_cell(services, exchange, "shell.open", std::move(fields).value(), {}, [name, id](cells::Told) {
    auto answer = json_answer(cat("{\"name\":", json_string(name), "}"), 201);
    answer.headers.emplace_back("Location", cat("/api/v1/cells/", id, "/shells/", name));
    return answer;
  });
}

void list(Services& services, ExchangePtr exchange) {
  with_cell(services, exchange, [exchange](CellDoor&, CellView cell) {
    auto parsed = parse_json(cell.json, JsonBounds{32, 1'000'000});
    const JsonValue* shells = parsed.ok() ? parsed.value().find("shells") : nullptr;
    exchange->respond(json_answer(cat("{\"shells\":", shells == nullptr ? "[]" : json_text(*shells), "}")));
  });
}

cells::Fields session(const HttpRequest& request) { return {{"session", request.params.at(1)}}; }

// Whatever they wait for, they wait here. Of a client that has gone the command goes on, once it has begun.
void run(Services& services, ExchangePtr exchange) {
  static constexpr std::array<std::string_view, 3> kFields = {"command", "timeout_secs", "stop_on_input"};
  std::string command;
  auto read = [&]() -> Result<cells::Fields> {
    TRY_SET(auto body, parse_body(exchange->request().body));
    TRY_SET(auto reader, JsonReader::of(body, "", kFields));
    TRY(reader.read_word("command", command));
    if (command.empty()) return bad("command is required");
    std::optional<double> seconds;
    bool stop = true;
    TRY(reader.read("timeout_secs", seconds));
    TRY(reader.read("stop_on_input", stop));
    cells::Fields fields = session(exchange->request());
    if (seconds && *seconds > 86'400) return bad("timeout_secs must be at most 86400");
    if (seconds) fields["timeout_ns"] = cat(static_cast<std::uint64_t>(*seconds * 1e9));
    if (stop) fields["stop_on_input"] = "1";
    return fields;
  };
  auto fields = read();
  if (!fields.ok()) return exchange->respond(cell_error(fields.error()));
  ask_cell(services, exchange, "shell.run", std::move(fields).value(), {std::move(command)}, told_answer);
}

void wait(Services& services, ExchangePtr exchange) {
  cells::Fields fields = session(exchange->request());
  fields["stop_on_input"] = "1";
  ask_cell(services, exchange, "shell.wait", std::move(fields), {}, told_answer);
}

// Then it is waited for, unless told otherwise: a password was asked for, and here it is.
void input(Services& services, ExchangePtr exchange) {
  static constexpr std::array<std::string_view, 2> kFields = {"text", "wait"};
  std::string text;
  bool wait = false;
  auto read = [&]() -> Result<void> {
    TRY_SET(auto body, parse_body(exchange->request().body));
    TRY_SET(auto reader, JsonReader::of(body, "", kFields));
    TRY(reader.read("text", text));
    TRY(reader.read("wait", wait));
    if (text.empty()) return bad("text is required");
    return {};
  };
  if (auto done = read(); !done.ok()) return exchange->respond(cell_error(done.error()));
  with_cell(services, exchange, [exchange, text, wait](CellDoor& door, CellView cell) {
    cells::Fields fields = session(exchange->request());
    const std::uint64_t asked = door.ask(cell.id, "shell.input", fields, {text}, [&door, exchange, wait, fields, id = cell.id](Result<cells::Told> told) mutable {
      exchange->on_closed(nullptr);
      if (!told.ok()) return exchange->respond(cell_error(told.error()));
      if (!wait) return exchange->respond(no_content());
      fields["stop_on_input"] = "1";
      door.ask(id, "shell.wait", fields, {}, [exchange](Result<cells::Told> ended) {
        exchange->respond(ended.ok() ? told_answer(std::move(ended).value()) : cell_error(ended.error()));
      });
    });
    withdraw_with(exchange, door, asked);
  });
}

void resize(Services& services, ExchangePtr exchange) {
  static constexpr std::array<std::string_view, 2> kFields = {"rows", "columns"};
  auto read = [&]() -> Result<cells::Fields> {
    TRY_SET(auto body, parse_body(exchange->request().body));
    TRY_SET(auto reader, JsonReader::of(body, "", kFields));
    cells::Fields fields = session(exchange->request());
    for (std::string_view size : {"rows", "columns"})
      if (auto wrong = size_word(reader, size, fields)) return bad(*wrong);
    if (fields.size() != 3) return bad("rows and columns are required");
    return fields;
  };
  auto fields = read();
  if (!fields.ok()) return exchange->respond(cell_error(fields.error()));
  ask_cell(services, exchange, "shell.resize", std::move(fields).value());
}

void history(Services& services, ExchangePtr exchange) {
  ask_cell(services, exchange, "shell.history", session(exchange->request()), {},
           [](cells::Told told) { return json_answer(cat("{\"commands\":", told.text.empty() ? "[]" : told.text, "}")); });
}

}  // namespace

void add_cell_shell_routes(RouteList& routes, Services& services) {
  auto add = [&](const char* method, const char* path, Scope scope, std::function<void(Services&, ExchangePtr)> handler) {
    routes.push_back({method, path, scope, [&services, handler = std::move(handler)](ExchangePtr x) { handler(services, std::move(x)); }});
  };
  add("POST", "/api/v1/cells/:id/shells", Scope::kRun, open);
  add("GET", "/api/v1/cells/:id/shells", Scope::kRead, list);
  add("DELETE", "/api/v1/cells/:id/shells/:shell", Scope::kRun, [](Services& s, ExchangePtr x) { ask_cell(s, x, "shell.close", session(x->request())); });
  add("POST", "/api/v1/cells/:id/shells/:shell/run", Scope::kRun, run);
  add("POST", "/api/v1/cells/:id/shells/:shell/wait", Scope::kRun, wait);
  add("POST", "/api/v1/cells/:id/shells/:shell/input", Scope::kRun, input);
  add("POST", "/api/v1/cells/:id/shells/:shell/interrupt", Scope::kRun, [](Services& s, ExchangePtr x) { ask_cell(s, x, "shell.interrupt", session(x->request())); });
  add("POST", "/api/v1/cells/:id/shells/:shell/resize", Scope::kRun, resize);
  add("GET", "/api/v1/cells/:id/shells/:shell/history", Scope::kRead, history);
}

}  // namespace hotcell::server
