// WebAssembly: modules that speak WASI preview 1, and C and C++ that are made such modules first. A module becomes C (wasm2c),
// and with our own WASI layer (wasi*.c) a program. Its own memory, its own functions and that layer are all it reaches; the
// cell it then runs in is the second wall.
#include <algorithm>
#include <array>

#include "base/strings.h"
#include "languages/common/language_common.h"
#include "languages/common/warm.h"
#include "languages/plugins.h"
#include "languages/wasm/module.h"

namespace hotcell {

namespace {

constexpr std::array<std::string_view, 2> kAliases = {"wasi", "webassembly"};
constexpr std::array<std::string_view, 1> kExtensions = {".wasm"};
constexpr std::array<std::string_view, 1> kCExtensions = {".c"};
constexpr std::array<std::string_view, 4> kCppExtensions = {".cpp", ".cc", ".cxx", ".C"};
constexpr std::array kTools = {Tool{ToolUse::kCompile, "wasm2c", "wabt"}, Tool{ToolUse::kCompile, "gcc", "gcc"}};
constexpr std::array kClangTools = {Tool{ToolUse::kCompile, "clang", "clang"}, Tool{ToolUse::kCompile, "wasm-ld", "lld"},
                                    Tool{ToolUse::kCompile, "wasm2c", "wabt"}, Tool{ToolUse::kCompile, "gcc", "gcc"}};

// The native part of the process, of its memory limit: the program's text, its stack, tables.
constexpr std::uint64_t kNativePart = std::uint64_t{8} << 20;

// Debug names stay out: they are the module's to choose, and nobody reads them. Large modules take minutes with -O2.
constexpr std::string_view kTranslate = R"sh(set -e
wasm2c=$1 gcc=$2 level=$3 flags=$4 out=$5 module=$6
mkdir /tmp/module
cd /tmp/module
"$wasm2c" --no-debug-names -n prog -o prog.c "$module"
[ "$(stat -c %s prog.c)" -lt 6000000 ] || level=-O1
"$gcc" -w $flags -I. -O2 -Werror=incompatible-pointer-types -Werror=int-conversion -c /work/.hotcell-wasi/wasi_main.c /work/.hotcell-wasi/wasi_fds.c /work/.hotcell-wasi/wasi_paths.c &
"$gcc" -w -I. "$level" -fno-strict-aliasing -c prog.c -o prog.o
wait $!
"$gcc" -static -o "$out" prog.o wasi_main.o wasi_fds.o wasi_paths.o -Wl,--wrap=wasm_rt_allocate_memory,--wrap=wasm_rt_allocate_funcref_table,--wrap=wasm_rt_allocate_externref_table -lwasm-rt-impl -lm
)sh";

Result<CompileStep> translate(const BuildInput& in) {
  const SourceFile* file = in.sources.find(in.sources.main);
  if (file == nullptr) return make_error(ErrorCode::kInvalid, "no module");
  // What is only being planned has no bytes yet.
  std::string flags;
  if (!file->text.empty()) {
    TRY_SET(WasmModule module, read_wasm_module(file->text));
    if (module.has_memory) flags += " -DHOTCELL_MEMORY";
    if (!module.imports.empty()) flags += " -DHOTCELL_IMPORTS";
  }
  CompileStep step;
  step.limits = project_limits();
  std::string out = artefact_name(in.sources);
  step.outputs = {out};
  TRY_SET(std::string wasm2c, need_tool(in, kWasm, "wasm2c"));
  TRY_SET(std::string gcc, need_tool(in, kWasm, "gcc"));
  step.argv = {"/bin/sh", "-c", std::string(kTranslate), "sh", std::move(wasm2c), std::move(gcc), in.fast ? "-O0" : "-O2", std::move(flags), in_work(out),
               in_work(in.sources.main)};
  for (std::string_view name : {"wasi.h", "wasi_main.c", "wasi_fds.c", "wasi_paths.c"})
    step.extra.push_back({cat(".hotcell-wasi/", name), std::string(warm_prelude(name))});
  return step;
}

Result<RunStep> run(const BuildInput& in) {
  if (!in.policy.filesystem.grants.empty())
    return make_error(ErrorCode::kUnsupported, cat("a WASI module sees its workspace and nothing else; ", in.policy.filesystem.grants[0].path, " cannot be shown to it"));
  RunStep step;
  std::uint64_t limit = in.policy.limits.memory.n;
  step.argv = {in_work(artefact_name(in.sources)), cat("memory=", limit > 2 * kNativePart ? limit - kNativePart : limit / 2)};
  return step;
}

Result<CompileStep> compile(const BuildInput& in, const Language& language, std::string_view driver, std::span<const std::string_view> extensions) {
  CompileStep step;
  step.limits = compile_limits();
  TRY_SET(std::string clang, need_tool(in, language, "clang"));
  TRY(need_tool(in, language, "wasm-ld"));
  // Named so that what is made of it has the name that run() says.
  std::string out = cat(artefact_name(in.sources), ".wasm");
  step.outputs = {out};
  step.argv = {std::move(clang), cat("--driver-mode=", driver), "--target=wasm32-wasi", "--sysroot=/usr", in.fast ? "-O0" : "-O2", "-Wall",
               "-fno-color-diagnostics", "-fno-exceptions", "-Wl,--strip-debug", "-o", in_work(out), "-x", driver == "g++" ? "c++" : "c"};
  if (driver == "g++") step.argv.emplace_back("-std=c++20");
  else step.argv.emplace_back("-std=gnu17");
  for (auto& name : sources_with(in.sources, extensions)) step.argv.push_back(std::move(name));
  return step;
}
Result<CompileStep> compile_c(const BuildInput& in) { return compile(in, kWasmC, "gcc", kCExtensions); }
Result<CompileStep> compile_cpp(const BuildInput& in) { return compile(in, kWasmCpp, "g++", kCppExtensions); }

}  // namespace

constexpr Language kWasm = {
    .name = "wasm",
    .aliases = kAliases,
    .extensions = kExtensions,
    .interpreters = {},
    .main_file = "main.wasm",
    .tools = kTools,
    .compile = translate,
    .run = run,
    .diagnostics = colon_diagnostics,
};

constexpr Language kWasmC = {
    .name = "wasm-c",
    .extensions = kCExtensions,
    .main_file = "main.c",
    .verify_as = "c",
    .tools = kClangTools,
    .compile = compile_c,
    .run = run,
    .diagnostics = colon_diagnostics,
    .becomes = &kWasm,
};

constexpr Language kWasmCpp = {
    .name = "wasm-cpp",
    .extensions = kCppExtensions,
    .main_file = "main.cpp",
    .verify_as = "cpp",
    .tools = kClangTools,
    .compile = compile_cpp,
    .run = run,
    .diagnostics = colon_diagnostics,
    .becomes = &kWasm,
};

const Language* as_wasm(const Language& language) {
  for (const Language* l : {&kWasm, &kWasmC, &kWasmCpp})
    if (l == &language) return l;
  return language.name == "c" ? &kWasmC : language.name == "cpp" ? &kWasmCpp : nullptr;
}

}  // namespace hotcell
