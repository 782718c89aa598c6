// One line of a rule list: which hosts, and on which ports.
#pragma once
#include <string>
#include <string_view>
#include <vector>

#include "net/host.h"

namespace hotcell::net {

// host · *.d (d and everything below) · .d (below d alone) · registry.*.io, cdn-*.d (a star stays within its label) ·
// * (everything) · 10.0.0.0/8, 2001:db8::/32, 10.* · each with :port or :from-to behind it.
class HostPattern {
 public:
  static Result<HostPattern> parse(std::string_view text);

  const std::string& text() const { return text_; }
  bool matches(const Host& host, std::uint16_t port) const;
  bool matches_address(const Address& address, std::uint16_t port) const;  // addresses and networks alone
  std::uint16_t first_port() const { return first_port_; }
  std::uint16_t last_port() const { return last_port_; }
  bool matches_port(std::uint16_t port) const { return port >= first_port_ && port <= last_port_; }

 private:
  enum class Kind : unsigned char { kAll, kExact, kTree, kBelow, kLabels, kNetwork };
  bool matches_name(std::string_view name) const;
  Result<void> read_host(std::string_view host);

  Kind kind_ = Kind::kExact;
  std::string text_, name_;          // kTree and kBelow: the domain
  std::vector<std::string> labels_;  // kLabels; with `any_depth_` there may be more before them
  bool any_depth_ = false;
  Cidr network_;
  std::uint16_t first_port_ = 1, last_port_ = 65535;
};

}  // namespace hotcell::net
