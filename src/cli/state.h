// What `history`, `audit` and `key` share: where the daemon keeps its state, and how a command ends.
#pragma once
#include <chrono>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

#include "cli/commands.h"
#include "cli/options.h"
#include "hotcell/result.h"

namespace hotcell {

enum class Missing : std::uint8_t { kRefuse, kMake };
// --state, or the folder that the configuration says. Looking at a state that is not there must not make one.
Result<std::string> state_folder(const Parsed& parsed, Missing missing);
Result<std::size_t> count_option(const Parsed& parsed, Opt option, std::size_t without, std::size_t most);
std::string utc_time(std::chrono::system_clock::time_point time);  // 2026-01-31T12:00:00Z; empty for none

// Parses, prints --help, and turns an error into a sentence and 125.
int run_command(Command command, Args args, const std::function<Result<int>(const Parsed&)>& body);

}  // namespace hotcell
