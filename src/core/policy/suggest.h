#pragma once
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace hotcell {

// `; did you mean "memory"?` for a near miss, else empty: ready to be put behind a message.
std::string did_you_mean(std::string_view word, std::span<const std::string_view> known);

}  // namespace hotcell
