// Deno: its own permissions are set as narrow as the policy, and no prompt, no download, no settings file widens them.
#include <array>

#include "base/strings.h"
#include "languages/common/language_common.h"
#include "languages/plugins.h"

namespace hotcell {

namespace {

constexpr std::array<std::string_view, 1> kInterpreters = {"deno"};
constexpr std::array kTools = {Tool{ToolUse::kRun, "deno", "npm:deno"}};

std::string listed(std::string_view flag, const std::vector<std::string>& values) {
  return values.empty() ? std::string() : cat(flag, "=", join(values, ","));
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
  step.argv = {std::move(deno), "run", "--no-prompt", "--no-remote", "--no-config", "--no-lock", "--no-npm",
               "--deny-run", "--deny-ffi", in.policy.network.mode == NetworkMode::kNone ? "--deny-net" : "--allow-net",
               listed("--allow-read", readable)};
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
    .needs = {.processes = 64, .memory = 512_MiB},
    .run = run,
};

}  // namespace hotcell
