#include "server/rest/execute_spec.h"

#include <array>
#include <algorithm>

#include "base/strings.h"
#include "core/policy/units.h"

namespace hotcell::server {

namespace {

constexpr std::array<std::string_view, 25> kFields = {
    "command", "args",    "env",    "work_dir", "stdin",  "timeout_secs",    "memory_mb", "tier", "language", "code",
    "files",   "profile", "limits", "rich",     "verify", "network_enabled", "on_output", "warm", "explain_denials",
    "stdin_base64", "network", "secrets", "allow_domains", "block_domains", "inspect"};
constexpr std::array<std::string_view, 2> kTiers = {"light", "strong"};
constexpr std::array<std::string_view, 3> kNetworks = {"none", "proxy", "host"};
constexpr std::array<std::string_view, 2> kOnOutput = {"kill", "truncate"};

// The kernel's MAX_ARG_STRLEN for one string, and a bound of ours far below its ARG_MAX for all of them.
constexpr std::size_t kMaxString = 128 << 10, kMaxStrings = 1 << 20, kMaxVariables = 1000, kMaxArguments = 10'000;
constexpr double kMostSeconds = 1e9;

Error invalid(std::string message) { return make_error(ErrorCode::kInvalid, std::move(message)); }

Result<void> check_arguments(const std::vector<std::string>& args) {
  if (args.size() > kMaxArguments) return invalid(cat("args has more than ", kMaxArguments, " entries"));
  std::size_t total = 0;
  for (const auto& a : args) {
    total += a.size() + 1;
    if (a.size() >= kMaxString || total > kMaxStrings) return invalid("args is too long: put the data into stdin or files");
  }
  return {};
}

Result<void> check_env(const std::map<std::string, std::string>& env) {
  if (env.size() > kMaxVariables) return invalid(cat("env has more than ", kMaxVariables, " variables"));
  std::size_t total = 0;
  for (const auto& [name, value] : env) {
    total += name.size() + value.size() + 2;
    if (name.empty() || name.find('=') != std::string::npos)
      return invalid(cat("env: ", quoted(name), " is no name of a variable"));
    if (name.size() + value.size() + 2 >= kMaxString || total > kMaxStrings) return invalid("env is too long");
  }
  return {};
}

Result<void> read_what(const JsonReader& reader, JobSpec& spec) {
  std::string command;
  std::vector<std::string> args;
  TRY(reader.read_word("command", command));
  TRY(reader.read("args", args));
  TRY(reader.read_word("language", spec.language));
  TRY(reader.read("code", spec.code));
  TRY(check_arguments(args));
  const bool coded = !spec.language.empty() || reader.find("code") != nullptr;
  if (!command.empty() && coded) return invalid("give either command or language and code, not both");
  if (!coded) {
    if (command.empty()) return invalid("command is required");
    if (command.size() >= kMaxString) return invalid("command is too long");
    spec.argv.push_back(std::move(command));
    spec.argv.insert(spec.argv.end(), args.begin(), args.end());
    return {};
  }
  if (spec.language.empty()) return invalid("language is required with code");
  if (reader.find("code") == nullptr) return invalid("code is required with language");
  spec.args = std::move(args);
  return {};
}

Result<void> read_stdin(const JsonReader& reader, JobSpec& spec) {
  TRY(reader.read("stdin", spec.stdin_bytes));
  if (reader.find("stdin_base64") == nullptr) return {};
  if (reader.find("stdin") != nullptr) return invalid("give either stdin or stdin_base64, not both");
  JsonValue file;
  const JsonValue* encoded = reader.find("stdin_base64");
  file.v = JsonValue::Array{JsonValue{JsonValue::Object{
      {"name", JsonValue{std::string("stdin")}}, {"content", *encoded}, {"encoding", JsonValue{std::string("base64")}}}}};
  auto decoded = files_from_json(file);
  if (!decoded.ok()) return invalid("stdin_base64 is not valid base64");
  spec.stdin_bytes = std::move(decoded.value().front().bytes);
  return {};
}

Result<void> read_limits(const JsonReader& reader, JobSpec& spec) {
  std::optional<double> timeout;
  std::optional<std::uint64_t> memory_mb;
  TRY(reader.read("timeout_secs", timeout));
  TRY(reader.read("memory_mb", memory_mb));
  if (const JsonValue* limits = reader.find("limits")) {
    TRY_SET(spec.limits, limits_from_json(*limits));
  }
  // 0 is the founders' word for "not said": the default, never "without end".
  if (timeout.value_or(0) > 0) {
    if (*timeout >= 0x1p64) return invalid("timeout_secs is too large");
    std::chrono::duration<double> seconds(std::min(*timeout, kMostSeconds));
    spec.timeout = std::max(std::chrono::duration_cast<Nanoseconds>(seconds), Nanoseconds(std::chrono::milliseconds(1)));
  }
  if (memory_mb.value_or(0) > 0) {
    if (spec.limits.memory) return invalid("give either memory_mb or limits.memory, not both");
    if (*memory_mb > (1ULL << 30)) return invalid("memory_mb is too large");
    spec.limits.memory = Bytes{*memory_mb << 20};
  }
  return {};
}

}  // namespace

Result<void> check_profile_name(std::string_view name) {
  auto fits = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-' || c == '_' || c == '.';
  };
  if (name.size() > 64 || !std::all_of(name.begin(), name.end(), fits) || name.starts_with('.') ||
      name.ends_with(".yaml") || name.ends_with(".yml"))
    return invalid(cat("profile must be the name of a profile, not ", quoted(name)));
  return {};
}

Result<void> check_profile_known(std::string_view name, const ProfileSearch& search) {
  TRY(check_profile_name(name));
  for (const auto& entry : list_profiles(search)) {
    if (entry.name == name) return {};
  }
  return make_error(ErrorCode::kNotFound, cat("there is no profile ", quoted(name)));
}

Result<std::string> work_dir_from(std::string_view said) {
  if (said.empty()) return std::string();
  const bool absolute = said.front() == '/';
  std::string path = absolute ? "" : "/work";
  for (auto part : split(said, '/')) {
    if (part.empty() || part == ".") continue;
    if (part == ".." || part.front() == '~' || part.size() > 255)
      return invalid(cat("work_dir must be a plain path inside the cell, not ", quoted(said)));
    path += cat("/", part);
  }
  if (path.empty()) path = "/";
  if (path.size() >= 4096) return invalid("work_dir is too long");
  // A descriptor's link under /proc leads wherever the descriptor does.
  for (std::string_view hidden : {"/proc", "/sys", "/dev"}) {
    if (path_contains(hidden, path)) return invalid(cat("work_dir cannot be in ", hidden));
  }
  return path;
}

Result<void> read_domains(const JsonReader& reader, JobSpec& spec) {
  if (reader.find("allow_domains") != nullptr) {
    spec.allow_domains.emplace();
    TRY(reader.read("allow_domains", *spec.allow_domains));
  }
  TRY(reader.read("block_domains", spec.block_domains));
  constexpr std::size_t kMost = 1000;
  if (spec.block_domains.size() > kMost || (spec.allow_domains && spec.allow_domains->size() > kMost))
    return invalid(cat("allow_domains, block_domains: more than ", kMost));
  return {};
}

Result<InspectMode> inspect_from_json(const JsonReader& reader) {
  static constexpr std::array<std::string_view, 3> kModes = {"report", "mark", "block"};
  std::string mode;
  TRY(reader.read_choice("inspect", kModes, mode));
  return mode.empty() ? InspectMode::kOff : inspect_mode(mode).value_or(InspectMode::kBlock);
}

Result<JobSpec> job_spec_from_json(const JsonValue& body) {
  if (body.object() != nullptr && body.find("waive") != nullptr) return invalid(cat("invalid request body: ", kNoWaivers));
  TRY_SET(auto reader, JsonReader::of(body, "", kFields));
  JobSpec spec;
  std::string work_dir, on_output;
  TRY(read_what(reader, spec));
  TRY(reader.read("env", spec.env));
  TRY(check_env(spec.env));
  TRY(reader.read("secrets", spec.secrets));
  TRY(reader.read_word("work_dir", work_dir));
  TRY_SET(spec.workdir, work_dir_from(work_dir));
  TRY(read_stdin(reader, spec));
  TRY(read_limits(reader, spec));
  TRY(reader.read_choice("tier", kTiers, spec.tier));
  TRY(reader.read_word("profile", spec.profile));
  TRY(check_profile_name(spec.profile));
  if (const JsonValue* files = reader.find("files")) {
    TRY_SET(spec.files, files_from_json(*files));
  }
  TRY(reader.read("rich", spec.rich));
  TRY(reader.read("verify", spec.verify));
  TRY(reader.read("warm", spec.warm));
  TRY(reader.read("explain_denials", spec.explain_denials));
  TRY(reader.read("network_enabled", spec.network));
  std::string network;
  TRY(reader.read_choice("network", kNetworks, network));
  if (!network.empty()) {
    if (spec.network) return make_error(ErrorCode::kInvalid, "give either network or network_enabled, not both");
    spec.network = network != "none";
    spec.network_mode = network == "proxy" ? NetworkMode::kProxy : network == "host" ? NetworkMode::kHost : NetworkMode::kNone;
  }
  TRY(read_domains(reader, spec));
  TRY_SET(spec.inspect, inspect_from_json(reader));
  TRY(reader.read_choice("on_output", kOnOutput, on_output));
  // The founders truncate.
  spec.on_output = on_output == "kill" ? OnOutput::kKill : OnOutput::kTruncate;
  return spec;
}

}  // namespace hotcell::server
