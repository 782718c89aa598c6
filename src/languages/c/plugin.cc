#include <array>

#include "languages/common/language_common.h"
#include "languages/plugins.h"

namespace hotcell {

namespace {

constexpr std::array<std::string_view, 2> kAliases = {"c17", "gcc"};
constexpr std::array<std::string_view, 1> kExtensions = {".c"};
constexpr std::array kTools = {Tool{ToolUse::kCompile, "gcc", "gcc"},
                               Tool{ToolUse::kCompileFast, "tcc", "tcc", "-v"}};

Result<CompileStep> compile(const BuildInput& in) {
  CompileStep step;
  step.limits = compile_limits();
  std::string out = artefact_name(in.sources);
  step.outputs = {out};
  auto files = sources_with(in.sources, kExtensions);
  auto libraries = libraries_of_headers(in.sources);
  if (auto tcc = in.tools.find("tcc"); in.fast && tcc != in.tools.end()) {
    step.argv = {tcc->second, "-Wall", "-o", in_work(out)};
    step.argv.insert(step.argv.end(), files.begin(), files.end());
    step.argv.push_back("-lm");
    step.argv.insert(step.argv.end(), libraries.begin(), libraries.end());
    return step;
  }
  TRY_SET(std::string gcc, need_tool(in, kC, "gcc"));
  // -x c: whatever the name, it is C and not a linker script or an assembler file.
  step.argv = {std::move(gcc), "-std=gnu17", in.fast ? "-O0" : "-O2", "-Wall", "-fdiagnostics-color=never",
               "-pthread", "-o", in_work(out), "-x", "c"};
  step.argv.insert(step.argv.end(), files.begin(), files.end());
  step.argv.insert(step.argv.end(), {"-x", "none", "-lm"});
  step.argv.insert(step.argv.end(), libraries.begin(), libraries.end());
  return step;
}

}  // namespace

constexpr Language kC = {
    .name = "c",
    .aliases = kAliases,
    .extensions = kExtensions,
    .interpreters = {},
    .main_file = "main.c",
    .tools = kTools,
    .compile = compile,
    .run = run_artefact,
    .diagnostics = colon_diagnostics,
};

}  // namespace hotcell
