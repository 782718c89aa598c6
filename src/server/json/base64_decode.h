#pragma once
#include <optional>
#include <string>
#include <string_view>

namespace hotcell::server {

// RFC 4648 with padding; nothing for anything else, line ends included.
std::optional<std::string> base64_decode(std::string_view text);

}  // namespace hotcell::server
