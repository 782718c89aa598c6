// What is said to hotcell-proxy, which serves the door of one cell for a daemon's front, and what it says at the end.
// Frames (sys/framed_child.h): one DoorOrder with the two sockets beside it, an empty answer or one sentence when the door is
// served or will not be. Then questions: one byte 'a' asks for the account so far, 'd' and two numbers with a blank between for what was refused
// and noticed since a moment (nanoseconds since 1970) and for the entries after one of that number, 'r' and a DoorOrder changes the rules (an empty
// answer, or a sentence: then they are as before). An empty question ends it: the door is shut, and the account is the answer.
#pragma once
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "hotcell/policy.h"
#include "net/address.h"
#include "net/log.h"
#include "net/proxy.h"
#include "net/rules.h"

namespace hotcell::net {

struct DoorOrder {
  RuleMode mode = RuleMode::kAllowlist;
  std::vector<std::string> allow, block;   // within what the daemon's configuration allows; @…: all of that
  // Where secrets are put in, by a hotcell-tls whose socket comes as a third one; none: there is no third. Of the first order alone.
  std::vector<std::string> secret_hosts = {};
};

struct DoorAccount {
  std::vector<LogEntry> entries;
  std::vector<Refusal> refusals;
  std::vector<std::string> notices;
  Stats stats;
};

// What hotcell-proxy may do at most, for as long as it lives.
struct DoorCeiling {
  RuleOptions rules;
  Whose whose = Whose::kDaemon;
  ProxyLimits limits;
  std::map<std::string, std::vector<Address>> names;   // with addresses of their own
};

// As words of a command line: mode=…, allow=…, block=…, private=…, and of a ceiling also map=NAME=ADDRESS, bytes=N, rate=N,
// connections=N, by=cell (they are a cell's own), and in milliseconds time=N (of the door), life=N (of one connection).
std::vector<std::string> rule_words(const RuleOptions& rules);
std::vector<std::string> limit_words(const ProxyLimits& limits);   // those that are not the usual ones
Result<RuleOptions> read_rule_words(const std::vector<std::string>& words);
Result<DoorCeiling> read_door_words(const std::vector<std::string>& words);

// The rules of an order within the ceiling's; @… in it stands for all that the ceiling allows.
Result<std::shared_ptr<const RuleSet>> rules_within(const RuleOptions& most, const DoorOrder& order, Whose whose = Whose::kDaemon);

// Whether all that the pattern stands for is within the rules, as far as names tell; the proxy holds to them in any case.
bool covers(const RuleOptions& most, const std::string& pattern);
// Whether such lists make sense (kInvalid), and allow no more than that (kUnsupported).
Result<void> check_order(const RuleOptions& most, const std::vector<std::string>& allow, const std::vector<std::string>& block);

inline constexpr std::size_t kLongestDoorOrder = 60u << 10;    // one packet, with the sockets
inline constexpr std::size_t kLongestDoorAccount = 16u << 20;

std::string pack(const DoorOrder& order);
std::optional<DoorOrder> unpack_door_order(std::string_view bytes);
std::string pack(const DoorAccount& account);
std::optional<DoorAccount> unpack_door_account(std::string_view bytes);

}  // namespace hotcell::net
