// What a lasting cell has changed: shown, applied, discarded, kept in snapshots, forked.
#include <array>

#include "base/strings.h"
#include "server/rest/cells.h"
#include "server/rest/errors.h"
#include "server/rest/json_reader.h"
#include "server/rest/query.h"

namespace hotcell::server {
namespace {

Error bad(std::string message) { return make_error(ErrorCode::kInvalid, std::move(message)); }

// As programs in the cell call it, or relative to the workspace.
Result<std::string> in_workspace(std::string_view said) {
  constexpr std::string_view kWork = "/work";
  TRY_SET(std::string path, cell_path(said));
  if (path == kWork) return std::string(".");
  if (!path.starts_with("/work/")) return bad(cat("paths: ", printable(said), " is not in the workspace"));
  return path.substr(kWork.size() + 1);
}

Result<std::vector<std::string>> workspace_paths(const std::vector<std::string>& said) {
  std::vector<std::string> out;
  for (const auto& path : said) {
    TRY_SET(std::string inside, in_workspace(path));
    out.push_back(std::move(inside));
  }
  return out;
}

Result<JsonValue> body_of(const HttpRequest& request) {
  JsonValue empty;
  empty.v = JsonValue::Object{};
  if (trim(request.body).empty()) return empty;
  return parse_body(request.body);
}

HttpResponse json_of(cells::Told told) { return json_answer(std::string(trim(told.text))); }

void diff(Services& services, ExchangePtr exchange) {
  static constexpr std::array<std::string_view, 2> kFormats = {"json", "patch"};
  const HttpRequest& request = exchange->request();
  std::vector<std::string> said;
  for (const auto& [name, value] : request.query)
    if (name == "path") said.push_back(value);
  auto paths = workspace_paths(said);
  if (!paths.ok()) return exchange->respond(cell_error(paths.error()));
  auto format = query_choice(request, "format", kFormats);
  if (!format.ok()) return exchange->respond(cell_error(format.error()));
  auto patches = query_bool(request, "patches", true);
  if (!patches.ok()) return exchange->respond(cell_error(patches.error()));
  const bool patch = format.value() == "patch";
  cells::Fields fields = {{"format", patch ? "patch" : "json"}};
  if (!patch && patches.value()) fields["patches"] = "1";
  ask_cell(services, exchange, "diff", std::move(fields), std::move(paths).value(), [patch](cells::Told told) {
    if (!patch) return json_of(std::move(told));
    HttpResponse answer;
    answer.content_type = "text/x-patch; charset=utf-8";
    answer.body = std::move(told.text);
    answer.headers.emplace_back("Content-Security-Policy", "default-src 'none'; sandbox");
    return answer;
  });
}

// 409 with the same report when anything was refused or had been changed underneath: then nothing was written.
void apply(Services& services, ExchangePtr exchange) {
  static constexpr std::array<std::string_view, 3> kFields = {"paths", "force", "dry_run"};
  std::vector<std::string> paths;
  auto read = [&]() -> Result<cells::Fields> {
    TRY_SET(auto body, body_of(exchange->request()));
    TRY_SET(auto reader, JsonReader::of(body, "", kFields));
    std::vector<std::string> said;
    bool force = false, dry = false;
    TRY(reader.read("paths", said));
    TRY(reader.read("force", force));
    TRY(reader.read("dry_run", dry));
    TRY_SET(paths, workspace_paths(said));
    cells::Fields fields = {{"format", "json"}};
    if (force) fields["force"] = "1";
    if (dry) fields["dry_run"] = "1";
    return fields;
  };
  auto fields = read();
  if (!fields.ok()) return exchange->respond(cell_error(fields.error()));
  ask_cell(services, exchange, "apply", std::move(fields).value(), std::move(paths), [&services, exchange](cells::Told told) {
    const bool refused = told.fields.contains("refused");
    note_cell(services, exchange->request(), "cell.apply", refused ? "changes of a cell were not applied" : "changes of a cell were applied to its project",
              exchange->request().params.at(0));
    HttpResponse answer = json_of(std::move(told));
    if (refused) answer.status = 409;
    return answer;
  });
}

void discard(Services& services, ExchangePtr exchange) {
  static constexpr std::array<std::string_view, 1> kFields = {"paths"};
  auto read = [&]() -> Result<std::vector<std::string>> {
    TRY_SET(auto body, body_of(exchange->request()));
    TRY_SET(auto reader, JsonReader::of(body, "", kFields));
    std::vector<std::string> said;
    TRY(reader.read("paths", said));
    return workspace_paths(said);
  };
  auto paths = read();
  if (!paths.ok()) return exchange->respond(cell_error(paths.error()));
  ask_cell(services, exchange, "discard", {}, std::move(paths).value(), json_of);
}

void take(Services& services, ExchangePtr exchange) {
  static constexpr std::array<std::string_view, 1> kFields = {"label"};
  std::string label;
  auto read = [&]() -> Result<void> {
    TRY_SET(auto body, body_of(exchange->request()));
    TRY_SET(auto reader, JsonReader::of(body, "", kFields));
    return reader.read_word("label", label);
  };
  if (auto done = read(); !done.ok()) return exchange->respond(cell_error(done.error()));
  cells::Fields fields;
  if (!label.empty()) fields["label"] = label;
  ask_cell(services, exchange, "snapshot", std::move(fields), {}, [](cells::Told told) {
    HttpResponse answer = json_of(std::move(told));
    answer.status = 201;
    return answer;
  });
}

void list(Services& services, ExchangePtr exchange) {
  ask_cell(services, exchange, "snapshots", {}, {}, [](cells::Told told) { return json_answer(cat("{\"snapshots\":", trim(told.text), "}")); });
}

void forget(Services& services, ExchangePtr exchange) { ask_cell(services, exchange, "snapshot_rm", {}, {exchange->request().params.at(1)}); }

HttpResponse made(cells::Told told) {
  auto cell = parse_json(told.text, JsonBounds{32, 1'000'000});
  HttpResponse answer = json_of(std::move(told));
  answer.status = 201;
  if (cell.ok()) answer.headers.emplace_back("Location", cat("/api/v1/cells/", cell.value().text("id")));
  return answer;
}

// Into the cell itself, which is stopped for it, or with `name` into a new one.
void restore(Services& services, ExchangePtr exchange) {
  static constexpr std::array<std::string_view, 2> kFields = {"name", "stopped"};
  std::string name;
  bool stopped = false;
  auto read = [&]() -> Result<void> {
    TRY_SET(auto body, body_of(exchange->request()));
    TRY_SET(auto reader, JsonReader::of(body, "", kFields));
    TRY(reader.read("stopped", stopped));
    return reader.read_word("name", name);
  };
  if (auto done = read(); !done.ok()) return exchange->respond(cell_error(done.error()));
  cells::Fields fields = {{"label", exchange->request().params.at(1)}};
  if (!name.empty()) fields["name"] = name;
  if (stopped) fields["stopped"] = "1";
  ask_cell(services, exchange, "restore", std::move(fields), {}, [fresh = !name.empty()](cells::Told told) { return fresh ? made(std::move(told)) : json_of(std::move(told)); });
}

void fork_it(Services& services, ExchangePtr exchange) {
  static constexpr std::array<std::string_view, 2> kFields = {"name", "stopped"};
  std::string name;
  bool stopped = false;
  auto read = [&]() -> Result<void> {
    TRY_SET(auto body, body_of(exchange->request()));
    TRY_SET(auto reader, JsonReader::of(body, "", kFields));
    TRY(reader.read("stopped", stopped));
    TRY(reader.read_word("name", name));
    if (name.empty()) return bad("name is required: what the new cell is called");
    return {};
  };
  if (auto done = read(); !done.ok()) return exchange->respond(cell_error(done.error()));
  cells::Fields fields = {{"name", name}};
  if (stopped) fields["stopped"] = "1";
  ask_cell(services, exchange, "fork", std::move(fields), {}, made);
}

}  // namespace

void add_cell_change_routes(RouteList& routes, Services& services) {
  auto add = [&](const char* method, const char* path, Scope scope, void (*handler)(Services&, ExchangePtr)) {
    routes.push_back({method, path, scope, [&services, handler](ExchangePtr x) { handler(services, std::move(x)); }});
  };
  add("GET", "/api/v1/cells/:id/diff", Scope::kRead, diff);
  add("POST", "/api/v1/cells/:id/apply", Scope::kRun, apply);
  add("POST", "/api/v1/cells/:id/discard", Scope::kRun, discard);
  add("POST", "/api/v1/cells/:id/snapshots", Scope::kRun, take);
  add("GET", "/api/v1/cells/:id/snapshots", Scope::kRead, list);
  add("DELETE", "/api/v1/cells/:id/snapshots/:label", Scope::kRun, forget);
  add("POST", "/api/v1/cells/:id/snapshots/:label/restore", Scope::kRun, restore);
  add("POST", "/api/v1/cells/:id/fork", Scope::kRun, fork_it);
}

}  // namespace hotcell::server
