#include "net/log.h"

#include <algorithm>

#include "base/json_write.h"
#include "base/strings.h"

namespace hotcell::net {

EntryKind kind_of(const LogEntry& e) {
  if (e.notice) return EntryKind::kNotice;
  if (e.open) return EntryKind::kOpen;
  if (e.host.empty() || e.method.starts_with("DNS ")) return EntryKind::kCheap;
  // What fails is what somebody may ask for: a flood of it takes nothing from the refusals.
  return e.allowed || e.failed ? EntryKind::kAllowed : EntryKind::kRefused;
}

LogEntry dropped_entry(std::uint64_t count) {
  LogEntry e;
  e.time = std::chrono::system_clock::now();
  e.notice = true;
  e.rule = "dropped";
  e.reason = cat(count, " requests are not in the log: there were more than it holds");
  e.up = count;
  return e;
}

void Log::put(LogEntry entry) {
  entry.number = ++last_;
  entries_[static_cast<std::size_t>(kind_of(entry))].push_back(std::move(entry));
  std::size_t all = 0;
  for (const auto& part : entries_) all += part.size();
  if (all <= most_) return;
  // The oldest of what there is most of: who floods one kind loses that kind.
  std::max_element(entries_.begin(), entries_.end(), [](const auto& a, const auto& b) { return a.size() < b.size(); })->pop_front();
  ++stats_.dropped_entries;
}

void Log::note_refusal(const LogEntry& entry) {
  auto it = known_.find({entry.host, entry.rule});
  Refusal* to = it == known_.end() ? &unlisted_ : &refusals_[it->second];
  // Names cost nothing to ask for: they do not take the places of hosts that were called.
  auto& listed = listed_[static_cast<std::size_t>(kind_of(entry))];
  if (it == known_.end() && listed < kMostRefusals) {
    ++listed;
    known_[{entry.host, entry.rule}] = refusals_.size();
    to = &refusals_.emplace_back();
    to->first = entry;
  } else if (to == &unlisted_ && to->count == 0) {
    to->first.time = entry.time;
    to->first.reason = "there were refusals of more hosts than are listed";
  }
  ++to->count;
  to->last = std::max(to->last, entry.time);
}

void Log::add(LogEntry entry) {
  std::lock_guard lock(mutex_);
  ++(entry.failed ? stats_.failed : entry.allowed ? stats_.allowed : stats_.blocked);
  if (!entry.host.empty() && (stats_.hosts.size() < kMostHosts || stats_.hosts.contains(entry.host))) ++stats_.hosts[entry.host];
  if (!entry.allowed && !entry.failed) note_refusal(entry);
  // Names cost nothing to ask for: those that nobody has are no news.
  const bool cheap = kind_of(entry) == EntryKind::kCheap;
  std::string failed = entry.failed && !cheap && failures_.size() < kMostFailures && failures_.insert(entry.reason).second ? entry.reason : std::string();
  put(std::move(entry));
  if (!failed.empty()) note(std::move(failed));
}

void Log::add_open(LogEntry entry) {
  std::lock_guard lock(mutex_);
  entry.open = true;
  put(std::move(entry));
}

void Log::count_bytes(std::uint64_t up, std::uint64_t down) {
  std::lock_guard lock(mutex_);
  stats_.bytes_up += up;
  stats_.bytes_down += down;
}

void Log::count_open(int change) {
  std::lock_guard lock(mutex_);
  stats_.open += static_cast<std::uint64_t>(change);
}

void Log::notice(std::string text) {
  std::lock_guard lock(mutex_);
  note(std::move(text));
}

void Log::note(std::string text) {
  auto& list = stats_.notices;
  if (list.size() > kMostNotices || std::find(list.begin(), list.end(), text) != list.end()) return;
  if (list.size() == kMostNotices) text = "there is more to notice than is listed";
  LogEntry entry;
  entry.time = std::chrono::system_clock::now();
  entry.notice = true;
  entry.rule = "notice";
  entry.reason = text;
  put(std::move(entry));
  list.push_back(std::move(text));
}

std::vector<LogEntry> Log::entries(std::uint64_t after) const {
  std::vector<LogEntry> out;
  std::lock_guard lock(mutex_);
  for (const auto& part : entries_) {
    auto from = std::upper_bound(part.begin(), part.end(), after, [](std::uint64_t n, const LogEntry& e) { return n < e.number; });
    out.insert(out.end(), from, part.end());
  }
  std::sort(out.begin(), out.end(), [](const LogEntry& a, const LogEntry& b) { return a.number < b.number; });
  return out;
}

std::vector<Refusal> Log::refusals(std::chrono::system_clock::time_point since) const {
  std::vector<Refusal> out;
  std::lock_guard lock(mutex_);
  std::map<std::pair<std::string_view, std::string_view>, std::uint64_t> here;
  if (since.time_since_epoch().count() != 0)
    for (const auto& part : entries_)
      for (const auto& e : part)
        if (!e.notice && !e.allowed && !e.failed && e.time >= since) ++here[{e.host, e.rule}];
  auto tell = [&](const Refusal& r) {
    if (r.count == 0 || r.last < since) return;
    out.push_back(r);
    if (r.first.time >= since) return;
    auto it = here.find({r.first.host, r.first.rule});
    out.back().count = it == here.end() ? 1 : it->second;
  };
  for (const auto& r : refusals_) tell(r);
  tell(unlisted_);
  return out;
}

std::vector<std::string> Log::notices(std::chrono::system_clock::time_point since) const {
  std::vector<std::string> out;
  std::lock_guard lock(mutex_);
  for (const auto& e : entries_[static_cast<std::size_t>(EntryKind::kNotice)])
    if (e.time >= since) out.push_back(e.reason);
  return out;
}

Stats Log::stats() const {
  std::lock_guard lock(mutex_);
  return stats_;
}

std::string log_json(const LogEntry& e) {
  JsonWriter w;
  w.begin_object();
  w.field("time_ms", std::chrono::duration_cast<std::chrono::milliseconds>(e.time.time_since_epoch()).count());
  w.field("method", std::string_view(e.method));
  w.field("host", std::string_view(e.host));
  w.field("port", e.port);
  w.field("allowed", e.allowed);
  w.field("failed", e.failed);
  w.field("rule", std::string_view(e.rule));
  w.field("reason", std::string_view(e.reason));
  w.field("how", std::string_view(e.how));
  w.field("bytes_up", e.up);
  w.field("bytes_down", e.down);
  w.field("duration_us", std::chrono::duration_cast<std::chrono::microseconds>(e.duration).count());
  w.field("notice", e.notice);
  w.field("open", e.open);
  w.end_object();
  return w.take();
}

std::string log_json(const std::vector<LogEntry>& entries) {
  std::string out;
  for (const auto& e : entries) out += log_json(e) + "\n";
  return out;
}

std::string stats_json(const Stats& s) {
  JsonWriter w;
  w.begin_object();
  w.field("allowed", s.allowed);
  w.field("blocked", s.blocked);
  w.field("failed", s.failed);
  w.field("bytes_up", s.bytes_up);
  w.field("bytes_down", s.bytes_down);
  w.field("open", s.open);
  w.field("dropped", s.dropped_entries);
  w.key("hosts");
  w.begin_object();
  for (const auto& [host, count] : s.hosts) w.field(host, count);
  w.end_object();
  w.key("notices");
  w.begin_array();
  for (const auto& n : s.notices) w.value(std::string_view(n));
  w.end_array();
  w.end_object();
  return w.take();
}

}  // namespace hotcell::net
