#include "cli/policy_flags.h"

#include <climits>
#include <cstdlib>
#include <unistd.h>

#include "base/strings.h"
#include "cli/paths.h"
#include "cli/profile_check.h"
#include "backends/backend.h"
#include "backends/probe.h"
#include "core/policy/env.h"
#include "core/policy/profile.h"
#include "core/policy/suggest.h"
#include "core/policy/units.h"
#include "languages/plugins.h"
#include "manager/pipeline.h"
#include "manager/wasm_backend.h"

namespace hotcell {

namespace {

// Everything but the optional one: an LSM transition needs a profile that the administrator has installed.
void require_all(std::set<Layer>& required) {
  for (std::size_t i = 0; i < kLayerCount; ++i) {
    if (static_cast<Layer>(i) != Layer::kLsm) required.insert(static_cast<Layer>(i));
  }
}

Result<void> require_layer(std::string_view name, std::set<Layer>& required) {
  if (name == "all") {
    require_all(required);
    return {};
  }
  if (auto layer = layer_from(name)) {
    required.insert(*layer);
    return {};
  }
  std::string list;
  for (auto known : kLayerNames) list += cat(" ", known);
  auto hint = did_you_mean(name, kLayerNames);
  return make_error(ErrorCode::kInvalid, cat("--require: unknown layer ", quoted(name), hint, hint.empty() ? ";" : "",
                                             " one of: all", list));
}

Result<void> add_level(std::string_view level, PolicyPatch& patch) {
  if (level == "enhanced") require_all(patch.required);
  return {};
}

Result<void> add_network(std::string_view mode, PolicyPatch& patch) {
  patch.network_mode = mode == "host" ? NetworkMode::kHost : mode == "proxy" ? NetworkMode::kProxy : NetworkMode::kNone;
  return {};
}

Result<void> add_env(std::string_view text, PolicyPatch& patch) {
  auto equals = text.find('=');
  auto name = text.substr(0, equals);
  if (equals == std::string_view::npos || !is_env_name(name)) {
    return make_error(ErrorCode::kInvalid, cat("--env: ", quoted(text), " is not NAME=VALUE"));
  }
  patch.env_set[std::string(name)] = std::string(text.substr(equals + 1));
  return {};
}

template <typename T, typename Parse>
Result<void> set(std::optional<T>& field, Parse parse_text, std::string_view name, std::string_view text) {
  TRY_SET(field, parse_text(text).context(name));
  return {};
}

Result<void> add_flag(Opt option, std::string_view name, std::string_view value, PolicyPatch& patch) {
  auto& limits = patch.limits;
  switch (option) {
    case Opt::kMemory: return set(limits.memory, parse_bytes, name, value);
    case Opt::kDisk: return set(limits.disk, parse_bytes, name, value);
    case Opt::kOutput: return set(limits.output, parse_bytes, name, value);
    case Opt::kTimeout: return set(limits.wall, parse_duration, name, value);
    case Opt::kCpuTime: return set(limits.cpu_time, parse_duration, name, value);
    case Opt::kCpus: return set(limits.cpus, parse_cpus, name, value);
    case Opt::kProcesses: return set(limits.processes, parse_count, name, value);
    case Opt::kOpenFiles: return set(limits.open_files, parse_count, name, value);
    case Opt::kOnOutput: patch.on_output = value == "kill" ? OnOutput::kKill : OnOutput::kTruncate; return {};
    case Opt::kDeny: patch.deny.push_back({deny_pattern(value), "--deny"}); return {};
    case Opt::kNoWarm: patch.warm = false; return {};
    case Opt::kEnv: return add_env(value, patch);
    case Opt::kLevel: return add_level(value, patch);
    case Opt::kNetwork: return add_network(value, patch);
    case Opt::kNetworkRules:
      for (auto rules : {RuleMode::kAllowlist, RuleMode::kBlocklist, RuleMode::kOpen, RuleMode::kClosed})
        if (value == to_string(rules)) patch.network_rules = rules;
      return {};
    case Opt::kAllowDomain: patch.network_allow.emplace_back(value); return {};
    case Opt::kBlockDomain: patch.network_block.emplace_back(value); return {};
    case Opt::kRequire: return require_layer(value, patch.required);
    default: return {};
  }
}

// The field each flag speaks about, so that an error can say "--memory" where a profile's would say "team.yaml:7".
std::string_view field_of(Opt option) {
  switch (option) {
    case Opt::kMemory: return "limits.memory";
    case Opt::kDisk: return "limits.disk";
    case Opt::kOutput: return "limits.output";
    case Opt::kTimeout: return "limits.wall";
    case Opt::kCpuTime: return "limits.cpu_time";
    case Opt::kCpus: return "limits.cpus";
    case Opt::kProcesses: return "limits.processes";
    case Opt::kOpenFiles: return "limits.open_files";
    case Opt::kNetwork: return "network.mode";
    default: return {};
  }
}

std::string_view name_of(Opt option) {
  for (const auto& o : options()) {
    if (o.id == option) return o.name;
  }
  return {};
}

// By --language, else by the file's extension; a program that is started by its name is in none.
const Language* language_named(const Parsed& parsed) {
  if (auto name = parsed.last(Opt::kLanguage)) return find_language(*name);
  return parsed.dashes || parsed.words.empty() ? nullptr : language_by_extension(parsed.words[0]);
}

Result<ChosenPolicy> base_policy(const Parsed& parsed) {
  ChosenPolicy chosen;
  auto profile = parsed.last(Opt::kProfile);
  const std::string name = profile ? std::string(*profile) : profile_for("default", language_named(parsed));
  if (!profile && name == "default") {
    chosen.policy = default_policy();
    return chosen;
  }
  auto loaded = load_profile_details(name, search_here());
  if (!loaded.ok()) {
    auto error = std::move(loaded).error();
    error.code = ErrorCode::kInvalid;  // 127 is for programs
    return std::move(error).context("--profile");
  }
  chosen.policy = std::move(loaded.value().policy);
  chosen.origins = std::move(loaded.value().origins);
  TRY(check_syscalls(chosen.policy, chosen.origins).context("--profile"));
  return chosen;
}

}  // namespace

ProfileSearch search_here() {
  char here[PATH_MAX] = "";
  const char* home = ::getenv("HOME");
  if (::getcwd(here, sizeof here) == nullptr) here[0] = '\0';
  ProfileSearch search = standard_search(here, home == nullptr ? "" : home);
  search.built_in = language_profiles();
  return search;
}

Result<backends::Settings> backend_settings(const Parsed& parsed) {
  std::vector<std::string> words;
  for (const auto& [option, value] : parsed.values())
    if (option == Opt::kBackendOption) words.emplace_back(value);
  return backends::Settings::parse(words);
}

// By name, by level or by tier; without any of them native, and nothing is tried.
Result<void> choose_backend(const Parsed& parsed, ChosenPolicy& chosen) {
  register_wasm_backend();
  auto name = parsed.last(Opt::kBackend);
  auto level = parsed.last(Opt::kLevel);
  bool strong = parsed.last(Opt::kTier).value_or("light") == "strong";
  if (name && strong) return make_error(ErrorCode::kInvalid, "--tier strong chooses the backend; it does not go with --backend");
  // One of the two would be ignored, and perhaps the stronger one.
  if (level && *level == "enhanced") level.reset();  // every layer is required already, of whatever backend
  if (name && level) return make_error(ErrorCode::kInvalid, "--level chooses the backend; it does not go with --backend");
  if (level && strong) return make_error(ErrorCode::kInvalid, "--tier strong chooses the backend; it does not go with --level");
  if (name) {
    chosen.wasm = *name == "wasm";
    chosen.launcher.backend = chosen.wasm ? "native" : std::string(*name);
    return {};
  }
  auto wanted = level ? backends::parse_level(*level) : std::optional(backends::Level::kDefault);
  if (!wanted) return make_error(ErrorCode::kInvalid, cat("--level: unknown level ", printable(*level)));
  if (strong) {
    auto found = backends::select_strong(chosen.settings, chosen.policy, chosen.waived);
    if (!found.ok()) return std::move(found).error().context("--tier strong");
    chosen.launcher.backend = found.value().backend;
    chosen.reason = found.value().reason;
    return {};
  }
  if (!level) return {};  // native, which is tried by the run itself
  TRY_SET(backends::Choice choice, backends::select_here(*wanted, chosen.settings, chosen.policy, chosen.waived));
  chosen.wasm = choice.backend == "wasm";
  chosen.launcher.backend = chosen.wasm ? "native" : choice.backend;
  // What was expected needs no words.
  if (!(*wanted == backends::Level::kDefault && choice.backend == "native")) chosen.reason = choice.reason;
  return {};
}

Result<ChosenPolicy> choose_policy(const Parsed& parsed) {
  TRY_SET(ChosenPolicy chosen, base_policy(parsed));
  PolicyPatch patch;
  for (const auto& [option, value] : parsed.values()) {
    if (option == Opt::kRead || option == Opt::kWrite) {
      TRY_SET(std::string path, shown_path(value, name_of(option)));
      auto access = option == Opt::kRead ? Access::kRead : Access::kWrite;
      patch.grants.push_back({std::move(path), access, std::string(name_of(option))});
      continue;
    }
    TRY(add_flag(option, name_of(option), value, patch));
    if (auto field = field_of(option); !field.empty()) patch.origins[std::string(field)] = std::string(name_of(option));
  }
  apply(patch, chosen.policy, chosen.origins);
  if (chosen.policy.network.mode != NetworkMode::kProxy)
    for (auto option : {Opt::kNetworkRules, Opt::kAllowDomain, Opt::kBlockDomain, Opt::kAllowPrivate, Opt::kMapHost, Opt::kNetworkBytes,
                        Opt::kNetworkRate, Opt::kNetworkConnections, Opt::kNetworkTime, Opt::kNetworkConnectionTime, Opt::kSecret})
      if (parsed.has(option)) return make_error(ErrorCode::kInvalid, cat(name_of(option), " is for --network proxy"));
  spread_denials(chosen.policy.filesystem);
  chosen.policy.explain_denials = parsed.has(Opt::kExplainDenials);
  for (const auto& [option, value] : parsed.values())
    if (option == Opt::kWaive) chosen.waived.emplace_back(value);
  TRY(backends::check_waivers(chosen.waived));
  TRY_SET(chosen.settings, backend_settings(parsed));
  TRY(choose_backend(parsed, chosen));
  return chosen;
}

}  // namespace hotcell
