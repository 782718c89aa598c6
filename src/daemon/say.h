// What the supervisor has to say on standard error, in the format that the front writes, too.
#pragma once
#include <string_view>

namespace hotcell::daemon {

void say_json(bool json);  // from now on, one object a line
void say(std::string_view text, std::string_view level = "warning");

}  // namespace hotcell::daemon
