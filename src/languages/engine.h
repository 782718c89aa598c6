// Source in, findings out: checks of the bytes, parser, analyser, rules. Pure, but it runs parsers on hostile text
// without any limit: only the limited child (verify_main.cc), tests and fuzzers call it.
#pragma once
#include <string>
#include <string_view>
#include <vector>

#include "hotcell/verify.h"
#include "languages/verify_wire.h"

namespace hotcell {

Verification verify_source(WireRequest request);

// Languages whose analyser is part of this build.
std::vector<std::string_view> analysed_languages();

}  // namespace hotcell
