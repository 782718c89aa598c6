// The log of the proxy that outlives it: one line for each request, in files of the user's own, bounded. What was refused, what was
// allowed and what costs nothing to ask for are in files of their own, so that no flood of one turns the page of another.
#pragma once
#include <string>
#include <string_view>
#include <vector>

#include "hotcell/result.h"
#include "net/log.h"

namespace hotcell::net {

inline constexpr std::uint64_t kMostJournal = 4 << 20;  // then it becomes the old one, and the one before is gone

struct JournalEntry {
  std::string run;  // whose request it was
  LogEntry entry;
};

Result<void> append_journal(const std::string& folder, std::string_view run, const std::vector<LogEntry>& entries);
// Oldest first; what is not there is empty, a line that is none of ours is left out.
Result<std::vector<JournalEntry>> read_journal(const std::string& folder);

// Keeps a log as it grows: what came since the last time, and a line about what the log could not hold for so long.
class JournalWriter {
 public:
  JournalWriter(std::string folder, std::string run) : folder_(std::move(folder)), run_(std::move(run)) {}
  Result<void> keep(const std::vector<LogEntry>& entries);  // may hold older ones, too
  std::uint64_t kept() const { return kept_; }             // the number of the last one

 private:
  std::string folder_, run_;
  std::uint64_t kept_ = 0;
};

Stats sum_of(const std::vector<JournalEntry>& entries);

}  // namespace hotcell::net
