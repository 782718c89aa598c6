// What the proxy did, for whoever asks: the last entries, what was refused, and sums.
//
// All of it is bounded, and a program chooses how much it asks for. So that it cannot talk a refusal out of the account:
// each kind of entry has its own part of the log, refusals are also kept as sums by host and rule, the first ones of which
// stay for good, and what was left out is counted.
#pragma once
#include <array>
#include <chrono>
#include <cstdint>
#include <deque>
#include <map>
#include <mutex>
#include <set>
#include <string>
#include <utility>
#include <vector>

namespace hotcell::net {

struct LogEntry {
  std::chrono::system_clock::time_point time;
  std::string method, host;      // CONNECT, GET …, SOCKS5, DNS A; TCP: a connection that was not even heard
  std::uint16_t port = 0;
  bool allowed = false;
  std::string rule, reason, how;  // `how`: what would allow it
  std::uint64_t up = 0, down = 0;
  std::chrono::nanoseconds duration{0};
  std::uint64_t number = 0;      // from 1 on, in the order in which they were logged
  bool notice = false;           // no request: the reason says what was noticed
  bool open = false;             // has not ended, and moved so much so far; another entry tells of its end, and counts
  bool failed = false;           // no rule was against it, but there was no address, nobody there, or no answer; `allowed` is false
};

enum class EntryKind : unsigned char { kAllowed, kRefused, kCheap, kNotice, kOpen };  // cheap: names and connections that were not heard
inline constexpr std::size_t kEntryKinds = 5;
EntryKind kind_of(const LogEntry& entry);

// How many entries are not there any more, as an entry.
LogEntry dropped_entry(std::uint64_t count);

// One host refused by one rule.
struct Refusal {
  LogEntry first;
  std::chrono::system_clock::time_point last;
  std::uint64_t count = 0;
};

struct Stats {
  std::uint64_t allowed = 0, blocked = 0, bytes_up = 0, bytes_down = 0, open = 0, failed = 0, dropped_entries = 0;
  std::map<std::string, std::uint64_t> hosts;  // at most kMostHosts; requests to others are counted without their names
  std::vector<std::string> notices;            // what looks like data carried out by the back door
};

// Safe to use from any thread.
class Log {
 public:
  explicit Log(std::size_t most_entries) : most_(most_entries) {}
  void add(LogEntry entry);
  void add_open(LogEntry entry);  // of a request that takes its time
  void count_bytes(std::uint64_t up, std::uint64_t down);
  void count_open(int change);
  void notice(std::string text);
  // Oldest first; only those that came after the one of that number.
  std::vector<LogEntry> entries(std::uint64_t after = 0) const;
  // Since then, by the order in which they came first. A count is exact where the first of them is not older than that, or all
  // of them are in the log still; otherwise it was that often at least.
  std::vector<Refusal> refusals(std::chrono::system_clock::time_point since = {}) const;
  std::vector<std::string> notices(std::chrono::system_clock::time_point since) const;
  Stats stats() const;

 private:
  static constexpr std::size_t kMostHosts = 1000, kMostNotices = 100, kMostRefusals = 512, kMostFailures = 4;
  void put(LogEntry entry);
  void note_refusal(const LogEntry& entry);
  void note(std::string text);
  mutable std::mutex mutex_;
  std::size_t most_;
  std::array<std::deque<LogEntry>, kEntryKinds> entries_;
  std::uint64_t last_ = 0;
  std::vector<Refusal> refusals_;
  std::set<std::string> failures_;  // the first few, which are noticed once each
  std::map<std::pair<std::string, std::string>, std::size_t> known_;  // host and rule; where in refusals_
  std::array<std::size_t, kEntryKinds> listed_{};
  Refusal unlisted_;
  Stats stats_;
};

std::string log_json(const LogEntry& entry);
std::string log_json(const std::vector<LogEntry>& entries);  // one line for each
std::string stats_json(const Stats& stats);

}  // namespace hotcell::net
