#include <algorithm>
#include <array>

#include "base/json_write.h"
#include "base/strings.h"
#include "languages/common/language_common.h"
#include "languages/common/notes.h"
#include "languages/common/warm.h"
#include "languages/plugins.h"

namespace hotcell {

namespace {

constexpr std::array<std::string_view, 2> kAliases = {"py", "python3"};
constexpr std::array<std::string_view, 2> kExtensions = {".py", ".pyw"};
constexpr std::array<std::string_view, 2> kInterpreters = {"python", "python3"};
constexpr std::string_view kGuardStart = "\n\nstart(**";
constexpr std::array kTools = {Tool{ToolUse::kRun, "python3", "python3"}};

// The profile's lists, for the guard: JSON of texts, lists and numbers is Python, too.
std::string guard_lists(const Policy& policy) {
  JsonWriter w;
  w.begin_object();
  w.field("profile", policy.name);
  w.key("allowed");
  w.begin_array();
  for (const auto& name : policy.imports_allowed) w.value(name);
  w.end_array();
  w.key("blocklist");
  w.begin_array();
  for (const auto& [module, attribute] : policy.blocklist) {
    w.begin_array();
    w.value(module);
    w.value(attribute);
    w.end_array();
  }
  w.end_array();
  auto mode = policy.audit.find("imports");
  w.field("observe", mode != policy.audit.end() && mode->second == AuditMode::kObserve ? 1 : 0);
  w.end_object();
  return w.take();
}

bool is_guarded(const Policy& policy) {
  if (!policy.language.empty() && policy.language != kPython.name) return false;
  return !policy.imports_allowed.empty() || !policy.blocklist.empty();
}

std::string rich_runner() { return cat(warm_prelude("show.py"), warm_prelude("rich.py")); }

std::string site_file() { return cat(kWarmFolder, "/sitecustomize.py"); }

// A sitecustomize of ours: site runs it before the script is looked for, so the script is the interpreter's own
// business, down to its line numbers and its `from __future__`.
Result<RunStep> run(const BuildInput& in) {
  RunStep step;
  TRY_SET(std::string python, need_tool(in, kPython, "python3"));
  step.argv = {std::move(python), in_work(in.sources.main)};
  if (!is_guarded(in.policy)) return step;
  if (in.policy.env.set.contains("PYTHONPATH"))
    return make_error(ErrorCode::kInvalid, cat("PYTHONPATH cannot be set under profile ", printable(in.policy.name),
                                               ", whose list of imports is held through it"));
  auto guard = cat(warm_prelude("guard.py"), kGuardStart, guard_lists(in.policy), ")\ndel guard, start\n");
  step.extra.push_back({site_file(), std::move(guard)});
  step.env["PYTHONPATH"] = in_work(kWarmFolder);
  step.notes = true;
  return step;
}

// One that has pyplot already has looked for fonts and a screen before it could be told that there is neither.
bool may_be_rich(const Policy& policy) {
  constexpr std::array<std::string_view, 4> kBringPyplot = {"matplotlib", "mpl_toolkits", "pylab", "seaborn"};
  auto brings = [&](std::string_view name) {
    return std::find(kBringPyplot.begin(), kBringPyplot.end(), name.substr(0, name.find('.'))) != kBringPyplot.end();
  };
  return policy.filesystem.writable_scratch && std::none_of(policy.preimport.begin(), policy.preimport.end(), brings);
}

// The guard, where there is one, starts when the waiting is over; its lines stay where they are, since tracebacks name
// them.
Result<void> prepare_warm(const BuildInput& in, std::span<const OutputFile>, RunStep& step) {
  if (step.extra.empty()) step.extra.push_back({site_file(), {}});
  auto& text = step.extra[0].text;
  text.insert(std::min(text.rfind(kGuardStart), text.size()), cat("\n\n", warm_prelude("warm.py")));
  step.env["PYTHONPATH"] = in_work(kWarmFolder);
  step.env.emplace("PYTHONDONTWRITEBYTECODE", "1");
  step.env["HOTCELL_PREIMPORT"] = join(in.policy.preimport, " ");
  if (may_be_rich(in.policy)) step.extra.push_back({cat(kWarmFolder, "/rich.py"), rich_runner()});
  return {};
}

// A runner of ours, as the text of -c: no file of it is in the program's folder.
Result<void> make_rich(const BuildInput& in, RunStep& step) {
  step.argv = {step.argv[0], "-c", rich_runner(), in_work(kNotesFile), in_work(in.sources.main)};
  step.notes = true;
  return {};
}

}  // namespace

constexpr Language kPython = {
    .name = "python",
    .aliases = kAliases,
    .extensions = kExtensions,
    .interpreters = kInterpreters,
    .main_file = "main.py",
    .tools = kTools,
    .run = run,
    .warm = {.prepare = prepare_warm, .source = {}, .arguments = true, .rich = may_be_rich},
    .rich = make_rich,
};

}  // namespace hotcell
