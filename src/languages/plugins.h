// Each language's plugin, defined in its own folder (plugin*.cc).
#pragma once
#include "core/policy/profile.h"
#include "hotcell/language.h"

namespace hotcell {

extern const Language kPython, kBash, kC, kCpp, kRust, kGo, kJava, kJavascript, kTypescript, kDeno, kPerl, kRuby;

// src/languages/*/profiles/*.yaml, embedded at build.
std::span<const BuiltInProfile> language_profiles();

}  // namespace hotcell
