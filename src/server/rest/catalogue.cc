// What this daemon has to offer: profiles, backends, languages, and what the host can enforce.
#include "base/json_write.h"
#include "base/strings.h"
#include "core/policy/units.h"
#include "server/rest/errors.h"
#include "server/rest/execute_spec.h"
#include "server/rest/routes.h"
#include "sys/file.h"

namespace hotcell::server {

namespace {

void list_all_profiles(Services& services, ExchangePtr exchange) {
  const JobRules& rules = services.executions.rules();
  JsonWriter w;
  w.begin_object();
  w.field("default", rules.default_profile);
  w.key("profiles");
  w.begin_array();
  for (const auto& entry : list_profiles(rules.profiles)) {
    auto policy = load_profile(entry.name, rules.profiles);
    w.begin_object();
    w.field("name", entry.name);
    w.field("source", entry.source);
    w.field("language", policy.ok() ? policy.value().language : "");
    w.field("description", policy.ok() ? policy.value().description : "");
    w.field("error", policy.ok() ? "" : policy.error().message);
    w.end_object();
  }
  w.end_array();
  w.end_object();
  exchange->respond(json_answer(w.take()));
}

void write_limits(JsonWriter& w, const Limits& limits) {
  w.key("limits");
  w.begin_object();
  w.field("memory", limits.memory.n);
  w.field("disk", limits.disk.n);
  w.field("output", limits.output.n);
  w.field("cpu_time_ns", limits.cpu_time.count());
  w.field("wall_ns", limits.wall.count());
  w.field("cpus", limits.cpus);
  w.field("processes", limits.processes);
  w.field("open_files", limits.open_files);
  w.end_object();
}

Result<std::string> profile_json(const JobRules& rules, const std::string& name) {
  TRY(check_profile_known(name, rules.profiles));
  TRY_SET(auto loaded, load_profile_details(name, rules.profiles));
  JsonWriter w;
  w.begin_object();
  w.field("name", loaded.policy.name);
  w.field("description", loaded.policy.description);
  w.field("language", loaded.policy.language);
  w.key("chain");
  w.begin_array();
  for (const auto& link : loaded.chain) w.value(link);
  w.end_array();
  write_limits(w, loaded.policy.limits);
  w.field("network", to_string(loaded.policy.network.mode));
  w.field("yaml", to_yaml(loaded.policy));
  w.end_object();
  return w.take();
}

void show_profile(Services& services, ExchangePtr exchange) {
  auto text = profile_json(services.executions.rules(), exchange->request().params.at(0));
  exchange->respond(text.ok() ? json_answer(std::move(text).value()) : error_answer(text.error()));
}

// Found out by the supervisor, which may try things that this process may not.
void facts(Services& services, ExchangePtr exchange, std::string_view name) {
  const std::string path = cat(services.facts_folder, "/", name, ".json");
  auto text = sys::read_file(path.c_str(), 4 << 20);
  if (text.ok() && !text.value().empty()) return exchange->respond(json_answer(std::move(text).value()));
  auto answer = error_response(503, cat("the ", name, " of this host are still being looked at"), "not_ready");
  answer.headers.emplace_back("Retry-After", "2");
  exchange->respond(std::move(answer));
}

}  // namespace

void add_catalogue_routes(RouteList& routes, Services& services) {
  auto add = [&](std::string path, Handler handler) { routes.push_back({"GET", std::move(path), Scope::kRead, std::move(handler)}); };
  add("/api/v1/profiles", [&services](ExchangePtr x) { list_all_profiles(services, std::move(x)); });
  add("/api/v1/profiles/:name", [&services](ExchangePtr x) { show_profile(services, std::move(x)); });
  for (const char* name : {"backends", "languages", "doctor"})
    add(cat("/api/v1/", name), [&services, name](ExchangePtr x) { facts(services, std::move(x), name); });
}

}  // namespace hotcell::server
