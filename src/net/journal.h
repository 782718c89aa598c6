// The log of the proxy that outlives it: one line for each request, in files of the user's own, bounded. What was refused, what was
// allowed and what costs nothing to ask for are in files of their own, so that no flood of one turns the page of another.
#pragma once
#include <array>
#include <condition_variable>
#include <functional>
#include <mutex>
#include <string>
#include <string_view>
#include <thread>
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

// Keeps a log as it grows: what came since the last time, and a line about what the log could not hold for so long. What could
// not be written is tried again the next time, each file by itself: none has a line twice.
class JournalWriter {
 public:
  JournalWriter(std::string folder, std::string run) : folder_(std::move(folder)), run_(std::move(run)) {}
  Result<void> keep(const std::vector<LogEntry>& entries);  // may hold older ones, too
  std::uint64_t kept() const;                               // all up to this number are written

 private:
  std::string folder_, run_;
  std::array<std::uint64_t, 3> kept_{};  // by file
};

// Does so while the log is being written, a few times in a second, from a thread of its own: a disk may take its time, and
// whoever serves a cell holds it to limits meanwhile. What was asked is there when somebody looks, and when we are killed.
class JournalKeeper {
 public:
  // `clean`: what is done to an entry before anybody else sees it. The log must live longer than this.
  JournalKeeper(const Log& log, std::string folder, std::string run, std::function<void(LogEntry&)> clean);
  ~JournalKeeper() { finish().ignore("whoever wants to know has asked"); }
  // Writes what is left and ends. How the last writing went.
  Result<void> finish();

 private:
  void work();
  void keep();

  const Log& log_;
  JournalWriter writer_;
  std::function<void(LogEntry&)> clean_;
  Result<void> last_;
  std::mutex mutex_;
  std::condition_variable wake_;
  bool stop_ = false;
  std::thread thread_;
};

Stats sum_of(const std::vector<JournalEntry>& entries);

}  // namespace hotcell::net
