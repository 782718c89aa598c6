// A language: how its sources are known, verified, compiled and run. One folder under src/languages/ each.
#pragma once
#include <string>
#include <string_view>
#include <vector>

namespace hotcell {}  // namespace hotcell
