#include <array>

#include "base/strings.h"
#include "languages/common/language_common.h"
#include "languages/plugins.h"

namespace hotcell {

namespace {

constexpr std::array<std::string_view, 3> kAliases = {"c++", "cxx", "g++"};
constexpr std::array<std::string_view, 4> kExtensions = {".cpp", ".cc", ".cxx", ".C"};
constexpr std::array kTools = {Tool{ToolUse::kCompile, "g++", "g++"}, Tool{ToolUse::kCompileFast, "mold", "mold"}};

// The header of all headers: three seconds of processor time to read, a tenth of that when it was read before. g++ takes what
// is ready when the flags are the same and nothing stands before the #include, and reads the header itself otherwise.
constexpr std::string_view kAll = "bits/stdc++.h";

std::optional<ReadyHeader> ready_header(const Sources& sources, const std::vector<std::string>& compiler) {
  bool wanted = false;
  for (const auto& f : sources.files) wanted = wanted || f.text.find(kAll) != f.text.npos;
  if (!wanted) return std::nullopt;
  ReadyHeader out;
  out.argv = compiler;
  out.argv.insert(out.argv.end(), {"-x", "c++-header", "-o", in_work("header.gch"), in_work("header.h")});
  out.text = cat("#include <", kAll, ">\n");
  out.output = "header.gch";
  out.name = cat(kAll, ".gch");
  out.option = "-I";
  return out;
}

Result<CompileStep> compile(const BuildInput& in) {
  CompileStep step;
  step.limits = compile_limits();
  TRY_SET(std::string gxx, need_tool(in, kCpp, "g++"));
  std::string out = artefact_name(in.sources);
  step.outputs = {out};
  step.argv = {std::move(gxx), "-std=c++20", in.fast ? "-O0" : "-O2", "-Wall", "-fdiagnostics-color=never", "-pthread"};
  step.header = ready_header(in.sources, step.argv);
  step.argv.insert(step.argv.end(), {"-o", in_work(out)});
  if (in.tools.contains("mold")) step.argv.emplace_back("-fuse-ld=mold");  // a tenth of a second less
  step.argv.insert(step.argv.end(), {"-x", "c++"});  // whatever the name: no linker script, no assembler file
  auto files = sources_with(in.sources, kExtensions);
  step.argv.insert(step.argv.end(), files.begin(), files.end());
  if (auto libraries = libraries_of_headers(in.sources); !libraries.empty()) {
    step.argv.insert(step.argv.end(), {"-x", "none"});
    step.argv.insert(step.argv.end(), libraries.begin(), libraries.end());
  }
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
    .run = run_artefact,
    .diagnostics = colon_diagnostics,
};

}  // namespace hotcell
