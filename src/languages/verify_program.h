#pragma once
#include <string>

#include "hotcell/verify.h"

namespace hotcell {

// `hotcell-verify`: beside the running program, in ../libexec/hotcell from there, then where it was to be installed.
Result<std::string> find_verify_program();
// Children of this process.
VerifierSpawn spawn_here(std::string program);

}  // namespace hotcell
