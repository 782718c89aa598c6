// RFC 3492, for one label.
#pragma once
#include <optional>
#include <string>
#include <string_view>

namespace hotcell::net {

std::optional<std::string> punycode_encode(std::u32string_view label);   // without the xn--
std::optional<std::u32string> punycode_decode(std::string_view label);

}  // namespace hotcell::net
