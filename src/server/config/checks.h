// What a text in the configuration must look like.
#pragma once
#include <string>
#include <string_view>

#include "hotcell/result.h"

namespace hotcell::server {

Result<void> check_address(const std::string& text);   // 127.0.0.1:7070, [::1]:0, localhost:7070
Result<void> check_path(const std::string& text);      // absolute, without . and ..
Result<void> check_decisions(const std::string& text); // standard, or such a path
Result<void> check_socket(const std::string& text);    // such a path, short enough for the kernel
Result<void> check_host(const std::string& text);      // a name or address, perhaps with a port
Result<void> check_origin(const std::string& text);    // https://name[:port]
Result<void> check_endpoint(const std::string& text);  // http(s)://host[:port][/path], no password
Result<void> check_profile(const std::string& text);
Result<void> check_profile_name(const std::string& text);   // not a file

// Of an address that check_address accepts.
bool is_loopback(std::string_view address);

}  // namespace hotcell::server
