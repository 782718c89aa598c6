// Human words go to stderr, results to stdout.
#pragma once
#include <string_view>

#include "hotcell/result.h"

namespace hotcell {

inline constexpr int kExitRefused = 125;  // hotcell itself failed or refused

void say(std::string_view sentence);  // "hotcell: sentence\n"; control bytes are shown, never obeyed
int refuse(const Error& error);       // says it; the exit code for it
// Everything to stdout; 0, or 125 with a sentence when it cannot be written, so that a full disk is not a success.
int print(std::string_view text);

}  // namespace hotcell
