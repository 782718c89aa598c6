#include <array>

#include "base/strings.h"
#include "languages/common/language_common.h"
#include "languages/common/warm.h"
#include "languages/plugins.h"

namespace hotcell {

namespace {

constexpr std::array<std::string_view, 2> kAliases = {"py", "python3"};
constexpr std::array<std::string_view, 2> kExtensions = {".py", ".pyw"};
constexpr std::array<std::string_view, 2> kInterpreters = {"python", "python3"};
constexpr std::array kTools = {Tool{ToolUse::kRun, "python3", "python3"}};

Result<RunStep> run(const BuildInput& in) {
  RunStep step;
  TRY_SET(std::string python, need_tool(in, kPython, "python3"));
  step.argv = {std::move(python), in_work(in.sources.main)};
  return step;
}

// A sitecustomize of ours: site runs it before the script is looked for.
Result<void> prepare_warm(const BuildInput& in, std::span<const OutputFile>, RunStep& step) {
  step.extra.push_back({cat(kWarmFolder, "/sitecustomize.py"), std::string(warm_prelude("warm.py"))});
  step.env["PYTHONPATH"] = in_work(kWarmFolder);
  step.env.emplace("PYTHONDONTWRITEBYTECODE", "1");
  step.env["HOTCELL_PREIMPORT"] = join(in.policy.preimport, " ");
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
    .warm = {.prepare = prepare_warm, .source = {}, .arguments = true},
};

}  // namespace hotcell
