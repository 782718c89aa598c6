#include <array>

#include "languages/common/language_common.h"
#include "languages/plugins.h"

namespace hotcell {

namespace {

constexpr std::array<std::string_view, 1> kAliases = {"rb"};
constexpr std::array<std::string_view, 1> kExtensions = {".rb"};
constexpr std::array<std::string_view, 1> kInterpreters = {"ruby"};
constexpr std::array kTools = {Tool{ToolUse::kRun, "ruby", "ruby"}};

Result<RunStep> run(const BuildInput& in) { return run_script(in, kRuby, "ruby"); }

}  // namespace

constexpr Language kRuby = {
    .name = "ruby",
    .aliases = kAliases,
    .extensions = kExtensions,
    .interpreters = kInterpreters,
    .main_file = "main.rb",
    .tools = kTools,
    .run = run,
};

}  // namespace hotcell
