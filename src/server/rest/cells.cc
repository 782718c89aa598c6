// Lasting cells: made, listed, looked at, paused, stopped, removed.
#include "server/rest/cells.h"

#include <array>
#include <cerrno>

#include "base/json_write.h"
#include "base/strings.h"
#include "core/policy/env.h"
#include "core/policy/units.h"
#include "server/rest/errors.h"
#include "server/rest/execute_spec.h"
#include "server/rest/json_reader.h"
#include "server/rest/query.h"

namespace hotcell::server {
namespace {

constexpr std::array<std::string_view, 17> kFields = {"name",   "from", "profile",  "limits",         "timeout_secs", "network",
                                                       "env",    "labels", "ttl_secs", "idle_pause_secs", "stopped",      "files",    "decisions",
                                                       "phases", "secrets", "allow_domains", "block_domains"};
constexpr std::array<std::string_view, 3> kNetworks = {"none", "proxy", "host"};
constexpr std::array<std::string_view, 4> kStatuses = {"running", "paused", "stopped", "terminated"};
constexpr std::size_t kMostBehind = 1u << 20;   // of a stream, for a slow reader, before the program has to wait

Error bad(std::string message) { return make_error(ErrorCode::kInvalid, std::move(message)); }

Result<void> read_seconds(const JsonReader& reader, std::string_view name, Nanoseconds& out) {
  std::optional<double> seconds;
  TRY(reader.read(name, seconds));
  if (!seconds) return {};
  if (*seconds > 1e9) return bad(cat(name, " is too large"));
  out = std::chrono::duration_cast<Nanoseconds>(std::chrono::duration<double>(*seconds));
  return {};
}

Result<void> read_network(const std::string& network, JobSpec& job) {
  if (network.empty()) return {};
  job.network = network != "none";
  job.network_mode = network == "proxy" ? NetworkMode::kProxy : network == "host" ? NetworkMode::kHost : NetworkMode::kNone;
  return {};
}

Result<CellSpec> read_json(const HttpRequest& request) {
  CellSpec spec;
  JsonValue body;
  body.v = JsonValue::Object{};
  if (!trim(request.body).empty()) {
    TRY_SET(body, parse_body(request.body));
  }
  TRY_SET(auto reader, JsonReader::of(body, "", kFields));
  std::string network;
  TRY(reader.read_word("name", spec.name));
  TRY(reader.read_word("from", spec.project));
  TRY(reader.read_word("profile", spec.job.profile));
  TRY(check_profile_name(spec.job.profile));
  if (const JsonValue* limits = reader.find("limits")) {
    TRY_SET(spec.job.limits, limits_from_json(*limits));
  }
  Nanoseconds timeout{0};
  TRY(read_seconds(reader, "timeout_secs", timeout));
  if (timeout.count() > 0) spec.job.timeout = timeout;
  TRY(reader.read_choice("network", kNetworks, network));
  TRY(read_network(network, spec.job));
  TRY(read_domains(reader, spec.job));
  TRY(reader.read("env", spec.job.env));
  for (const auto& [name, value] : spec.job.env)
    if (!is_env_name(name) || value.find('\0') != value.npos) return bad(cat("env: ", printable(name), " is not a variable"));
  TRY(reader.read("secrets", spec.job.secrets));
  TRY(reader.read("labels", spec.labels));
  TRY(read_seconds(reader, "ttl_secs", spec.ttl));
  TRY(read_seconds(reader, "idle_pause_secs", spec.idle_pause));
  TRY(reader.read("stopped", spec.stopped));
  TRY(reader.read("decisions", spec.decisions));
  TRY(reader.read("phases", spec.phases));
  if (const JsonValue* files = reader.find("files")) {
    TRY_SET(spec.job.files, files_from_json(*files));
  }
  if (!spec.project.empty() && !spec.project.starts_with('/')) return bad("from must be an absolute path of the daemon's host");
  return spec;
}

// The body is what goes into /work; the rest is in the query.
Result<CellSpec> read_tar(const HttpRequest& request) {
  CellSpec spec;
  for (const auto& [name, value] : request.query) {
    if (name == "name") spec.name = value;
    else if (name == "profile") spec.job.profile = value;
    else if (name == "label" && value.find('=') != value.npos && value.find('=') > 0) spec.labels[value.substr(0, value.find('='))] = value.substr(value.find('=') + 1);
    else return bad(cat("with a tar the query has name, profile and label=KEY=VALUE, not ", printable(name)));
  }
  TRY(check_profile_name(spec.job.profile));
  if (request.body.empty()) return bad("the body is empty");
  spec.tar = request.body;
  return spec;
}

void create(Services& services, ExchangePtr exchange) {
  if (services.cells == nullptr) return exchange->respond(error_response(501, "lasting cells cannot be had here", "unsupported"));
  const HttpRequest& request = exchange->request();
  const bool tar = request.header("content-type").value_or("").starts_with("application/x-tar");
  if (!tar && !request.query.empty())
    return exchange->respond(cell_error(bad(cat(printable(request.query[0].first), " is in the query only where the body is a tar; say it in the body"))));
  auto spec = tar ? read_tar(request) : read_json(request);
  if (!spec.ok()) return exchange->respond(cell_error(spec.error()));
  services.cells->create(request.caller, std::move(spec).value(), [&services, exchange](Result<std::string> made) {
    if (!made.ok()) return exchange->respond(cell_error(made.error()));
    auto cell = parse_json(made.value());
    const std::string id = cell.ok() ? std::string(cell.value().text("id")) : std::string();
    note_cell(services, exchange->request(), "cell.created", "a lasting cell was made", id);
    auto answer = json_answer(std::move(made).value(), 201);
    answer.headers.emplace_back("Location", cat("/api/v1/cells/", id));
    exchange->respond(std::move(answer));
  });
}

struct Filter {
  std::string status, before;
  std::vector<std::pair<std::string, std::string>> labels;
  std::uint64_t limit = 50;
};

Result<Filter> read_filter(const HttpRequest& request) {
  Filter out;
  TRY_SET(out.status, query_choice(request, "status", kStatuses));
  TRY_SET(out.limit, query_number(request, "limit", 50, 1, 500));
  out.before = query_text(request, "before");
  for (const auto& [name, value] : request.query) {
    if (name != "label") continue;
    auto equals = value.find('=');
    if (equals == value.npos || equals == 0) return bad(cat("label: '", printable(value), "' is not KEY=VALUE"));
    out.labels.emplace_back(value.substr(0, equals), value.substr(equals + 1));
  }
  return out;
}

void list(Services& services, ExchangePtr exchange) {
  if (services.cells == nullptr) return exchange->respond(error_response(501, "lasting cells cannot be had here", "unsupported"));
  auto filter = read_filter(exchange->request());
  if (!filter.ok()) return exchange->respond(cell_error(filter.error()));
  services.cells->list(exchange->request().caller, [exchange, filter = std::move(filter).value()](Result<JsonValue> all) {
    if (!all.ok()) return exchange->respond(cell_error(all.error()));
    std::string body = "{\"cells\":[";
    std::uint64_t count = 0;
    bool begun = filter.before.empty(), more = false;
    std::string last;
    for (const auto& cell : *all.value().array()) {
      if (!begun) {
        begun = cell.text("id") == filter.before;
        continue;
      }
      bool fits = filter.status.empty() || cell.text("status") == filter.status;
      for (const auto& [key, value] : filter.labels) {
        const JsonValue* label = cell.find("labels", key);
        fits = fits && label != nullptr && label->string() != nullptr && *label->string() == value;
      }
      if (!fits) continue;
      if (count == filter.limit) {
        more = true;
        break;
      }
      if (count++ > 0) body += ',';
      append_json(body, cell);
      last = cell.text("id");
    }
    body += cat("],\"next\":", more ? json_string(last) : "null", "}");
    exchange->respond(json_answer(std::move(body)));
  });
}

void show(Services& services, ExchangePtr exchange) {
  with_cell(services, exchange, [exchange](CellDoor&, CellView cell) { exchange->respond(json_answer(std::move(cell.json))); });
}

// start: those whose values went with an earlier keeper are given again.
Result<cells::Fields> secrets_of(const HttpRequest& request, std::string_view verb) {
  cells::Fields out;
  if (verb != "start" || trim(request.body).empty()) return out;
  constexpr std::array<std::string_view, 1> kStart = {"secrets"};
  std::map<std::string, std::string> secrets;
  TRY_SET(JsonValue body, parse_body(request.body));
  TRY_SET(auto reader, JsonReader::of(body, "", kStart));
  TRY(reader.read("secrets", secrets));
  for (auto& [where, value] : secrets) out[cat("secret.", where)] = std::move(value);
  return out;
}

// After it, the cell as it is now.
void change(Services& services, ExchangePtr exchange, std::string verb) {
  auto fields = secrets_of(exchange->request(), verb);
  if (!fields.ok()) return exchange->respond(cell_error(fields.error()));
  with_cell(services, exchange, [&services, exchange, verb = std::move(verb), fields = std::move(fields).value()](CellDoor& door, CellView cell) {
    door.ask(cell.id, verb, fields, {}, [&services, &door, exchange, verb, id = cell.id](Result<cells::Told> told) {
      if (!told.ok()) return exchange->respond(cell_error(told.error()));
      note_cell(services, exchange->request(), cat("cell.", verb), cat("a lasting cell: ", verb), id);
      if (verb == "rm") return exchange->respond(no_content());
      door.find(exchange->request().caller, id, [exchange](Result<CellView> now) {
        if (!now.ok()) return exchange->respond(cell_error(now.error()));
        exchange->respond(json_answer(std::move(now.value().json)));
      });
    });
  });
}

}  // namespace

void note_cell(Services& services, const HttpRequest& request, std::string action, std::string message, std::string cell) {
  if (!services.audit.append) return;
  AuditNote n;
  n.layer = "cells";
  n.action = std::move(action);
  n.severity = "info";
  n.message = std::move(message);
  n.details["cell"] = std::move(cell);
  n.client = request.caller.name;
  services.audit.append(std::move(n));
}

HttpResponse no_content() {
  HttpResponse out;
  out.status = 204;
  return out;
}

HttpResponse cell_error(const Error& error) {
  if (error.code == ErrorCode::kInvalid) {
    switch (error.err) {
      case ENOENT: return error_response(404, error.message, "not_found");
      case EEXIST: return error_response(409, error.message, "exists");
      case EBUSY: return error_response(409, error.message, "state");
      case ENOTEMPTY: case EISDIR: case ENOTDIR: return error_response(409, error.message, "conflict");
      case ENOSPC: case EFBIG: case EDQUOT: return error_response(413, error.message, "too_large");
      case EACCES: case EPERM: case EROFS: return error_response(403, error.message, "denied");
      default: return error_answer(error);
    }
  }
  // A program that is not there is no path of ours that is not.
  if (error.code == ErrorCode::kNotFound) return error_response(422, error.message, "not_found");
  if (error.code == ErrorCode::kCancelled || error.code == ErrorCode::kIo) {
    auto answer = error_response(503, error.message, "keeper");
    answer.headers.emplace_back("Retry-After", "1");
    return answer;
  }
  return error_answer(error);
}

void with_cell(Services& services, const ExchangePtr& exchange, std::function<void(CellDoor&, CellView)> then) {
  if (services.cells == nullptr) return exchange->respond(error_response(501, "lasting cells cannot be had here", "unsupported"));
  CellDoor& door = *services.cells;
  const HttpRequest& request = exchange->request();
  door.find(request.caller, request.params.at(0), [&door, exchange, then = std::move(then)](Result<CellView> cell) {
    if (!cell.ok()) return exchange->respond(cell_error(cell.error()));
    then(door, std::move(cell).value());
  });
}

void ask_cell(Services& services, const ExchangePtr& exchange, std::string verb, cells::Fields fields, std::vector<std::string> words, CellAnswer answer) {
  with_cell(services, exchange, [exchange, verb = std::move(verb), fields = std::move(fields), words = std::move(words), answer = std::move(answer)](CellDoor& door, CellView cell) {
    const std::uint64_t asked = door.ask(cell.id, verb, fields, words, [exchange, answer](Result<cells::Told> told) {
      exchange->on_closed(nullptr);
      if (!told.ok()) return exchange->respond(cell_error(told.error()));
      exchange->respond(answer ? answer(std::move(told).value()) : no_content());
    });
    withdraw_with(exchange, door, asked);
  });
}

void withdraw_with(const ExchangePtr& exchange, CellDoor& door, std::uint64_t asked) {
  exchange->on_closed([&door, asked] { door.withdraw(asked); });
}

std::shared_ptr<CellRun> RunHolder::hold(std::shared_ptr<CellRun> run) {
  run_ = run;
  exchange_->on_closed([self = shared_from_this()] { self->over(); });
  return run;
}

void RunHolder::over() {
  // Later: this may be inside a callback that one of them owns.
  link_.loop().post([run = std::exchange(run_, nullptr), exchange = std::exchange(exchange_, nullptr), self = shared_from_this()]() mutable {
    if (exchange) exchange->on_drained(nullptr);
    run.reset();
    exchange.reset();
  });
}

bool RunHolder::write(std::string_view piece) {
  if (!exchange_) return false;
  if (!exchange_->write(piece)) {
    over();
    return false;
  }
  if (run_ && exchange_->waiting() > kMostBehind) {
    run_->hold(true);
    exchange_->on_drained([weak = weak_from_this()] {
      auto self = weak.lock();
      if (!self || !self->run_) return;
      if (self->exchange_) self->exchange_->on_drained(nullptr);
      self->run_->hold(false);
    });
  }
  return true;
}

void add_cell_routes(RouteList& routes, Services& services) {
  auto add = [&](const char* method, const char* path, Scope scope, std::function<void(Services&, ExchangePtr)> handler) {
    routes.push_back({method, path, scope, [&services, handler = std::move(handler)](ExchangePtr x) { handler(services, std::move(x)); }});
  };
  add("POST", "/api/v1/cells", Scope::kRun, create);
  add("GET", "/api/v1/cells", Scope::kRead, list);
  add("GET", "/api/v1/cells/:id", Scope::kRead, show);
  add("DELETE", "/api/v1/cells/:id", Scope::kRun, [](Services& s, ExchangePtr x) { change(s, std::move(x), "rm"); });
  for (const char* verb : {"pause", "resume", "start", "stop"})
    add("POST", cat("/api/v1/cells/:id/", std::string_view(verb)).c_str(), Scope::kRun, [verb](Services& s, ExchangePtr x) { change(s, std::move(x), verb); });
}

}  // namespace hotcell::server
