// One change as git would write it, so that `git apply` and `patch -p1` take it.
#pragma once
#include <string>
#include <string_view>

#include "cells/files/diff.h"

namespace hotcell::cells {

// Counts lines into the change as well. Of a symbolic link the text is its target.
std::string patch_of(Change& change, std::string_view before, std::string_view now, unsigned context);
// Git knows one bit of the mode, whether it is executable; empty where that is the same.
std::string patch_of_mode(const Change& change);
std::string git_name(std::string_view prefix, std::string_view path);  // quoted where it must be

}  // namespace hotcell::cells
