// What the words of a command become as far as the text itself says: variables that it sets, $(echo …), $(printf … | base64 -d).
#pragma once
#include <map>
#include <optional>
#include <string>

#include "inspect/command_tools.h"
#include "parse/shell.h"

namespace hotcell::inspect {

inline constexpr std::size_t kLongestCommand = 256u << 10;  // more is data, not a command

using Variables = std::map<std::string, std::string, std::less<>>;

// What cannot be told is "$NAME" or the byte 1.
std::string expand(const ShellScript& s, ShellId word, const Variables& variables);
// What echo and printf write, given their words.
std::optional<std::string> printed(const Words& words);
void note_assignments(const ShellScript& s, const ShellNode& node, Variables& variables);

}  // namespace hotcell::inspect
