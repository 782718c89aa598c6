// Names that nobody can guess.
#pragma once
#include <string>

namespace hotcell::sys {

std::string random_uuid();  // version 4: 122 bits by chance; empty when the kernel has none to give

}  // namespace hotcell::sys
