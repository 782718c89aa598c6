// The public face of the proxy (hotcell/proxy.h).
#include "hotcell/proxy.h"

#include "base/strings.h"
#include "net/egress_secrets.h"
#include "net/listen.h"
#include "net/proxy.h"
#include "net/tool_config.h"

namespace hotcell {
namespace {

using Inserter = std::shared_ptr<net::TlsInserter>;

Result<std::shared_ptr<const net::RuleSet>> rule_set(const ProxyRules& rules, const Inserter& secrets = {}) {
  net::RuleOptions options;
  options.mode = rules.mode;
  options.block = rules.block;
  options.allow_private = rules.allow_private;
  TRY(net::allow_hosts(rules.allow, "allow:", options));
  if (secrets)
    for (const auto& s : secrets->secrets()) options.allow.push_back(s.where.text());
  TRY_SET(net::RuleSet set, net::RuleSet::create(options));
  return std::make_shared<const net::RuleSet>(std::move(set));
}

Result<Inserter> inserter_of(const EgressProxyOptions& options) {
  if (!options.secrets) return Inserter();
  const auto* ours = dynamic_cast<const net::EgressSecrets*>(options.secrets.get());
  if (ours == nullptr) return make_error(ErrorCode::kInvalid, "secrets: not made by ProxySecrets::start");
  return ours->inserter();
}

Result<net::ProxyOptions> proxy_options(const EgressProxyOptions& options, const Inserter& secrets) {
  net::ProxyOptions out;
  TRY_SET(out.rules, rule_set(options.rules, secrets));
  out.inserter = secrets;
  std::map<std::string, std::vector<net::Address>> names;
  for (const auto& [text, addresses] : options.names) {
    TRY_SET(net::Host name, net::parse_host(text).context("names"));
    for (const auto& a : addresses) {
      TRY_SET(net::Host address, net::parse_host(a).context("names"));
      if (name.address || !address.address) return make_error(ErrorCode::kInvalid, cat("names: expected a name and addresses, not ", printable(text), " and ", printable(a)));
      names[name.name].push_back(*address.address);
    }
  }
  if (!names.empty()) out.resolver = net::mapped_resolver(std::move(names), net::host_resolver());
  out.limits.bytes = options.bytes.n;
  out.limits.bytes_per_second = options.bytes_per_second.n;
  out.limits.connections = options.connections;
  out.limits.time = options.time;
  out.limits.life = options.connection_time;
  return out;
}

class EgressProxyImpl final : public EgressProxy {
 public:
  EgressProxyImpl(std::unique_ptr<net::Proxy> proxy, std::uint16_t port, Inserter secrets)
      : secrets_(std::move(secrets)), proxy_(std::move(proxy)), port_(port) {}

  std::uint16_t port() const override { return port_; }
  Result<void> set_rules(const ProxyRules& rules) override {
    TRY_SET(auto set, rule_set(rules, secrets_));
    proxy_->set_rules(std::move(set));
    return {};
  }
  std::vector<ProxyEntry> log(std::uint64_t after) const override {
    std::vector<ProxyEntry> out;
    for (const auto& e : proxy_->journal().entries(after))
      out.push_back({e.number, e.time, e.method, clean(e.host), e.port, e.allowed, e.notice, e.rule, clean(e.reason), clean(e.how), e.up, e.down, e.duration, e.open, e.failed});
    return out;
  }
  ProxyStats stats() const override {
    net::Stats s = proxy_->journal().stats();
    for (auto& notice : s.notices) notice = clean(notice);
    return {s.allowed, s.blocked, s.failed, s.bytes_up, s.bytes_down, s.open, s.dropped_entries, s.hosts, s.notices};
  }
  std::vector<Denial> denials() const override {
    std::vector<Denial> out;
    for (const auto& r : proxy_->journal().refusals()) out.push_back({"proxy", clean(r.first.reason), clean(r.first.host), clean(r.first.how), r.count});
    return out;
  }
  void close() override { proxy_->close(); }

 private:
  // What a program was told by a host it may ask for as a name.
  std::string clean(const std::string& text) const { return secrets_ ? net::scrubbed(text, secrets_->secrets()) : text; }

  Inserter secrets_;
  std::unique_ptr<net::Proxy> proxy_;
  std::uint16_t port_;
};

Result<std::unique_ptr<EgressProxy>> start(const EgressProxyOptions& options, sys::Fd door, sys::Fd dns) {
  TRY_SET(Inserter secrets, inserter_of(options));
  TRY_SET(net::ProxyOptions all, proxy_options(options, secrets));
  TRY_SET(const std::uint16_t port, net::port_of(door.get()));
  all.listener = std::move(door);
  all.dns = std::move(dns);
  TRY_SET(auto proxy, net::Proxy::start(std::move(all)));
  return std::unique_ptr<EgressProxy>(std::make_unique<EgressProxyImpl>(std::move(proxy), port, std::move(secrets)));
}

}  // namespace

Result<ProxyDecision> check_host(const ProxyRules& rules, std::string_view host) {
  TRY_SET(auto set, rule_set(rules));
  net::Decision d = net::check_text(*set, host);
  return ProxyDecision{d.allowed, std::move(d.rule), std::move(d.reason), std::move(d.how)};
}

Result<std::unique_ptr<EgressProxy>> EgressProxy::serve(const EgressProxyOptions& options, int door, int dns) {
  return start(options, sys::Fd(door), sys::Fd(dns));
}

Result<std::unique_ptr<EgressProxy>> EgressProxy::listen(const EgressProxyOptions& options, std::string_view address, std::uint16_t port) {
  TRY_SET(net::Host host, net::parse_host(address));
  if (!host.address) return make_error(ErrorCode::kInvalid, cat(printable(address), " is not an address"));
  TRY_SET(sys::Fd door, net::listen_tcp(*host.address, port));
  return start(options, std::move(door), sys::Fd());
}

}  // namespace hotcell
