#include "net/door/order.h"

namespace hotcell::net {

template <typename Archive>
void fields(Archive& a, DoorOrder& order) {
  a(order.mode, order.allow, order.block, order.secret_hosts);
  if constexpr (Archive::kReading)
    if (order.mode > RuleMode::kClosed) a.fail();
}
template <typename Archive>
void fields(Archive& a, LogEntry& e) {
  a(e.time, e.method, e.host, e.port, e.allowed, e.rule, e.reason, e.how, e.up, e.down, e.duration, e.number, e.notice, e.open, e.failed);
}
template <typename Archive>
void fields(Archive& a, Stats& s) {
  a(s.allowed, s.blocked, s.bytes_up, s.bytes_down, s.open, s.failed, s.dropped_entries, s.hosts, s.notices);
}
template <typename Archive>
void fields(Archive& a, Refusal& r) {
  a(r.first, r.last, r.count);
}
template <typename Archive>
void fields(Archive& a, DoorAccount& account) {
  a(account.entries, account.refusals, account.notices, account.stats);
}

}  // namespace hotcell::net

#include <algorithm>

#include "base/archive.h"
#include "base/strings.h"

namespace hotcell::net {
namespace {

constexpr std::uint64_t kLongestTime = 1ULL << 42;  // milliseconds: a hundred years and more
constexpr std::string_view kModes[] = {"allowlist", "blocklist", "open", "closed"};  // in the order of RuleMode

template <typename T>
std::optional<T> unpacked(std::string_view bytes) {
  T value;
  archive::Unpacker unpacker(bytes);
  unpacker(value);
  if (!unpacker.finished()) return std::nullopt;
  return value;
}

template <typename T>
std::string packed(const T& value) {
  archive::Packer packer;
  packer(value);
  return std::move(packer.out);
}

}  // namespace

std::vector<std::string> rule_words(const RuleOptions& rules) {
  std::vector<std::string> out;
  if (rules.mode != RuleMode::kAllowlist) out.push_back(cat("mode=", kModes[static_cast<std::size_t>(rules.mode)]));
  for (auto [name, list] : {std::pair{"allow=", &rules.allow}, std::pair{"block=", &rules.block}, std::pair{"private=", &rules.allow_private}})
    for (const auto& host : *list) out.push_back(cat(name, host));
  return out;
}

Result<RuleOptions> read_rule_words(const std::vector<std::string>& words) {
  RuleOptions out;
  for (std::string_view word : words) {
    const auto equals = word.find('=');
    const auto name = word.substr(0, equals), value = equals == word.npos ? std::string_view() : word.substr(equals + 1);
    if (name == "mode") {
      bool known = false;
      for (std::size_t i = 0; i < std::size(kModes); ++i)
        if (value == kModes[i]) out.mode = static_cast<RuleMode>(i), known = true;
      if (!known) return make_error(ErrorCode::kInvalid, cat("no rule: ", printable(word)));
      continue;
    }
    auto* list = name == "allow" ? &out.allow : name == "block" ? &out.block : name == "private" ? &out.allow_private : nullptr;
    if (list == nullptr) return make_error(ErrorCode::kInvalid, cat("no rule: ", printable(word)));
    list->emplace_back(value);
  }
  return out;
}

std::vector<std::string> limit_words(const ProxyLimits& limits) {
  std::vector<std::string> out;
  auto say = [&](std::string_view name, std::uint64_t value, std::uint64_t usual) {
    if (value != usual) out.push_back(cat(name, value));
  };
  say("bytes=", limits.bytes, 0);
  say("rate=", limits.bytes_per_second, 0);
  say("connections=", limits.connections, ProxyLimits{}.connections);
  say("time=", static_cast<std::uint64_t>(limits.time.count()), 0);
  say("life=", static_cast<std::uint64_t>(limits.life.count()), 0);
  return out;
}

Result<DoorCeiling> read_door_words(const std::vector<std::string>& words) {
  DoorCeiling out;
  std::vector<std::string> rules;
  for (std::string_view word : words) {
    const auto equals = word.find('=');
    const auto name = word.substr(0, equals), value = equals == word.npos ? std::string_view() : word.substr(equals + 1);
    if (name == "map") {
      const auto at = value.find('=');
      if (at == value.npos) return make_error(ErrorCode::kInvalid, cat("expected NAME=ADDRESS: ", printable(value)));
      TRY_SET(Host host, parse_host(value.substr(0, at)));
      TRY_SET(Host address, parse_host(value.substr(at + 1)));
      if (host.address || !address.address) return make_error(ErrorCode::kInvalid, cat("expected NAME=ADDRESS: ", printable(value)));
      out.names[host.name].push_back(*address.address);
      continue;
    }
    if (word == "by=cell") {
      out.whose = Whose::kCell;
      continue;
    }
    auto number = parse_u64(value);
    if (name == "bytes" && number) out.limits.bytes = *number;
    else if (name == "rate" && number) out.limits.bytes_per_second = *number;
    else if (name == "connections" && number) out.limits.connections = *number;
    else if (name == "time" && number && *number < kLongestTime) out.limits.time = std::chrono::milliseconds(*number);
    else if (name == "life" && number && *number < kLongestTime) out.limits.life = std::chrono::milliseconds(*number);
    else rules.emplace_back(word);
  }
  TRY_SET(out.rules, read_rule_words(rules));
  return out;
}

Result<std::shared_ptr<const RuleSet>> rules_within(const RuleOptions& most, const DoorOrder& order, Whose whose) {
  RuleOptions asked;
  asked.mode = order.mode;
  asked.block = order.block;
  asked.allow_private = most.allow_private;
  for (const auto& entry : order.allow) {
    if (entry.starts_with('@')) asked.allow.insert(asked.allow.end(), most.allow.begin(), most.allow.end());
    else asked.allow.push_back(entry);
  }
  TRY_SET(RuleSet ceiling, RuleSet::create(most));
  TRY_SET(RuleSet rules, RuleSet::create(asked));
  rules.stay_within(std::make_shared<const RuleSet>(std::move(ceiling)), whose);
  return std::make_shared<const RuleSet>(std::move(rules));
}

bool covers(const RuleOptions& most, const std::string& pattern) {
  if (std::find(most.allow.begin(), most.allow.end(), pattern) != most.allow.end()) return true;
  auto rules = RuleSet::create(most);
  if (!rules.ok()) return false;
  std::string_view name = pattern;
  bool below = name.starts_with("*.") || name.starts_with('.');
  if (below) name.remove_prefix(name[0] == '*' ? 2 : 1);
  name = name.substr(0, name.find(':'));
  auto allowed = [&](const std::string& host) {
    auto parsed = parse_host(host);
    if (!parsed.ok()) return false;
    if (!parsed.value().address) return rules.value().check_name(parsed.value()).allowed;
    if (rules.value().check({parsed.value(), 443}).allowed) return true;
    return std::any_of(most.allow.begin(), most.allow.end(), [&](const std::string& text) {
      auto p = HostPattern::parse(text);
      return p.ok() && rules.value().check({parsed.value(), p.value().first_port()}).allowed;
    });
  };
  return allowed(std::string(name)) && (!below || allowed(cat("hotcell-below.", name)));
}

Result<void> check_order(const RuleOptions& most, const std::vector<std::string>& allow, const std::vector<std::string>& block) {
  RuleOptions asked;
  asked.block = block;
  for (const auto& entry : allow)
    if (!entry.starts_with('@')) asked.allow.push_back(entry);
  TRY(RuleSet::create(asked));
  for (const auto& entry : asked.allow)
    if (!covers(most, entry)) return make_error(ErrorCode::kUnsupported, cat(printable(entry), " is not among the hosts that this server's configuration allows (network.allow)"));
  return {};
}

std::string pack(const DoorOrder& order) { return packed(order); }
std::optional<DoorOrder> unpack_door_order(std::string_view bytes) { return unpacked<DoorOrder>(bytes); }
std::string pack(const DoorAccount& account) { return packed(account); }
std::optional<DoorAccount> unpack_door_account(std::string_view bytes) { return unpacked<DoorAccount>(bytes); }

}  // namespace hotcell::net
