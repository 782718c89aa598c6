#include <array>

#include "base/strings.h"
#include "languages/common/language_common.h"
#include "languages/common/warm.h"
#include "languages/plugins.h"

namespace hotcell {

namespace {

constexpr std::array<std::string_view, 3> kAliases = {"js", "node", "nodejs"};
constexpr std::array<std::string_view, 3> kExtensions = {".js", ".mjs", ".cjs"};
constexpr std::array<std::string_view, 2> kInterpreters = {"node", "nodejs"};
constexpr std::array kTools = {Tool{ToolUse::kRun, "node", "nodejs"}};

Result<RunStep> run(const BuildInput& in) {
  RunStep step;
  TRY_SET(std::string node, need_tool(in, kJavascript, "node"));
  step.argv = {std::move(node)};
  // The strict list of system calls has no memory that is both writable and executable: no JIT.
  if (in.policy.syscalls.base == "strict") step.argv.emplace_back("--jitless");
  step.argv.push_back(in_work(in.sources.main));
  return step;
}

// Loaded before the script: node looks for that only afterwards.
Result<void> prepare_warm(const BuildInput&, std::span<const OutputFile>, RunStep& step) {
  step.extra.push_back({cat(kWarmFolder, "/warm.js"), std::string(warm_prelude("warm.js"))});
  step.argv.insert(step.argv.begin() + 1, {"-r", in_work(cat(kWarmFolder, "/warm.js"))});
  return {};
}

// `import` and `export` statements make it a module, and node decides by the name.
std::string_view code_name(std::string_view text) {
  for (auto line : split(text, '\n')) {
    line = trim(line);
    for (std::string_view word : {"import ", "import{", "import\"", "import'", "export ", "export{"})
      if (line.starts_with(word)) return "main.mjs";
  }
  return {};
}

}  // namespace

constexpr Language kJavascript = {
    .name = "javascript",
    .aliases = kAliases,
    .extensions = kExtensions,
    .interpreters = kInterpreters,
    .main_file = "main.js",
    .tools = kTools,
    .needs = {.processes = 64},  // node starts about eleven threads, and each worker of the program four more
    .run = run,
    .code_name = code_name,
    .warm = {.prepare = prepare_warm, .source = {}, .arguments = true},
};

}  // namespace hotcell
