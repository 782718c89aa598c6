// Who may be talked to. Pure: no file, no socket, no name is looked up in here.
#pragma once
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "hotcell/policy.h"
#include "net/pattern.h"

namespace hotcell::net {

struct RuleOptions {
  RuleMode mode = RuleMode::kAllowlist;
  std::vector<std::string> allow = {}, block = {};
  // Hosts and networks that may be inside: without it nothing that leads inward is reached, in no mode.
  std::vector<std::string> allow_private = {};
};

struct Decision {
  bool allowed = false;
  std::string rule;    // the pattern, or the name of the built-in rule: "default", "private", "closed", "malformed"
  std::string reason;  // one sentence
  std::string how;     // what would allow it; empty when nothing does
};

enum class Whose : unsigned char { kDaemon, kCell };  // its configuration; what it was created with

class RuleSet {
 public:
  static Result<RuleSet> create(const RuleOptions& options);

  // Before a name is looked up. An address given as a host is checked as such, too.
  Decision check(const Target& target) const;
  // Each address that a name was found to have; only what passes may be dialled. `own`: it is this machine's.
  Decision check_address(const Target& target, const Address& address, bool own = false) const;
  // For DNS: whether there is any port on which it may be talked to; with the addresses that were found, on one port with all
  // of them. `own`: as above, of each.
  Decision check_name(const Host& host) const;
  Decision check_name(const Host& host, const std::vector<Address>& addresses, const std::function<bool(const Address&)>& own) const;
  RuleMode mode() const { return mode_; }
  // From now on only what those others allow as well; `whose`: where they can be changed.
  void stay_within(std::shared_ptr<const RuleSet> others, Whose whose) { within_ = std::move(others), whose_ = whose; }

 private:
  const HostPattern* find(const std::vector<HostPattern>& list, const Host& host, std::uint16_t port) const;
  const HostPattern* find_block(const Address& address, std::uint16_t port) const;
  Decision judge(const Host& host, std::uint16_t port) const;
  std::vector<std::uint16_t> telling_ports(const Host& host) const;
  bool private_allowed(const Host& host, const Address* address, std::uint16_t port) const;

  RuleMode mode_ = RuleMode::kAllowlist;
  std::vector<HostPattern> allow_, block_, allow_private_;
  std::shared_ptr<const RuleSet> within_;
  Whose whose_ = Whose::kDaemon;
};

Decision malformed(const Error& error);
// A host as somebody writes it, with or without its port (443 then).
// A host and perhaps a port, as a person writes them. Its address is checked as well where it is one, or is among `names`; `own`:
// whether one is this machine's. Others are looked up when they are dialled.
Decision check_text(const RuleSet& rules, std::string_view text, const std::map<std::string, std::vector<Address>>& names = {},
                    bool (*own)(const Address&) = nullptr);
std::string decision_json(std::string_view host, const Decision& decision);

}  // namespace hotcell::net
