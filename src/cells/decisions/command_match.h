// A command against a pattern of words.
#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "cells/decisions/command_list.h"

namespace hotcell::cells {

enum class Match : std::uint8_t { kNo, kMaybe, kYes };  // kMaybe: depends on what the shell makes of its words
// A program given by its path is its last part to a rule that forbids, and to one that allows only where the system's
// programs are: ./ls is not ls.
enum class For : std::uint8_t { kAllowing, kForbidding };

Match match_command(std::string_view pattern, const ListedCommand& command, For purpose);
// Why nobody should write this pattern; nullopt when it is fine.
std::optional<std::string> command_pattern_problem(std::string_view pattern);

}  // namespace hotcell::cells
