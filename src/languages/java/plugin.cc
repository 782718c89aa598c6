#include <algorithm>
#include <array>

#include "base/strings.h"
#include "languages/java/source_outline.h"
#include "languages/common/language_common.h"
#include "languages/common/warm.h"
#include "languages/java/agent_jar.h"
#include "languages/plugins.h"

namespace hotcell {

namespace {

constexpr std::array<std::string_view, 1> kAliases = {"jdk"};
constexpr std::array<std::string_view, 1> kExtensions = {".java"};
constexpr std::array kTools = {Tool{ToolUse::kCompile, "javac", "default-jdk-headless"},
                               Tool{ToolUse::kRun, "java", "default-jre-headless"}};

// Where the classes are, in the compile cell and in the run cell.
constexpr std::string_view kClasses = "classes";

Result<CompileStep> compile(const BuildInput& in) {
  CompileStep step;
  TRY_SET(std::string javac, need_tool(in, kJava, "javac"));
  step.limits = compile_limits();
  step.outputs = {std::string(kClasses)};
  // No annotation processors: they are programs that run inside the compiler. No class path: nothing but the sources.
  step.argv = {std::move(javac), "-J-Xmx640m", "-J-XX:+UseSerialGC", "-J-XX:TieredStopAtLevel=1", "-J-XX:-UsePerfData",
               "-proc:none", "-encoding", "UTF-8", "-Xlint:none", "-nowarn", "-cp", "/work/.none", "-sourcepath", "/work/.none", "-d",
               in_work(kClasses)};
  auto files = sources_with(in.sources, kExtensions);
  step.argv.insert(step.argv.end(), files.begin(), files.end());
  return step;
}

std::string file_name(std::string_view text) {
  auto outline = java_outline(text);
  return outline.public_type.empty() || outline.public_type.size() > 200 ? std::string() : cat(outline.public_type, ".java");
}

std::string main_class(const Sources& sources) {
  const auto* main = sources.find(sources.main);
  auto outline = java_outline(main == nullptr ? std::string_view() : std::string_view(main->text));
  std::string name = !outline.main_type.empty()     ? outline.main_type
                     : !outline.public_type.empty() ? outline.public_type
                                                    : artefact_name(sources);
  return outline.package.empty() ? name : cat(outline.package, ".", name);
}

bool is_module(std::string_view name) {
  return name.starts_with("java.") && std::all_of(name.begin(), name.end(), [](char c) { return (c >= 'a' && c <= 'z') || c == '.'; });
}

// The profile's list, as far as it names modules of the platform. The class data archive cannot be used with it, which
// doubles the start, so without a list it is left out.
std::string modules(const Policy& policy) {
  if (policy.language != "java" || policy.imports_allowed.empty()) return {};
  constexpr std::array<std::string_view, 9> kKnown = {"java.base", "java.logging", "java.xml", "java.sql", "java.desktop",
                                                      "java.net.http", "java.management", "java.prefs", "java.compiler"};
  std::string out = "java.base";
  for (const auto& name : policy.imports_allowed)
    if (is_module(name) && name != "java.base" && std::find(kKnown.begin(), kKnown.end(), name) != kKnown.end()) out += cat(",", name);
  return out;
}

Result<RunStep> run(const BuildInput& in) {
  RunStep step;
  TRY_SET(std::string java, need_tool(in, kJava, "java"));
  // Half of the memory is the heap's; the rest is for classes, compiled code, stacks and the collector's own tables.
  auto heap = std::max<std::uint64_t>(in.policy.limits.memory.n / 2 >> 20, 16);
  step.argv = {std::move(java),
               cat("-Xmx", heap, "m"),
               "-Xshare:auto",
               "-XX:+UseSerialGC",
               "-XX:ReservedCodeCacheSize=32m",
               "-XX:-UsePerfData",
               "-XX:+DisableAttachMechanism",
               "-XX:-CreateCoredumpOnCrash",
               "-Dfile.encoding=UTF-8"};
  if (auto list = modules(in.policy); !list.empty()) step.argv.insert(step.argv.end(), {"--limit-modules", list});
  step.argv.insert(step.argv.end(), {"-cp", in_work(kClasses), main_class(in.sources)});
  return step;
}

// An agent of ours: the JVM calls it before the main class is looked for. Arguments are read by then.
Result<void> prepare_warm(const BuildInput&, std::span<const OutputFile> helper, RunStep& step) {
  for (const auto& f : helper) {
    if (!f.name.ends_with("Warm.class")) continue;
    std::string jar = cat(kWarmFolder, "/warm.jar");
    step.extra.push_back({jar, agent_jar("Warm", f.bytes)});
    // A class path that is no folder when the JVM starts is taken for a jar.
    step.extra.push_back({cat(kClasses, "/.waiting"), ""});
    step.argv.insert(step.argv.begin() + 1, cat("-javaagent:", in_work(jar)));
    return {};
  }
  return make_error(ErrorCode::kInternal, "the agent was not compiled");
}

}  // namespace

constexpr Language kJava = {
    .name = "java",
    .aliases = kAliases,
    .extensions = kExtensions,
    .interpreters = {},
    .main_file = "Main.java",
    .tools = kTools,
    .needs = {.processes = 128},  // collector, compilers, timers: some twenty before main, and more when it is busy
    .compile = compile,
    .run = run,
    .diagnostics = colon_diagnostics,
    .file_name = file_name,
    .warm = {.prepare = prepare_warm, .source = "Warm.java", .arguments = false},
};

}  // namespace hotcell
