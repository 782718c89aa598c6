#include <algorithm>
#include <array>
#include <cmath>

#include "base/strings.h"
#include "languages/common/language_common.h"
#include "languages/plugins.h"

namespace hotcell {

namespace {

constexpr std::array<std::string_view, 1> kAliases = {"golang"};
constexpr std::array<std::string_view, 1> kExtensions = {".go"};
constexpr std::array<std::string_view, 1> kManifests = {"go.mod"};
constexpr std::array kTools = {Tool{ToolUse::kCompile, "go", "golang-go", "version"},
                               Tool{ToolUse::kCompileFast, "gcc", "gcc"}};

// The network packages that come compiled with the toolchain were compiled with cgo; without it they are compiled anew,
// ten seconds. So a program that uses them and has no C of its own may have it; one with C of its own may not: `#cgo`
// lines are words for the C compiler, written by the program.
bool may_use_cgo(const BuildInput& in) {
  bool network = false;
  for (const auto& f : in.sources.files) {
    for (std::string_view word : {"\"C\"", "`C`", "#cgo", "\\x43", "\\u0043", "\\103"})
      if (f.text.find(word) != std::string::npos) return false;
    for (std::string_view word : {"\"net\"", "\"net/", "\"os/user\"", "\"crypto/tls\"", "\"crypto/x509\"", "\"log/syslog\""})
      network = network || f.text.find(word) != std::string::npos;
  }
  return network && in.tools.contains("gcc");
}

Result<CompileStep> compile(const BuildInput& in) {
  CompileStep step;
  TRY_SET(std::string go, need_tool(in, kGo, "go"));
  step.limits = in.sources.project ? project_limits() : compile_limits();
  // No -trimpath: the standard library that comes compiled with the toolchain would be compiled anew, ten seconds.
  // No cgo (its flags run the C compiler with words from the source), no other toolchain, no network, no settings but
  // these: nothing in a source or a module decides how it is built.
  step.env = {{"CGO_ENABLED", may_use_cgo(in) ? "1" : "0"},   {"GOTOOLCHAIN", "local"}, {"GOPROXY", "off"}, {"GOWORK", "off"},
              {"GOENV", "off"},       {"GOFLAGS", ""},          {"GOVCS", "*:off"},
              {"GOTELEMETRY", "off"}};
  std::string out = artefact_name(in.sources);
  step.outputs = {out};
  step.argv = {std::move(go), "build", "-buildvcs=false", "-ldflags=-s -w", "-o", in_work(out)};
  if (in.sources.project) {
    step.workdir = "/work";
    step.argv.push_back(in.sources.find("vendor/modules.txt") != nullptr ? "-mod=vendor" : "-mod=readonly");
    step.argv.push_back(".");
    return step;
  }
  auto files = sources_with(in.sources, kExtensions);
  step.argv.insert(step.argv.end(), files.begin(), files.end());
  return step;
}

Result<RunStep> run(const BuildInput& in) {
  TRY_SET(RunStep step, run_artefact(in));
  // The collector works harder near the limit instead of running into it; the rest is for stacks and the runtime.
  step.env["GOMEMLIMIT"] = cat(in.policy.limits.memory.n / 10 * 9, "B");
  if (in.policy.limits.cpus > 0) step.env["GOMAXPROCS"] = cat(std::max<long>(1, std::lround(std::ceil(in.policy.limits.cpus))));
  return step;
}

// `./main.go:3:1: message` and, for the toolchain's own, `# command-line-arguments` lines, which name no place.
std::vector<Diagnostic> diagnostics(std::string_view text) { return colon_diagnostics(text); }

}  // namespace

constexpr Language kGo = {
    .name = "go",
    .aliases = kAliases,
    .extensions = kExtensions,
    .interpreters = {},
    .main_file = "main.go",
    .tools = kTools,
    .manifests = kManifests,
    .needs = {.processes = 128},  // a thread for every system call that blocks
    .compile = compile,
    .run = run,
    .diagnostics = diagnostics,
};

}  // namespace hotcell
