// IP addresses as values: reading every spelling that some resolver takes, and knowing which ones lead inward.
#pragma once
#include <sys/socket.h>

#include <array>
#include <compare>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace hotcell::net {

struct Address {
  bool v6 = false;
  std::array<std::uint8_t, 16> bytes{};  // a v4 address has the first four

  static Address v4(std::uint32_t host_order);
  static std::optional<Address> from(const sockaddr* address);  // a v4-mapped one becomes the v4 address it is
  std::string text() const;
  std::uint32_t v4_number() const;
  socklen_t fill(sockaddr_storage& out, std::uint16_t port) const;
  auto operator<=>(const Address&) const = default;
};

// Whether the name's last label is a number: then it is an address or nothing, for some resolver will take it as one.
bool ends_in_number(std::string_view name);
// One to four parts, each decimal, octal (0…) or hexadecimal (0x…), the last filling what is left: as inet_aton does.
std::optional<Address> parse_v4(std::string_view text);
// Without brackets and zone. A v4-mapped address becomes the v4 address it is.
std::optional<Address> parse_v6(std::string_view text);

struct Cidr {
  Address base;
  unsigned bits = 0;
  bool contains(const Address& address) const;
  std::string text() const;
};
std::optional<Cidr> parse_cidr(std::string_view text);

// The v4 address that a v6 one stands for, by whatever router or stack unwraps it: mapped, translated, 6to4 …
std::optional<Address> v4_inside(const Address& address);

// "loopback", "private network" …: why an address must not be dialled by default; empty for what is public. Looks
// through the forms of IPv6 that carry an IPv4 address. The ranges for documentation count as public: they lead nowhere.
std::string_view inward(const Address& address);

}  // namespace hotcell::net
