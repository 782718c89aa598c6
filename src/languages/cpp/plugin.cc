#include <array>

#include "languages/common/language_common.h"
#include "languages/plugins.h"

namespace hotcell {

namespace {

constexpr std::array<std::string_view, 3> kAliases = {"c++", "cxx", "g++"};
constexpr std::array<std::string_view, 4> kExtensions = {".cpp", ".cc", ".cxx", ".C"};
constexpr std::array kTools = {Tool{ToolUse::kCompile, "g++", "g++"}, Tool{ToolUse::kCompileFast, "mold", "mold"}};

Result<CompileStep> compile(const BuildInput& in) {
  CompileStep step;
  step.limits = compile_limits();
  TRY_SET(std::string gxx, need_tool(in, kCpp, "g++"));
  std::string out = artefact_name(in.sources);
  step.outputs = {out};
  step.argv = {std::move(gxx), "-std=c++20", in.fast ? "-O0" : "-O2", "-Wall", "-fdiagnostics-color=never",
               "-pthread", "-o", in_work(out)};
  if (in.tools.contains("mold")) step.argv.emplace_back("-fuse-ld=mold");  // a tenth of a second less
  step.argv.insert(step.argv.end(), {"-x", "c++"});  // whatever the name: no linker script, no assembler file
  auto files = sources_with(in.sources, kExtensions);
  step.argv.insert(step.argv.end(), files.begin(), files.end());
  return step;
}

Result<RunStep> run(const BuildInput& in) {
  RunStep step;
  step.argv = {in_work(artefact_name(in.sources))};
  return step;
}

}  // namespace

constexpr Language kCpp = {
    .name = "cpp",
    .aliases = kAliases,
    .extensions = kExtensions,
    .interpreters = {},
    .main_file = "main.cpp",
    .tools = kTools,
    .compile = compile,
    .run = run,
    .diagnostics = colon_diagnostics,
};

}  // namespace hotcell
