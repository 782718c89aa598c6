#pragma once
#include <string>

namespace hotcell {

std::string bash_completion();
std::string zsh_completion();
std::string fish_completion();

}  // namespace hotcell
