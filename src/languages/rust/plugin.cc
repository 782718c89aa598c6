#include <array>

#include "base/strings.h"
#include "languages/common/language_common.h"
#include "languages/plugins.h"

namespace hotcell {

namespace {

constexpr std::array<std::string_view, 1> kAliases = {"rs"};
constexpr std::array<std::string_view, 1> kExtensions = {".rs"};
constexpr std::array<std::string_view, 1> kManifests = {"Cargo.toml"};
constexpr std::array kTools = {Tool{ToolUse::kCompile, "rustc", "rustc"}, Tool{ToolUse::kCompile, "cargo", "cargo"}};

// `name = "x"` of [package]: what cargo calls the program.
std::string package_name(std::string_view manifest) {
  std::string_view section;
  for (auto line : split(manifest, '\n')) {
    line = trim(line);
    if (line.starts_with('[')) section = line;
    if (section != "[package]" || !line.starts_with("name")) continue;
    auto first = line.find('"'), last = line.rfind('"');
    if (first != std::string_view::npos && last > first + 1) return std::string(line.substr(first + 1, last - first - 1));
  }
  return "main";
}

std::string program_name(const Sources& sources) {
  if (!sources.project) return artefact_name(sources);
  const auto* manifest = sources.find(sources.main);
  return manifest == nullptr ? "main" : package_name(manifest->text);
}

Result<CompileStep> compile(const BuildInput& in) {
  CompileStep step;
  if (in.sources.project) {
    TRY_SET(std::string cargo, need_tool(in, kRust, "cargo"));
    std::string name = program_name(in.sources);
    if (name.find('/') != std::string::npos || name.starts_with('.'))
      return make_error(ErrorCode::kInvalid, cat("Cargo.toml: ", printable(name), " is no name of a package"));
    step.limits = project_limits();
    step.argv = {std::move(cargo), "build", "--release", "--offline", "--color", "never", "--manifest-path",
                 "/work/Cargo.toml", "--target-dir", ".target"};
    // Stripped as below: the standard library's debug information is 11 MB, more than `strict` has room for.
    step.env = {{"CARGO_NET_OFFLINE", "true"},
                {"CARGO_TERM_PROGRESS_WHEN", "never"},
                {"CARGO_PROFILE_RELEASE_STRIP", "debuginfo"}};
    step.outputs = {cat(".target/release/", name)};
    return step;
  }
  TRY_SET(std::string rustc, need_tool(in, kRust, "rustc"));
  step.limits = compile_limits();
  std::string out = artefact_name(in.sources);
  step.outputs = {out};
  step.argv = {std::move(rustc), "--edition=2021", "--crate-name", "main", "--crate-type", "bin", "-C",
               cat("opt-level=", in.fast ? 0 : 2), "-C", "debuginfo=0", "-C", "strip=debuginfo", "--color", "never", "-o", in_work(out),
               in_work(in.sources.main)};
  return step;
}

Result<RunStep> run(const BuildInput& in) {
  RunStep step;
  step.argv = {in_work(program_name(in.sources))};
  return step;
}

//   error[E0425]: cannot find value `x` in this scope
//    --> /work/main.rs:2:20
std::vector<Diagnostic> diagnostics(std::string_view text) {
  constexpr std::size_t kMost = 200;
  std::vector<Diagnostic> out;
  std::optional<Diagnostic> open;
  for (auto line : split(text, '\n')) {
    if (out.size() == kMost) break;
    for (std::string_view word : {"error", "warning"}) {
      if (!line.starts_with(word)) continue;
      auto rest = line.substr(word.size());
      auto colon = rest.find(": ");
      if (colon == std::string_view::npos || !(colon == 0 || rest[0] == '[')) continue;
      if (rest.substr(colon + 2).starts_with("aborting due to")) continue;  // says that there was one before
      open = Diagnostic{"", 0, 0, std::string(word), std::string(trim(rest.substr(colon + 2)))};
    }
    auto trimmed = trim(line);
    if (!open || !trimmed.starts_with("--> ")) continue;
    auto parts = split(trimmed.substr(4), ':');
    if (parts.size() < 3) continue;
    open->column = static_cast<int>(parse_u64(parts.back()).value_or(0));
    open->line = static_cast<int>(parse_u64(parts[parts.size() - 2]).value_or(0));
    auto place = trimmed.substr(4);
    open->file = std::string(without_work(place.substr(0, place.size() - parts.back().size() - parts[parts.size() - 2].size() - 2)));
    out.push_back(*std::move(open));
    open.reset();
  }
  // A message without a place, such as the linker's, is worth as much when it is all there is.
  if (out.empty() && open) out.push_back(*std::move(open));
  return out;
}

}  // namespace

constexpr Language kRust = {
    .name = "rust",
    .aliases = kAliases,
    .extensions = kExtensions,
    .interpreters = {},
    .main_file = "main.rs",
    .tools = kTools,
    .manifests = kManifests,
    .compile = compile,
    .run = run,
    .diagnostics = diagnostics,
};

}  // namespace hotcell
