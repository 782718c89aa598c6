// Where init comes from: embedded in the program at build time, put into a sealed memfd so that nobody can change it
// between being looked at and being run.
#pragma once
#include <string>

#include "hotcell/result.h"
#include "sys/fd.h"

namespace hotcell {

Result<sys::Fd> load_init(const std::string& path);  // empty: the embedded one

}  // namespace hotcell
