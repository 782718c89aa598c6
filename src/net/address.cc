#include "net/address.h"

#include <arpa/inet.h>
#include <netinet/in.h>

#include <algorithm>
#include <cstring>

#include "base/strings.h"

namespace hotcell::net {
namespace {

struct Range {
  const char* cidr;
  std::string_view what;
};
constexpr Range kV4[] = {
    {"0.0.0.0/8", "unspecified"},
    {"10.0.0.0/8", "private network"},
    {"100.64.0.0/10", "carrier-grade NAT"},
    {"127.0.0.0/8", "loopback"},
    {"168.63.129.16/32", "cloud metadata"},
    {"169.254.169.254/32", "cloud metadata"},
    {"169.254.0.0/16", "link-local"},
    {"172.16.0.0/12", "private network"},
    {"192.0.0.0/24", "reserved"},
    {"192.88.99.0/24", "reserved"},
    {"192.168.0.0/16", "private network"},
    {"198.18.0.0/15", "benchmarking"},
    {"224.0.0.0/4", "multicast"},
    {"240.0.0.0/4", "reserved"},
};
constexpr Range kV6[] = {
    {"::/128", "unspecified"},      {"::1/128", "loopback"},          {"64:ff9b:1::/48", "private network"},
    {"100::/64", "reserved"},       {"2001::/23", "reserved"},        {"5f00::/16", "reserved"},
    {"fd00:ec2::254/128", "cloud metadata"}, {"fc00::/7", "private network"}, {"fe80::/10", "link-local"},
    {"fec0::/10", "private network"}, {"ff00::/8", "multicast"},
};

struct Table {
  std::array<Cidr, std::size(kV4)> v4;
  std::array<Cidr, std::size(kV6)> v6;
};

const Table& table() {
  static const Table kTable = [] {
    Table t;
    for (std::size_t i = 0; i < std::size(kV4); ++i) t.v4[i] = *parse_cidr(kV4[i].cidr);
    for (std::size_t i = 0; i < std::size(kV6); ++i) t.v6[i] = *parse_cidr(kV6[i].cidr);
    return t;
  }();
  return kTable;
}

std::uint32_t number_at(const std::uint8_t* b) {
  return std::uint32_t{b[0]} << 24 | std::uint32_t{b[1]} << 16 | std::uint32_t{b[2]} << 8 | b[3];
}

bool starts_with(const Address& a, std::initializer_list<std::uint8_t> prefix) {
  return std::equal(prefix.begin(), prefix.end(), a.bytes.begin());
}

bool is_mapped(const Address& a) { return a.v6 && starts_with(a, {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff}); }

std::optional<Address> embedded(const Address& a) {
  if (is_mapped(a)) return Address::v4(number_at(&a.bytes[12]));
  if (starts_with(a, {0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff, 0, 0})) return Address::v4(number_at(&a.bytes[12]));  // SIIT
  if (starts_with(a, {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0})) return Address::v4(number_at(&a.bytes[12]));
  if (starts_with(a, {0, 0x64, 0xff, 0x9b, 0, 0, 0, 0, 0, 0, 0, 0})) return Address::v4(number_at(&a.bytes[12]));
  if (starts_with(a, {0x20, 0x02})) return Address::v4(number_at(&a.bytes[2]));
  bool isatap = (a.bytes[8] & 0xfc) == 0 && a.bytes[9] == 0 && a.bytes[10] == 0x5e && a.bytes[11] == 0xfe;
  if (isatap) return Address::v4(number_at(&a.bytes[12]));
  return std::nullopt;
}

// One part of an IPv4 spelling.
std::optional<std::uint64_t> part_value(std::string_view s) {
  int base = 10;
  if (s.size() >= 2 && s[0] == '0' && (s[1] | 0x20) == 'x') {
    s.remove_prefix(2);
    base = 16;
    if (s.empty()) return 0;
  } else if (s.size() >= 2 && s[0] == '0') {
    s.remove_prefix(1);
    base = 8;
  }
  std::uint64_t value = 0;
  auto [end, err] = std::from_chars(s.data(), s.data() + s.size(), value, base);
  if (err != std::errc() || end != s.data() + s.size()) return std::nullopt;
  return value;
}

}  // namespace

Address Address::v4(std::uint32_t n) {
  Address a;
  for (int i = 0; i < 4; ++i) a.bytes[static_cast<std::size_t>(i)] = static_cast<std::uint8_t>(n >> (24 - 8 * i));
  return a;
}

std::optional<Address> Address::from(const sockaddr* address) {
  Address a;
  if (address->sa_family == AF_INET) {
    std::memcpy(a.bytes.data(), &reinterpret_cast<const sockaddr_in*>(address)->sin_addr, 4);
    return a;
  }
  if (address->sa_family != AF_INET6) return std::nullopt;
  a.v6 = true;
  std::memcpy(a.bytes.data(), &reinterpret_cast<const sockaddr_in6*>(address)->sin6_addr, 16);
  // The kernel would dial the v4 address by it, past every rule that is about that one.
  return is_mapped(a) ? embedded(a) : a;
}

std::string Address::text() const {
  char out[INET6_ADDRSTRLEN] = "";
  ::inet_ntop(v6 ? AF_INET6 : AF_INET, bytes.data(), out, sizeof out);
  return out;
}

std::uint32_t Address::v4_number() const { return number_at(bytes.data()); }

socklen_t Address::fill(sockaddr_storage& out, std::uint16_t port) const {
  std::memset(&out, 0, sizeof out);
  if (v6) {
    auto& in = reinterpret_cast<sockaddr_in6&>(out);
    in.sin6_family = AF_INET6;
    in.sin6_port = htons(port);
    std::memcpy(&in.sin6_addr, bytes.data(), 16);
    return sizeof in;
  }
  auto& in = reinterpret_cast<sockaddr_in&>(out);
  in.sin_family = AF_INET;
  in.sin_port = htons(port);
  std::memcpy(&in.sin_addr, bytes.data(), 4);
  return sizeof in;
}

bool ends_in_number(std::string_view name) {
  auto dot = name.rfind('.');
  std::string_view last = dot == std::string_view::npos ? name : name.substr(dot + 1);
  if (last.empty()) return false;
  auto digit = [](char c) { return c >= '0' && c <= '9'; };
  auto hex = [&](char c) { return digit(c) || ((c | 0x20) >= 'a' && (c | 0x20) <= 'f'); };
  if (std::all_of(last.begin(), last.end(), digit)) return true;
  return last.size() >= 2 && last[0] == '0' && (last[1] | 0x20) == 'x' && std::all_of(last.begin() + 2, last.end(), hex);
}

std::optional<Address> parse_v4(std::string_view text) {
  auto parts = split(text, '.');
  if (parts.empty() || parts.size() > 4) return std::nullopt;
  std::uint64_t number = 0;
  for (std::size_t i = 0; i < parts.size(); ++i) {
    auto value = parts[i].empty() ? std::nullopt : part_value(parts[i]);
    bool last = i + 1 == parts.size();
    std::uint64_t most = last ? (std::uint64_t{1} << (8 * (4 - i))) - 1 : 255;
    if (!value || *value > most) return std::nullopt;
    number = last ? number << (8 * (4 - i)) | *value : number << 8 | *value;
  }
  return Address::v4(static_cast<std::uint32_t>(number));
}

std::optional<Address> parse_v6(std::string_view text) {
  Address a;
  a.v6 = true;
  std::string copy(text);
  if (copy.size() > 45 || ::inet_pton(AF_INET6, copy.c_str(), a.bytes.data()) != 1) return std::nullopt;
  return is_mapped(a) ? embedded(a) : a;
}

std::optional<Address> v4_inside(const Address& address) { return address.v6 ? embedded(address) : std::nullopt; }

bool Cidr::contains(const Address& a) const {
  if (a.v6 != base.v6) return false;
  unsigned whole = bits / 8, rest = bits % 8;
  if (!std::equal(a.bytes.begin(), a.bytes.begin() + whole, base.bytes.begin())) return false;
  if (rest == 0) return true;
  auto mask = static_cast<std::uint8_t>(0xff << (8 - rest));
  return (a.bytes[whole] & mask) == (base.bytes[whole] & mask);
}

std::string Cidr::text() const { return cat(base.text(), "/", bits); }

std::optional<Cidr> parse_cidr(std::string_view text) {
  auto slash = text.find('/');
  std::string_view address = text.substr(0, slash);
  if (address.size() > 2 && address.front() == '[' && address.back() == ']') address = address.substr(1, address.size() - 2);
  bool v6 = address.find(':') != std::string_view::npos;
  std::optional<Address> base;
  if (v6) {
    base = Address{.v6 = true};
    std::string copy(address);
    if (copy.size() > 45 || ::inet_pton(AF_INET6, copy.c_str(), base->bytes.data()) != 1) base.reset();
  } else if (std::count(address.begin(), address.end(), '.') == 3) {
    base = parse_v4(address);
  }
  if (!base) return std::nullopt;
  unsigned most = v6 ? 128 : 32;
  auto bits = slash == std::string_view::npos ? std::optional<std::uint64_t>(most) : parse_u64(text.substr(slash + 1));
  if (!bits || *bits > most) return std::nullopt;
  // Mapped addresses are v4 ones wherever they come from, and so is a network of them.
  if (is_mapped(*base) && *bits >= 96) return Cidr{*embedded(*base), static_cast<unsigned>(*bits - 96)};
  return Cidr{*base, static_cast<unsigned>(*bits)};
}

std::string_view inward(const Address& address) {
  const Table& t = table();
  if (address.v6) {
    for (std::size_t i = 0; i < t.v6.size(); ++i)
      if (t.v6[i].contains(address)) return kV6[i].what;
    auto inner = embedded(address);
    return inner ? inward(*inner) : std::string_view();
  }
  for (std::size_t i = 0; i < t.v4.size(); ++i)
    if (t.v4[i].contains(address)) return kV4[i].what;
  return {};
}

}  // namespace hotcell::net
