#include <array>

#include "languages/common/language_common.h"
#include "languages/plugins.h"

namespace hotcell {

namespace {

constexpr std::array<std::string_view, 1> kAliases = {"pl"};
constexpr std::array<std::string_view, 1> kExtensions = {".pl"};
constexpr std::array<std::string_view, 1> kInterpreters = {"perl"};
constexpr std::array kTools = {Tool{ToolUse::kRun, "perl", "perl"}};

Result<RunStep> run(const BuildInput& in) { return run_script(in, kPerl, "perl"); }

}  // namespace

constexpr Language kPerl = {
    .name = "perl",
    .aliases = kAliases,
    .extensions = kExtensions,
    .interpreters = kInterpreters,
    .main_file = "main.pl",
    .tools = kTools,
    .run = run,
};

}  // namespace hotcell
