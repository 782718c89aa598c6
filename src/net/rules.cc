#include "net/rules.h"

#include <algorithm>
#include <optional>
#include <set>

#include "base/json_write.h"
#include "base/strings.h"

namespace hotcell::net {
namespace {

// Names that mean this machine or its surroundings wherever they are asked for.
std::string_view inward_name(std::string_view name) {
  for (std::string_view exact : {"localhost", "ip6-localhost", "ip6-loopback", "ip6-allnodes", "ip6-allrouters", "broadcasthost"})
    if (name == exact) return "loopback";
  for (std::string_view exact : {"metadata", "instance-data"})
    if (name == exact) return "cloud metadata";
  for (std::string_view end : {".localhost", ".localdomain"})
    if (name.ends_with(end)) return "loopback";
  for (std::string_view end : {".internal", ".local", ".home.arpa"})
    if (name.ends_with(end)) return "private network";
  return {};
}

Result<std::vector<HostPattern>> read_list(const std::vector<std::string>& list) {
  std::vector<HostPattern> out;
  for (const auto& text : list) {
    TRY_SET(HostPattern pattern, HostPattern::parse(text));
    out.push_back(std::move(pattern));
  }
  return out;
}

Decision deny(std::string rule, std::string reason, std::string how = {}) {
  return {false, std::move(rule), std::move(reason), std::move(how)};
}

Decision deny_private(std::string_view what, std::string_view host, std::string_view name) {
  return deny("private", cat(host, " is refused: ", what, " addresses are out of reach by default"), cat("--allow-private ", name));
}

// What was said elsewhere is changed there, not by an option of the run.
Decision beyond(Decision others, Whose whose) {
  if (whose == Whose::kCell) {
    others.reason += " (by what the cell was created with)";
    if (!others.how.empty()) others.how = cat(others.how, " for hotcell cell create");
    return others;
  }
  others.reason += " (by the daemon's configuration)";
  others.how = "network.allow, network.block and network.private in the daemon's configuration";
  return others;
}

}  // namespace

Decision malformed(const Error& error) { return deny("malformed", error.message); }

Result<RuleSet> RuleSet::create(const RuleOptions& options) {
  RuleSet rules;
  rules.mode_ = options.mode;
  TRY_SET(rules.allow_, read_list(options.allow).context("allow"));
  TRY_SET(rules.block_, read_list(options.block).context("block"));
  TRY_SET(rules.allow_private_, read_list(options.allow_private).context("allow-private"));
  return rules;
}

const HostPattern* RuleSet::find(const std::vector<HostPattern>& list, const Host& host, std::uint16_t port) const {
  for (const auto& p : list)
    if (p.matches(host, port)) return &p;
  return nullptr;
}

// A block of addresses holds for every other one that leads to them, too.
const HostPattern* RuleSet::find_block(const Address& address, std::uint16_t port) const {
  const auto inside = v4_inside(address);
  for (const auto& p : block_)
    if (p.matches_address(address, port) || (inside && p.matches_address(*inside, port))) return &p;
  return nullptr;
}

bool RuleSet::private_allowed(const Host& host, const Address* address, std::uint16_t port) const {
  for (const auto& p : allow_private_)
    if (p.matches(host, port) || (address != nullptr && p.matches_address(*address, port))) return true;
  return false;
}

Decision RuleSet::judge(const Host& host, std::uint16_t port) const {
  if (within_)
    if (Decision others = within_->judge(host, port); !others.allowed) return beyond(std::move(others), whose_);
  std::string shown = cat(host.bracketed(), ":", port);
  if (mode_ == RuleMode::kClosed) return deny("closed", cat(shown, " is refused: the network is closed"), "--network-rules allowlist");
  std::string_view inside = host.address ? inward(*host.address) : inward_name(host.name);
  if (!inside.empty() && !private_allowed(host, host.address ? &*host.address : nullptr, port)) {
    Decision d = deny_private(inside, shown, host.name);
    // Both are needed where there is a list: one says that it may be asked for, the other that it may lead inward.
    if (mode_ == RuleMode::kAllowlist && find(allow_, host, port) == nullptr && !d.how.empty()) d.how = cat("--allow-domain ", host.name, " ", d.how);
    return d;
  }
  const auto* p = find(block_, host, port);
  if (p == nullptr && host.address) p = find_block(*host.address, port);
  if (p != nullptr)
    return deny(p->text(), cat(shown, " is refused: it is blocked by ", p->text()), cat("remove --block-domain ", p->text()));
  if (mode_ == RuleMode::kOpen) return {true, "open", cat(shown, " is allowed: the network is open"), {}};
  if (mode_ == RuleMode::kBlocklist) return {true, "default", cat(shown, " is allowed: it is not blocked"), {}};
  p = find(allow_, host, port);
  if (p != nullptr) return {true, p->text(), cat(shown, " is allowed by ", p->text()), {}};
  return deny("default", cat(shown, " is refused: it is not on the list of allowed hosts"), cat("--allow-domain ", host.name));
}

Decision RuleSet::check(const Target& target) const {
  if (target.port == 0) return deny("malformed", "port 0 is no port");
  return judge(target.host, target.port);
}

// Where what the rules say of a port of this host may change: if it may be talked to on any, it may on one of these.
std::vector<std::uint16_t> RuleSet::telling_ports(const Host& host) const {
  std::vector<std::uint16_t> ports = {443, 80, 1};  // what people ask for comes first, since the first says why not
  for (const auto& p : allow_)
    if (p.matches(host, p.first_port())) ports.push_back(p.first_port());
  for (const auto& p : allow_private_) ports.push_back(p.first_port());  // few, and some are of addresses
  for (const auto& p : block_)
    if (p.last_port() < 65535) ports.push_back(static_cast<std::uint16_t>(p.last_port() + 1));
  if (within_) {
    auto others = within_->telling_ports(host);
    ports.insert(ports.end(), others.begin(), others.end());
  }
  std::set<std::uint16_t> seen;
  std::erase_if(ports, [&](std::uint16_t port) { return !seen.insert(port).second; });
  return ports;
}

Decision RuleSet::check_name(const Host& host) const { return check_name(host, {}, {}); }

Decision RuleSet::check_name(const Host& host, const std::vector<Address>& addresses, const std::function<bool(const Address&)>& own) const {
  if (host.address) return deny("malformed", cat(host.name, " is an address: there is nothing to look up"));
  // Whether this machine has it is asked of the kernel: once for each.
  std::vector<bool> owned;
  for (const auto& address : addresses) owned.push_back(own && own(address));
  std::optional<Decision> of_name, of_address;
  for (std::uint16_t port : telling_ports(host)) {
    Decision decision = judge(host, port);
    if (!decision.allowed) {
      if (!of_name) of_name = std::move(decision);
      continue;
    }
    // One that leads inward spoils them all, as for whoever dials.
    Decision bad = decision;
    for (std::size_t i = 0; i < addresses.size() && bad.allowed; ++i) bad = check_address({host, port}, addresses[i], owned[i]);
    if (bad.allowed) return decision;
    if (!of_address) of_address = std::move(bad);
  }
  if (of_address) return *of_address;
  if (of_name->rule == "default") of_name->reason = cat(host.name, " is refused: it is not on the list of allowed hosts");
  return *of_name;
}

Decision RuleSet::check_address(const Target& target, const Address& address, bool own) const {
  if (within_)
    if (Decision others = within_->check_address(target, address, own); !others.allowed) return beyond(std::move(others), whose_);
  std::string shown = cat(target.host.bracketed(), ":", target.port);
  if (const auto* p = find_block(address, target.port))
    return deny(p->text(), cat(shown, " is refused: its address ", address.text(), " is blocked by ", p->text()),
                cat("remove --block-domain ", p->text()));
  std::string_view inside = inward(address);
  // Whatever listens on all addresses of this machine would be reached, from within, where no firewall stands before it.
  if (inside.empty() && own) inside = "this host's own";
  if (!inside.empty() && !private_allowed(target.host, &address, target.port))
    return deny("private", cat(shown, " is refused: its address ", address.text(), " is ", inside, ", which is out of reach by default"),
                cat("--allow-private ", target.host.name));
  return {true, "address", cat(shown, " has the address ", address.text()), {}};
}

Decision check_text(const RuleSet& rules, std::string_view text, const std::map<std::string, std::vector<Address>>& names, bool (*own)(const Address&)) {
  const bool bare_v6 = text.find('[') == text.npos && std::count(text.begin(), text.end(), ':') > 1;
  auto target = parse_authority(bare_v6 ? cat("[", text, "]") : std::string(text), 443);
  if (!target.ok()) return malformed(target.error());
  Decision decision = rules.check(target.value());
  if (!decision.allowed) return decision;
  const Host& host = target.value().host;
  std::vector<Address> addresses;
  if (host.address) addresses.push_back(*host.address);
  else if (auto it = names.find(host.name); it != names.end()) addresses = it->second;
  for (const auto& address : addresses)
    if (Decision d = rules.check_address(target.value(), address, own != nullptr && own(address)); !d.allowed) return d;
  return decision;
}

std::string decision_json(std::string_view host, const Decision& d) {
  JsonWriter w;
  w.begin_object();
  w.field("host", printable(host));
  w.field("allowed", d.allowed);
  w.field("rule", d.rule);
  w.field("reason", d.reason);
  w.field("how", d.how);
  w.end_object();
  return w.take();
}

}  // namespace hotcell::net
