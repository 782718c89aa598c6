#include "cli/serve_options.h"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <climits>

#include "base/strings.h"
#include "net/door/order.h"
#include "net/tool_config.h"

namespace hotcell {
namespace {

enum class Value { kText, kPath, kProfile, kTrue };
struct Row {
  Opt option;
  std::string_view name, field;
  Value value;
};
constexpr std::array kRows = {
    Row{Opt::kListen, "--listen", "listen", Value::kText},
    Row{Opt::kUnix, "--unix", "unix_socket", Value::kPath},
    Row{Opt::kState, "--state", "state_dir", Value::kPath},
    Row{Opt::kRequireKey, "--require-key", "auth.require_key", Value::kTrue},
    Row{Opt::kTlsCert, "--tls-cert", "tls.cert", Value::kPath},
    Row{Opt::kTlsKey, "--tls-key", "tls.key", Value::kPath},
    Row{Opt::kProfile, "--profile", "default_profile", Value::kProfile},
    Row{Opt::kMaxRunning, "--max-running", "queue.running", Value::kText},
    Row{Opt::kLogFormat, "--log-format", "log.format", Value::kText},
    Row{Opt::kLogLevel, "--log-level", "log.level", Value::kText},
};

// Relative to where the command was typed; the daemon's own folder is another. Need not exist yet. `..` is taken by
// its letters: whoever means a symlink's parent says so by its real name.
Result<std::string> absolute(std::string_view path) {
  char here[PATH_MAX];
  std::string full(path);
  if (!path.starts_with('/')) {
    if (::getcwd(here, sizeof here) == nullptr) return errno_error("current folder", errno);
    full = cat(here, "/", path);
  }
  std::vector<std::string> parts;
  for (auto part : split(full, '/')) {
    if (part.empty() || part == ".") continue;
    if (part != "..") parts.emplace_back(part);
    else if (!parts.empty()) parts.pop_back();
  }
  return cat("/", join(parts, "/"));
}

Result<std::string> value_for(Value kind, std::string_view text) {
  if (kind == Value::kTrue) return std::string("true");
  if (kind == Value::kPath) return absolute(text);
  // A profile with a slash is a file, as for run.
  if (kind == Value::kProfile && text.find('/') != text.npos) return absolute(text);
  return std::string(text);
}

}  // namespace

Result<server::ConfigSources> serve_sources(const Parsed& parsed) {
  auto sources = server::standard_sources();
  if (auto file = parsed.last(Opt::kConfig)) sources.only_file = std::string(*file);
  for (const auto& [option, text] : parsed.values()) {
    auto row = std::find_if(kRows.begin(), kRows.end(), [&](const Row& r) { return r.option == option; });
    if (row == kRows.end()) continue;
    TRY_SET(std::string value, value_for(row->value, text));
    auto& given = sources.options;
    auto same = std::find_if(given.begin(), given.end(), [&](const auto& o) { return o.field == row->field; });
    if (same == given.end()) given.push_back({std::string(row->name), std::string(row->field), {std::move(value)}});
    else if (option == Opt::kListen) same->values.push_back(std::move(value));
    else same->values = {std::move(value)};  // of two, the later
  }
  return sources;
}

Result<server::Config> serve_config(const Parsed& parsed) {
  TRY_SET(auto sources, serve_sources(parsed));
  return server::load_config(sources);
}

Result<std::vector<std::string>> proxy_words(const server::Config& config) {
  net::RuleOptions rules;
  rules.block = config.network_block;
  rules.allow_private = config.network_private;
  TRY(net::allow_hosts(config.network_allow, "network.allow:", rules));
  TRY(net::RuleSet::create(rules).context("network"));
  auto words = net::rule_words(rules);
  net::ProxyLimits limits;
  limits.bytes = config.network_bytes.n;
  limits.bytes_per_second = config.network_rate.n;
  limits.connections = config.network_connections;
  limits.time = std::chrono::ceil<std::chrono::milliseconds>(config.network_time);
  limits.life = std::chrono::ceil<std::chrono::milliseconds>(config.network_connection_time);
  for (auto& word : net::limit_words(limits)) words.push_back(std::move(word));
  return words;
}

}  // namespace hotcell
