// Points in time as text.
#pragma once
#include <chrono>
#include <string>

namespace hotcell {

std::string rfc3339(std::chrono::system_clock::time_point time);  // UTC, nanoseconds

}  // namespace hotcell
