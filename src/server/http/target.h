// The request target, decoded once and strictly: what two programs could read differently is refused, not repaired.
#pragma once
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "hotcell/result.h"

namespace hotcell::server {

struct Target {
  std::string path;  // decoded; "*" for `OPTIONS *`
  std::vector<std::pair<std::string, std::string>> query;
  std::string authority;  // of the absolute form (http://host/…), which proxies are asked with
};

// The error's message is one sentence for the client.
Result<Target> parse_target(std::string_view target);

// host, host:port, [v6]:port, as in Host and in an authority. Refuses user info, blanks and everything strange.
struct HostPort {
  std::string host;  // lower case, without brackets, without a trailing dot
  std::string port;  // digits, may be empty
  bool v6 = false;   // stood in brackets
};
Result<HostPort> parse_host(std::string_view text);

bool is_loopback_name(const HostPort& host);  // localhost, 127/8, ::1

}  // namespace hotcell::server
