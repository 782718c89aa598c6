#include <array>

#include "languages/common/language_common.h"
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

}  // namespace

constexpr Language kPython = {
    .name = "python",
    .aliases = kAliases,
    .extensions = kExtensions,
    .interpreters = kInterpreters,
    .main_file = "main.py",
    .tools = kTools,
    .run = run,
};

}  // namespace hotcell
