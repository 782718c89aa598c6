// Names of hosts as they are dialled, whatever they are written like.
#pragma once
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace hotcell::inspect {

struct Address {
  std::string host;       // small letters, no port, no user, no final dot
  std::string_view path;  // what follows the host, with its ? and #
};
// Of a URL, of `host:port/path`, of `user@host`.
Address address_of(std::string_view text);

// By whole labels, never by a part of the text: `example.com` is that host alone.
bool is_allowed(std::string_view host, const std::vector<std::string>& allowed);
bool is_local(std::string_view host);       // this machine
bool is_disguised_ip(std::string_view host);  // 3405803842, 0x7f.1, 0177.0.0.1
bool is_ip(std::string_view host);
bool is_drop(std::string_view host);        // where anybody may leave anything and read it again
bool carries_data(std::string_view host);   // labels too long and too mixed to be names
bool looks_like_host(std::string_view word);

}  // namespace hotcell::inspect
