#include "cli/network.h"

#include <stdlib.h>

#include <algorithm>
#include <map>

#include "base/strings.h"
#include "cli/state.h"
#include "core/policy/units.h"
#include "core/remote/launcher_process.h"
#include "manager/secret_request.h"
#include "net/account.h"
#include "net/door/order.h"
#include "net/tool_config.h"
#include "sys/uuid.h"

namespace hotcell {
namespace {

std::vector<std::string_view> all(const Parsed& parsed, Opt option) {
  std::vector<std::string_view> out;
  for (const auto& [o, value] : parsed.values())
    if (o == option) out.push_back(value);
  return out;
}

Result<net::RuleOptions> rule_options(const Network& network, const Parsed& parsed) {
  net::RuleOptions out;
  out.mode = network.rules;
  out.block = network.block;
  for (auto host : all(parsed, Opt::kAllowPrivate)) out.allow_private.emplace_back(host);
  TRY(net::allow_hosts(network.allow, "--allow-domain", out));
  return out;
}

Result<std::shared_ptr<net::Resolver>> resolver_for(const Parsed& parsed) {
  TRY_SET(auto names, mapped_names(parsed));
  if (names.empty()) return std::shared_ptr<net::Resolver>();
  return net::mapped_resolver(std::move(names), net::host_resolver());
}
// 0: not said, and without a limit. What was said is one, however short.
Result<std::chrono::milliseconds> time_option(const Parsed& parsed, Opt option, std::string_view name) {
  auto text = parsed.last(option);
  if (!text) return std::chrono::milliseconds(0);
  TRY_SET(Nanoseconds time, parse_duration(*text).context(std::string(name)));
  return std::max(std::chrono::duration_cast<std::chrono::milliseconds>(time), std::chrono::milliseconds(1));
}

std::string own_variable(const char* name) {
  const char* value = ::getenv(name);
  return value != nullptr ? value : "";
}

}  // namespace

Result<std::map<std::string, std::vector<net::Address>>> mapped_names(const Parsed& parsed) {
  std::map<std::string, std::vector<net::Address>> names;
  for (auto text : all(parsed, Opt::kMapHost)) {
    auto at = text.find('=');
    if (at == text.npos) return make_error(ErrorCode::kInvalid, "--map-host: expected NAME=ADDRESS");
    TRY_SET(net::Host name, net::parse_host(text.substr(0, at)).context("--map-host"));
    TRY_SET(net::Host address, net::parse_host(text.substr(at + 1)).context("--map-host"));
    if (name.address || !address.address) return make_error(ErrorCode::kInvalid, "--map-host: expected NAME=ADDRESS");
    names[name.name].push_back(*address.address);
  }
  return names;
}

Result<net::ProxyOptions> proxy_options(const Network& network, const Parsed& parsed) {
  net::ProxyOptions out;
  TRY_SET(net::RuleOptions rules, rule_options(network, parsed));
  TRY_SET(net::RuleSet set, net::RuleSet::create(rules));
  out.rules = std::make_shared<net::RuleSet>(std::move(set));
  TRY_SET(out.resolver, resolver_for(parsed));
  if (auto text = parsed.last(Opt::kNetworkBytes)) {
    TRY_SET(Bytes bytes, parse_bytes(*text).context("--network-bytes"));
    out.limits.bytes = bytes.n;
  }
  if (auto text = parsed.last(Opt::kNetworkRate)) {
    TRY_SET(Bytes bytes, parse_bytes(*text).context("--network-rate"));
    out.limits.bytes_per_second = bytes.n;
  }
  if (auto text = parsed.last(Opt::kNetworkConnections)) {
    TRY_SET(out.limits.connections, parse_count(*text).context("--network-connections"));
  }
  TRY_SET(out.limits.time, time_option(parsed, Opt::kNetworkTime, "--network-time"));
  TRY_SET(out.limits.life, time_option(parsed, Opt::kNetworkConnectionTime, "--network-connection-time"));
  return out;
}

Result<std::vector<std::string>> door_words(const Network& network, const Parsed& parsed) {
  TRY_SET(net::ProxyOptions checked, proxy_options(network, parsed));
  TRY_SET(net::RuleOptions rules, rule_options(network, parsed));
  std::vector<std::string> words = net::rule_words(rules);
  for (auto text : all(parsed, Opt::kMapHost)) words.push_back(cat("map=", text));
  words.emplace_back("by=cell");
  for (auto& word : net::limit_words(checked.limits)) words.push_back(std::move(word));
  return words;
}

Result<std::map<std::string, std::string>> given_secrets(const Parsed& parsed) {
  std::map<std::string, std::string> out;
  for (auto text : all(parsed, Opt::kSecret)) {
    auto at = text.find('@');
    if (at == 0 || at == text.npos || at + 1 == text.size()) return make_error(ErrorCode::kInvalid, "--secret: expected NAME@HOST");
    std::string name(text.substr(0, at));
    const char* value = ::getenv(name.c_str());
    if (value == nullptr) return make_error(ErrorCode::kInvalid, cat("--secret: the variable ", printable(name), " is not set"));
    out[std::string(text)] = value;
  }
  return out;
}

Result<void> RunNetwork::add_secrets(const Policy& policy, const Parsed& parsed, Request& request, Network& network) {
  TRY_SET(auto given, given_secrets(parsed));
  if (given.empty()) return {};
  TRY_SET(secrets_, net::make_secrets(given).context("--secret"));
  for (const auto& s : secrets_) {
    if (std::find(policy.env.pass.begin(), policy.env.pass.end(), s.name) != policy.env.pass.end())
      return make_error(ErrorCode::kInvalid, cat("--secret: the policy passes ", printable(s.name), " on to the program as it is"));
    network.allow.push_back(s.where.text());
  }
  out_ = net::Scrub(secrets_), err_ = net::Scrub(secrets_);
  TRY_SET(std::string program, remote::find_program_of_ours("hotcell-tls").context("--secret"));
  TRY_SET(auto inserter, net::TlsInserter::start(program, secrets_, own_variable("SSL_CERT_FILE")).context("--secret"));
  TRY(place_secrets(*inserter, policy, request).context("--secret"));
  options_.inserter = std::move(inserter);
  return {};
}

Result<void> RunNetwork::attach(const Policy& policy, const Parsed& parsed, Request& request) {
  if (policy.network.mode != NetworkMode::kProxy) return {};
  Network network = policy.network;
  std::shared_ptr<net::Inserter> inserter;
  TRY(add_secrets(policy, parsed, request, network));
  inserter = std::move(options_.inserter);
  TRY_SET(options_, proxy_options(network, parsed));
  options_.inserter = std::move(inserter);
  if (auto folder = state_folder(parsed, Missing::kMake); folder.ok()) state_ = folder.value();
  if (request.id.empty()) request.id = sys::random_uuid();  // what is logged while it runs has its name already
  request.on_network = [this, id = request.id](int door, int dns) {
    options_.listener = sys::Fd(door);
    options_.dns = sys::Fd(dns);
    auto started = net::Proxy::start(std::move(options_));
    if (!started.ok()) {
      failed_ = started.error().message;  // the door stays shut: nothing gets out
      return;
    }
    proxy_ = std::move(started).value();
    if (!state_.empty()) keeper_ = std::make_unique<net::JournalKeeper>(proxy_->journal(), state_, id, [this](net::LogEntry& e) { scrub(e); });
  };
  return {};
}

void RunNetwork::scrub(net::LogEntry& entry) const {
  for (auto* text : {&entry.host, &entry.reason, &entry.how}) *text = net::scrubbed(*text, secrets_);
}

void RunNetwork::conclude(Report& report, const std::function<void(const Event&)>& on_event) {
  std::vector<net::LogEntry> entries;
  std::vector<net::Refusal> refusals;
  net::Stats stats;
  if (proxy_) {
    proxy_->close();
    entries = proxy_->journal().entries();
    refusals = proxy_->journal().refusals();
    stats = proxy_->journal().stats();
    for (auto& e : entries) scrub(e);
    for (auto& r : refusals) scrub(r.first);
    for (auto& n : stats.notices) n = net::scrubbed(n, secrets_);
  }
  if (!failed_.empty()) report.denials.push_back({"proxy", cat("the proxy could not be started: ", failed_), "", "", 1});
  net::tell_report(entries, refusals, stats, report, on_event);
  report.out = net::scrubbed(report.out, secrets_);
  report.err = net::scrubbed(report.err, secrets_);
  for (auto& o : report.outputs) o.bytes = net::scrubbed(o.bytes, secrets_);
  if (!keeper_) return;
  if (auto kept = keeper_->finish(); !kept.ok()) report.notices.push_back(cat("the proxy's log is not kept: ", kept.error().message));
}

std::string RunNetwork::clean(Stream stream, std::string_view bytes) { return (stream == Stream::kStdout ? out_ : err_).push(bytes); }
std::string RunNetwork::rest(Stream stream) { return (stream == Stream::kStdout ? out_ : err_).finish(); }

}  // namespace hotcell
