// Deno: its own permissions are set as narrow as the policy, and no prompt, no download, no settings file widens them.
#include <algorithm>
#include <array>
#include <iterator>

#include "base/strings.h"
#include "core/policy/proxy_env.h"
#include "languages/common/language_common.h"
#include "languages/plugins.h"

namespace hotcell {

namespace {

constexpr std::array<std::string_view, 1> kInterpreters = {"deno"};
constexpr std::array kTools = {Tool{ToolUse::kRun, "deno", "npm:deno"}};

std::string listed(std::string_view flag, const std::vector<std::string>& values) {
  return values.empty() ? std::string() : cat(flag, "=", join(values, ","));
}

// What Deno knows of hosts: a name or an address of four numbers, and one port behind it or none.
bool is_plain_host(std::string_view text) {
  auto colon = text.find(':');
  auto name = text.substr(0, colon);
  if (colon != text.npos && !parse_u64(text.substr(colon + 1))) return false;
  return !name.empty() && name[0] != '.' && std::all_of(name.begin(), name.end(), [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '.' || c == '-';
  });
}

// Deno asks for the host that is meant, also where a proxy is between. Stars, networks and groups it has no words for:
// there the proxy alone decides, which is the only way out in any case.
std::vector<std::string> network_flags(const Network& network) {
  if (network.mode == NetworkMode::kNone || (network.mode == NetworkMode::kProxy && network.rules == RuleMode::kClosed)) return {"--deny-net"};
  if (network.mode == NetworkMode::kHost) return {"--allow-net"};
  std::vector<std::string> hosts = {cat("127.0.0.1:", kProxyPort)}, blocked;
  hosts.insert(hosts.end(), network.allow.begin(), network.allow.end());
  const bool plain = network.rules == RuleMode::kAllowlist && std::all_of(hosts.begin(), hosts.end(), is_plain_host);
  std::vector<std::string> out = {plain ? listed("--allow-net", hosts) : "--allow-net"};
  std::copy_if(network.block.begin(), network.block.end(), std::back_inserter(blocked), is_plain_host);
  if (!blocked.empty()) out.push_back(listed("--deny-net", blocked));
  return out;
}

Result<RunStep> run(const BuildInput& in) {
  RunStep step;
  TRY_SET(std::string deno, need_tool(in, kDeno, "deno"));
  if (!deno.starts_with("/usr/")) step.read.push_back(deno);
  std::vector<std::string> readable = {"/work", "/tmp"}, writable, names;
  if (in.policy.filesystem.writable_scratch) writable = readable;
  for (const auto& g : in.policy.filesystem.grants) {
    // A comma would end the path for Deno and begin another.
    if (g.path.find(',') != std::string::npos) continue;
    readable.push_back(g.path);
    if (g.access == Access::kWrite) writable.push_back(g.path);
  }
  for (const auto& [name, value] : in.policy.env.set) names.push_back(name);
  for (const auto& name : in.policy.env.pass) names.push_back(name);
  if (in.env != nullptr)
    for (const auto& [name, value] : *in.env) names.push_back(name);
  step.argv = {std::move(deno), "run", "--no-prompt", "--no-remote", "--no-config", "--no-lock", "--no-npm",
               "--deny-run", "--deny-ffi", listed("--allow-read", readable)};
  for (auto& flag : network_flags(in.policy.network)) step.argv.push_back(std::move(flag));
  // The strict list of system calls has no memory that is both writable and executable: no JIT.
  if (in.policy.syscalls.base == "strict") step.argv.emplace_back("--v8-flags=--jitless");
  for (auto flag : {listed("--allow-write", writable), listed("--allow-env", names)})
    if (!flag.empty()) step.argv.push_back(std::move(flag));
  step.argv.push_back(in_work(in.sources.main));
  step.env = {{"DENO_NO_UPDATE_CHECK", "1"}, {"NO_COLOR", "1"}};
  return step;
}

}  // namespace

constexpr Language kDeno = {
    .name = "deno",
    .aliases = {},
    .extensions = {},  // .js is node's, .ts TypeScript's: Deno is asked for by name or by #! line
    .interpreters = kInterpreters,
    .main_file = "main.ts",
    .verify_as = "typescript",
    .tools = kTools,
    // 512 MiB are mapped for code at once, which counts where no cgroup counts what is used (RLIMIT_DATA).
    .needs = {.processes = 64, .memory = 768_MiB},
    .run = run,
};

}  // namespace hotcell
