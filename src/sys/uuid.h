// Names that nobody has given before, and names that nobody can guess. Empty when the kernel has no chance to give.
#pragma once
#include <string>

namespace hotcell::sys {

std::string random_uuid();  // version 4: 122 bits by chance; for files and folders of ours

// What whoever knows it may use: 128 bits by chance. In the shape of a UUID, without the six bits that would say which version.
std::string random_id();
std::string random_hex();   // the same as 32 digits

}  // namespace hotcell::sys
