// TypeScript: esbuild takes the types away in the compile cell (10 ms; the TypeScript compiler itself takes 0.4 s), node
// runs the result. A node that strips types by itself is the second choice: enums and namespaces need more than that.
#include <array>

#include "base/strings.h"
#include "languages/common/language_common.h"
#include "languages/plugins.h"

namespace hotcell {

namespace {

constexpr std::array<std::string_view, 1> kAliases = {"ts"};
constexpr std::array<std::string_view, 4> kExtensions = {".ts", ".mts", ".cts", ".tsx"};
constexpr std::array<std::string_view, 2> kInterpreters = {"ts-node", "tsx"};
constexpr std::array kTools = {Tool{ToolUse::kCompile, "esbuild", "npm:esbuild"}, Tool{ToolUse::kRun, "node", "nodejs"}};

std::string out_name(const Sources& sources) { return cat(artefact_name(sources), ".mjs"); }

Result<CompileStep> compile(const BuildInput& in) {
  CompileStep step;
  TRY_SET(std::string esbuild, need_tool(in, kTypescript, "esbuild"));
  step.limits = compile_limits();
  std::string out = out_name(in.sources);
  step.outputs = {out};
  if (!esbuild.starts_with("/usr/")) step.read.push_back(esbuild);
  step.argv = {std::move(esbuild), in_work(in.sources.main), "--bundle", "--platform=node", "--format=esm",
               "--packages=external", "--target=node18", "--log-level=warning", "--color=false", "--sourcemap=inline",
               "--sources-content=false", cat("--outfile=./", out)};
  // Modules have no require(); programs written for the other kind of module do.
  const auto* main = in.sources.find(in.sources.main);
  if (main != nullptr && main->text.find("require(") != std::string::npos && main->text.find("createRequire") == std::string::npos)
    step.argv.push_back("--banner:js=import{createRequire as $hc}from'node:module';const require=$hc(import.meta.url);");
  // A tsconfig.json among the sources would be read and could name other files; ours says nothing.
  step.argv.push_back("--tsconfig-raw={}");
  return step;
}

Result<RunStep> run(const BuildInput& in) {
  RunStep step;
  TRY_SET(std::string node, need_tool(in, kTypescript, "node"));
  step.argv = {std::move(node), "--enable-source-maps"};
  if (in.policy.syscalls.base == "strict") step.argv.emplace_back("--jitless");
  step.argv.push_back(in_work(out_name(in.sources)));
  return step;
}

//   ✘ [ERROR] Expected ";" but found "y"
//
//       main.ts:1:6:
std::vector<Diagnostic> diagnostics(std::string_view text) {
  constexpr std::size_t kMost = 200;
  std::vector<Diagnostic> out;
  std::optional<Diagnostic> open;
  for (auto line : split(text, '\n')) {
    if (out.size() == kMost) break;
    for (auto [mark, severity] : {std::pair{"[ERROR] ", "error"}, std::pair{"[WARNING] ", "warning"}}) {
      auto at = line.find(mark);
      if (at == std::string_view::npos || at > 8) continue;
      open = Diagnostic{"", 0, 0, severity, std::string(trim(line.substr(at + std::string_view(mark).size())))};
    }
    if (!open || !line.starts_with("    ") || !line.ends_with(":")) continue;
    auto parts = split(trim(line.substr(0, line.size() - 1)), ':');
    if (parts.size() != 3 || !parse_u64(parts[1]) || !parse_u64(parts[2])) continue;
    open->file = std::string(without_work(parts[0]));
    open->line = static_cast<int>(*parse_u64(parts[1]));
    open->column = static_cast<int>(*parse_u64(parts[2])) + 1;
    out.push_back(*std::move(open));
    open.reset();
  }
  return out;
}

}  // namespace

constexpr Language kTypescript = {
    .name = "typescript",
    .aliases = kAliases,
    .extensions = kExtensions,
    .interpreters = kInterpreters,
    .main_file = "main.ts",
    .tools = kTools,
    .needs = {.processes = 64},
    .compile = compile,
    .run = run,
    .diagnostics = diagnostics,
};

}  // namespace hotcell
