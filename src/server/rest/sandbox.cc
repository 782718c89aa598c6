// The founders' own routes: status, kill, info, config.
#include <array>

#include "base/json_write.h"
#include "base/strings.h"
#include "server/config/load.h"
#include "server/rest/errors.h"
#include "server/rest/json_reader.h"
#include "server/rest/result_json.h"
#include "server/rest/routes.h"

namespace hotcell::server {

namespace {

constexpr std::string_view kSection = "security";   // the founders' name for it in the store
constexpr std::array<std::string_view, 1> kConfigFields = {"network_enabled"};

// As Go prints durations: 5m0s, 1.5s, 1h0m0s.
std::string go_duration(Nanoseconds time) {
  auto ms = std::chrono::duration_cast<std::chrono::milliseconds>(time).count();
  std::string out;
  const auto hours = ms / 3'600'000, minutes = ms / 60'000 % 60, left = ms % 60'000;
  if (hours > 0) out += cat(hours, "h");
  if (hours > 0 || minutes > 0) out += cat(minutes, "m");
  std::string fraction = left % 1000 == 0 ? "" : std::to_string(1000 + left % 1000);
  if (!fraction.empty()) {
    fraction[0] = '.';
    while (fraction.back() == '0') fraction.pop_back();
  }
  return out + cat(left / 1000, fraction, "s");
}

// Why programs cannot be given a network here; empty: they can.
std::string no_network(const Services& services) {
  const JobRules& rules = services.executions.rules();
  constexpr std::string_view kWords = "network_enabled is not supported on this platform";
  if (rules.host_network) return {};
  if (!rules.proxy) return std::string(kWords);
  const std::string why = no_network_behind(services.config);
  return why.empty() ? why : cat(kWords, ": ", why);
}
bool can_toggle(const Services& services) { return no_network(services).empty(); }

void write_limits(JsonWriter& w, const Limits& most) {
  w.begin_object();
  w.field("memory", most.memory.n);
  w.field("disk", most.disk.n);
  w.field("output", most.output.n);
  w.field("cpu_time_ns", most.cpu_time.count());
  w.field("wall_ns", most.wall.count());
  w.field("cpus", most.cpus);
  w.field("processes", most.processes);
  w.field("open_files", most.open_files);
  w.field("stack", most.stack.n);
  w.end_object();
}

void write_tiers(JsonWriter& w, const JobRules& rules, bool up) {
  w.key("tiers");
  w.begin_array();
  for (bool strong : {false, true}) {
    w.begin_object();
    w.field("name", strong ? "strong" : "light");
    w.field("supported", up && (!strong || rules.strong));
    w.field("reason", !up ? "the launcher does not answer" : strong ? rules.strong_reason : "");
    w.end_object();
  }
  w.end_array();
}

std::string info_json(Services& services) {
  const JobRules& rules = services.executions.rules();
  const auto now = services.executions.stats();
  const Config& config = services.config;
  auto profile = usual_profile(rules);
  const Limits usual = profile.ok() ? profile.value().policy.limits : default_policy().limits;
  JsonWriter w;
  w.begin_object();
  w.field("supported", now.launcher_up);
  w.field("network_toggle_supported", can_toggle(services));
  w.field("default_timeout", go_duration(rules.default_timeout));
  w.field("max_timeout", go_duration(rules.max_timeout));
  w.field("memory_limit", usual.memory.n);
  w.field("cpu_limit", usual.cpus);
  w.field("process_limit", usual.processes);
  if (can_toggle(services)) w.field("network_enabled", rules.network_enabled);
  if (!now.launcher_up) w.field("support_reason", "the launcher does not answer");
  write_tiers(w, rules, now.launcher_up);
  w.key("configuration");
  w.begin_object();
  w.field("default_profile", rules.default_profile);
  w.field("network_enabled", rules.network_enabled);
  w.field("host_network", rules.host_network);
  w.field("network_proxy", rules.proxy);
  w.field("max_running", config.max_running);
  w.field("max_queued", config.max_queued);
  w.field("max_queued_each", config.max_queued_each);
  w.field("park_cells", config.park_cells);
  w.field("max_cells", config.max_cells);
  w.field("max_body", config.max_body.n);
  w.field("require_key", config.require_key);
  w.key("limits");
  write_limits(w, rules.most);
  // All of it, as a file would say it, with what was changed since.
  Config effective = config;
  effective.network_enabled = rules.network_enabled;
  w.key("effective");
  write_config(w, effective, false);
  w.end_object();
  w.end_object();
  return w.take();
}

void status(Services& services, ExchangePtr exchange) {
  const auto& params = exchange->request().params;
  if (params.empty() || params[0].empty()) return exchange->respond(error_response(400, "execution id is required", "invalid"));
  auto record = find_visible(services, exchange->request(), params[0]);
  exchange->respond(record ? json_answer(result_text(services, *record)) : no_such_execution());
}

void kill(Services& services, ExchangePtr exchange) {
  const auto& params = exchange->request().params;
  if (params.empty() || params[0].empty()) return exchange->respond(error_response(400, "execution id is required", "invalid"));
  if (!find_visible(services, exchange->request(), params[0])) return exchange->respond(no_such_execution());
  auto killed = services.executions.kill(params[0]);
  if (killed.ok())
    return exchange->respond(json_answer(R"({"status":"killed","message":"execution killed successfully"})"));
  if (killed.error().code == ErrorCode::kNotFound) return exchange->respond(no_such_execution());
  if (killed.error().code == ErrorCode::kInvalid)
    return exchange->respond(error_response(409, "execution has already ended", "ended"));
  exchange->respond(error_answer(killed.error()));
}

Result<bool> read_config(std::string_view body) {
  TRY_SET(auto value, parse_body(body));
  TRY_SET(auto reader, JsonReader::of(value, "", kConfigFields));
  std::optional<bool> enabled;
  TRY(reader.read("network_enabled", enabled));
  if (!enabled) return make_error(ErrorCode::kInvalid, "network_enabled is required");
  return *enabled;
}

void set_network(Services& services, bool enabled) {
  JobRules rules = services.executions.rules();
  rules.network_enabled = enabled;
  services.executions.set_rules(std::move(rules));
}

void change_config(Services& services, ExchangePtr exchange) {
  auto enabled = read_config(exchange->request().body);
  if (!enabled.ok()) return exchange->respond(error_answer(enabled.error()));
  if (auto why = no_network(services); !why.empty()) return exchange->respond(error_response(400, std::move(why), "unsupported"));
  const std::string text = enabled.value() ? "true" : "false";
  auto saved = services.settings.put(kSection, cat("{\"network_enabled\":", text, "}"));
  if (!saved.ok()) return exchange->respond(error_answer(saved.error()));
  set_network(services, enabled.value());
  AuditNote note{"config", "config.changed", "medium", cat("network_enabled is now ", text), {{"network_enabled", text}}, "",
                 exchange->request().caller.name};
  services.audit.append(std::move(note));
  exchange->respond(json_answer(info_json(services)));
}

}  // namespace

Result<void> restore_config(Services& services) {
  TRY_SET(auto saved, services.settings.get(kSection));
  if (!saved) return {};
  auto enabled = read_config(*saved);
  if (!enabled.ok()) return std::move(enabled).context("the saved setting \"security\"").error();
  // What was possible then need not be now: the network stays off rather than half on.
  set_network(services, enabled.value() && can_toggle(services));
  return {};
}

void add_sandbox_routes(RouteList& routes, Services& services) {
  auto add = [&](const char* method, const char* path, Scope scope, void (*handler)(Services&, ExchangePtr)) {
    routes.push_back({method, path, scope, [&services, handler](ExchangePtr x) { handler(services, std::move(x)); }});
  };
  add("GET", "/api/v1/sandbox/status/", Scope::kOwn, status);
  add("GET", "/api/v1/sandbox/status/:id", Scope::kOwn, status);
  add("POST", "/api/v1/sandbox/kill/", Scope::kRun, kill);
  add("POST", "/api/v1/sandbox/kill/:id", Scope::kRun, kill);
  add("POST", "/api/v1/executions/:id/kill", Scope::kRun, kill);
  add("GET", "/api/v1/sandbox/info", Scope::kRead,
      [](Services& s, ExchangePtr x) { x->respond(json_answer(info_json(s))); });
  add("PATCH", "/api/v1/sandbox/config", Scope::kAdmin, change_config);
}

}  // namespace hotcell::server
