// Paths of the command line: looked at once, with the caller's eyes and from the caller's directory.
#pragma once
#include <string>
#include <string_view>

#include "hotcell/policy.h"
#include "hotcell/result.h"

namespace hotcell {

// Without symlinks; `what` names it in the error: "--read: /data: No such file or directory".
Result<std::string> real_path(std::string_view path, std::string_view what);
// Absolute and normal, symlinks kept: the place where the cell will see it. With a `..` in it, whose meaning depends on
// the symlinks before it, the real path. It must exist.
Result<std::string> shown_path(std::string_view path, std::string_view what);
// For --deny, where the path need not exist: its existing part is resolved, the rest kept. Globs without a leading
// slash stay as they are: they hold at any depth.
std::string deny_pattern(std::string_view path);
// A folder granted by a name that is a symlink is shown under that name: whatever is denied below its real name must be
// denied there too, or the other name would be a way around.
void spread_denials(Filesystem& filesystem);

bool is_under(std::string_view path, std::string_view folder);  // or is it
// Does a cell of this policy have the host's file (absolute, and with symlinks resolved) at the place `shown`?
bool is_visible(const Policy& policy, std::string_view shown, std::string_view real);

}  // namespace hotcell
