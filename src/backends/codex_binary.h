// Where the codex program is, and how it comes there: named by a setting, installed, in our cache, or, only when that is asked
// for, fetched. What is fetched is used when its digest is the one that was given, and never otherwise.
#pragma once
#include <string>

#include "backends/settings.h"
#include "hotcell/result.h"

namespace hotcell::backends {

// Empty: nowhere. The cache is looked into only when a digest is given: it is the name there.
std::string find_codex(const Settings& settings);
// The same; and codex.auto_download=true fetches it from the first of codex.sources that has it.
Result<std::string> ensure_codex(const Settings& settings);
// Where a program with this digest is kept, whether it is there or not.
std::string codex_cache(const std::string& sha256);

}  // namespace hotcell::backends
