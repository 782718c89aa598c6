// Reading what somebody wants to run: one file, a piece of text, or a folder with a manifest.
#pragma once
#include <string>
#include <string_view>

#include "hotcell/language.h"
#include "hotcell/result.h"
#include "hotcell/units.h"

namespace hotcell {

inline constexpr Bytes kLargestSource = 16_MiB;
inline constexpr Bytes kLargestProject = 64_MiB;

// What the file is called in the cell. A language that decides by the name gets one it knows: `--language c` on notes.txt
// is main.c there. Control characters in a name are refused: they would be shown to people and compilers.
Result<std::string> source_name(const Language& language, std::string_view file, std::string_view text);

// All regular files below `folder`, links not followed, without `.git` and what builds leave. `what` names it in errors.
Result<Sources> read_project(const std::string& folder, const Language& language);

}  // namespace hotcell
