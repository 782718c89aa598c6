// Host names in one spelling. What is compared with the rules is what is resolved and dialled, so no two readers of a
// name can differ about it.
#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "hotcell/result.h"
#include "net/address.h"

namespace hotcell::net {

struct Host {
  std::string name;                 // lower case, ASCII, without the last dot; an address in its usual form
  std::optional<Address> address;   // when it is one
  bool operator==(const Host&) const = default;
  std::string bracketed() const { return address && address->v6 ? "[" + name + "]" : name; }
};

// Takes letters of any case, one dot at the end, Unicode (mapped, then punycode), IPv4 in every number form, and IPv6
// with or without brackets. Refuses whatever readers could differ about: percent signs, user info, zones, controls,
// invisible characters, empty or overlong labels, numbers that are no address.
Result<Host> parse_host(std::string_view text);

struct Target {
  Host host;
  std::uint16_t port = 0;
  bool operator==(const Target&) const = default;
  std::string text() const { return host.bracketed() + ":" + std::to_string(port); }
};
// host:port, [v6]:port; `default_port` 0: the port must be there.
Result<Target> parse_authority(std::string_view text, std::uint16_t default_port);
std::optional<std::uint16_t> parse_port(std::string_view text);  // digits alone, 1 to 65535

}  // namespace hotcell::net
