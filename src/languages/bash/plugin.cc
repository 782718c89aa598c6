// Bash as it is; and under a profile that lists commands (bash-minimal), a restricted shell whose PATH is a folder with
// these commands and nothing else. That folder and the restricted mode are the language's own layer: they keep an honest
// script to its list and say so when it strays. The walls of the cell are what holds a dishonest one.
#include <algorithm>
#include <array>

#include "base/strings.h"
#include "languages/common/language_common.h"
#include "languages/plugins.h"

namespace hotcell {

namespace {

constexpr std::array<std::string_view, 2> kAliases = {"sh", "shell"};
constexpr std::array<std::string_view, 2> kExtensions = {".sh", ".bash"};
constexpr std::array<std::string_view, 3> kInterpreters = {"bash", "sh", "dash"};
constexpr std::array kTools = {Tool{ToolUse::kRun, "bash", "bash"}};

constexpr std::string_view kFolder = ".commands";

bool is_command(std::string_view name) {
  return !name.empty() && name[0] != '.' && name[0] != '-' && std::all_of(name.begin(), name.end(), [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-' || c == '_' ||
           c == '.' || c == '+' || c == '[';
  });
}

// Read before the restricted mode begins. Disabled builtins cannot be enabled again in it.
constexpr std::string_view kSetup =
    "enable -n exec eval source . command builtin trap ulimit umask enable 2>/dev/null\n"
    "unset BASH_ENV\n";

Result<RunStep> run(const BuildInput& in) {
  RunStep step;
  TRY_SET(std::string bash, need_tool(in, kBash, "bash"));
  const bool restricted = in.policy.language == "bash" && !in.policy.imports_allowed.empty();
  if (!restricted) {
    step.argv = {std::move(bash), in_work(in.sources.main)};
    return step;
  }
  step.argv = {std::move(bash), "-r", in_work(in.sources.main)};
  step.env["PATH"] = in_work(kFolder);
  step.env["BASH_ENV"] = in_work(cat(kFolder, "/.setup"));
  step.extra.push_back({cat(kFolder, "/.setup"), std::string(kSetup)});
  for (const auto& name : in.policy.imports_allowed) {
    if (!is_command(name)) return make_error(ErrorCode::kInvalid, cat("imports.allowed: ", printable(name), " is no name of a command"));
    // A line of shell rather than a link: files are all that can be put into a workspace.
    step.extra.push_back({cat(kFolder, "/", name), cat("#!/bin/sh\nPATH=/usr/bin:/bin exec ", name, " \"$@\"\n")});
  }
  return step;
}

}  // namespace

constexpr Language kBash = {
    .name = "bash",
    .aliases = kAliases,
    .extensions = kExtensions,
    .interpreters = kInterpreters,
    .main_file = "main.sh",
    .tools = kTools,
    .run = run,
};

}  // namespace hotcell
