#include "net/journal.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <filesystem>
#include <tuple>
#include <utility>

#include "base/strings.h"
#include "sys/file.h"
#include "sys/thread.h"

namespace hotcell::net {
namespace {

constexpr const char* kFiles[] = {"/proxy.log", "/proxy-refused.log", "/proxy-names.log"};
constexpr auto kLockPatience = std::chrono::seconds(5);
constexpr auto kKeepEvery = std::chrono::milliseconds(200);

std::size_t file_of(const LogEntry& entry) {
  const auto kind = kind_of(entry);
  return kind == EntryKind::kAllowed || kind == EntryKind::kOpen ? 0 : kind == EntryKind::kCheap ? 2 : 1;
}

// Between tabs: hosts and reasons come from the cell, so a tab or a newline in one of them must not make a line of it.
std::string field(std::string_view text) {
  std::string out = printable(text.substr(0, 1000));
  for (char& c : out)
    if (c == '\t') c = ' ';
  return out.empty() ? "-" : out;
}

std::string line_of(std::string_view run, const LogEntry& e) {
  auto ms = std::chrono::duration_cast<std::chrono::milliseconds>(e.time.time_since_epoch()).count();
  auto us = std::chrono::duration_cast<std::chrono::microseconds>(e.duration).count();
  return cat(ms, "\t", field(run), "\t", field(e.method), "\t", field(e.host), "\t", e.port, "\t", e.notice ? "notice" : e.open ? "open" : e.failed ? "failed" : e.allowed ? "allowed" : "refused", "\t",
             field(e.rule), "\t", field(e.reason), "\t", field(e.how), "\t", e.up, "\t", e.down, "\t", us, "\n");
}

std::string text_of(std::string_view field) { return field == "-" ? std::string() : std::string(field); }

bool read_line(std::string_view line, JournalEntry& out) {
  auto parts = split(line, '\t');
  if (parts.size() != 12 || (parts[5] != "allowed" && parts[5] != "refused" && parts[5] != "failed" && parts[5] != "notice" && parts[5] != "open")) return false;
  auto ms = parse_u64(parts[0]), port = parse_u64(parts[4]), up = parse_u64(parts[9]), down = parse_u64(parts[10]), us = parse_u64(parts[11]);
  if (!ms || *ms > 1ULL << 42 || !port || *port > 65535 || !up || !down || !us || *us > 1ULL << 50) return false;
  LogEntry& e = out.entry;
  out.run = text_of(parts[1]);
  e.time = std::chrono::system_clock::time_point(std::chrono::milliseconds(*ms));
  e.method = text_of(parts[2]), e.host = text_of(parts[3]), e.port = static_cast<std::uint16_t>(*port);
  e.open = parts[5] == "open";
  e.allowed = e.open || parts[5] == "allowed";
  e.failed = parts[5] == "failed";
  e.notice = parts[5] == "notice";
  e.rule = text_of(parts[6]), e.reason = text_of(parts[7]), e.how = text_of(parts[8]);
  e.up = *up, e.down = *down, e.duration = std::chrono::microseconds(*us);
  return true;
}

// Others hold the lock for one batch. One that was stopped in the middle must not stop everybody else for good.
Result<void> lock_file(int fd, const std::string& path) {
  for (auto give_up = std::chrono::steady_clock::now() + kLockPatience;;) {
    if (::flock(fd, LOCK_EX | LOCK_NB) == 0) return {};
    if (errno != EWOULDBLOCK && errno != EINTR) return errno_error(path, errno);
    if (std::chrono::steady_clock::now() >= give_up) return make_error(ErrorCode::kIo, cat(path, " has been locked by another process for too long"));
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
}

Result<void> append_file(const std::string& path, std::string_view text) {
  // Several runs write at once, and one of them turns the page. Whoever waited for the lock meanwhile has the old page in hand:
  // turning that once more would put the new one, nearly empty, in its place.
  for (;;) {
    sys::Fd fd(::open(path.c_str(), O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600));
    if (!fd.valid()) return errno_error(path, errno);
    TRY(lock_file(fd.get(), path));
    TRY_SET(struct stat ours, sys::stat_fd(fd.get(), path));
    struct stat now {};
    if (::lstat(path.c_str(), &now) < 0 && errno != ENOENT) return errno_error(path, errno);
    if (now.st_ino != ours.st_ino || now.st_dev != ours.st_dev) continue;
    if (auto written = sys::write_all(fd.get(), text); !written.ok()) {
      // Half a line would spoil the next one, and all of it is tried again.
      if (::ftruncate(fd.get(), ours.st_size) < 0) return errno_error(path, errno);
      return written;
    }
    const auto size = static_cast<std::uint64_t>(ours.st_size) + text.size();
    if (size > kMostJournal && ::rename(path.c_str(), (path + ".1").c_str()) < 0) return errno_error(path, errno);
    return {};
  }
}

Result<void> make_folder(const std::string& folder) {
  std::error_code made;
  std::filesystem::create_directories(std::filesystem::path(folder).parent_path(), made);
  if (::mkdir(folder.c_str(), 0700) < 0 && errno != EEXIST) return errno_error(folder, errno);
  return {};
}

}  // namespace

Result<void> append_journal(const std::string& folder, std::string_view run, const std::vector<LogEntry>& entries) {
  if (entries.empty()) return {};
  TRY(make_folder(folder));
  std::string texts[std::size(kFiles)];
  for (const auto& e : entries) texts[file_of(e)] += line_of(run, e);
  for (std::size_t i = 0; i < std::size(kFiles); ++i)
    if (!texts[i].empty()) TRY(append_file(folder + kFiles[i], texts[i]));
  return {};
}

std::uint64_t JournalWriter::kept() const { return *std::min_element(kept_.begin(), kept_.end()); }

Result<void> JournalWriter::keep(const std::vector<LogEntry>& entries) {
  static_assert(std::tuple_size_v<decltype(kept_)> == std::size(kFiles));
  if (entries.empty() || entries.back().number <= kept()) return {};
  TRY(make_folder(folder_));
  const std::uint64_t last = entries.back().number;
  std::string texts[std::size(kFiles)];
  // The line about what is missing is in the file of what was noticed, so that file says from where on it is counted.
  const std::size_t noticed = file_of(dropped_entry(0));
  std::uint64_t there = 0;
  for (const auto& e : entries) {
    if (e.number > kept_[noticed]) ++there;
    if (auto i = file_of(e); e.number > kept_[i]) texts[i] += line_of(run_, e);
  }
  if (last > kept_[noticed] + there) texts[noticed].insert(0, line_of(run_, dropped_entry(last - kept_[noticed] - there)));
  Result<void> done;
  for (std::size_t i = 0; i < std::size(kFiles); ++i) {
    Result<void> written = texts[i].empty() ? Result<void>() : append_file(folder_ + kFiles[i], texts[i]);
    if (written.ok()) kept_[i] = std::max(kept_[i], last);
    else if (done.ok()) done = std::move(written);
  }
  return done;
}

JournalKeeper::JournalKeeper(const Log& log, std::string folder, std::string run, std::function<void(LogEntry&)> clean)
    : log_(log), writer_(std::move(folder), std::move(run)), clean_(std::move(clean)) {
  // Without a thread all of it is written at the end: as much as the log still has of it, which says what it lost.
  if (auto thread = sys::quiet_thread([this] { work(); }); thread.ok()) thread_ = std::move(thread).value();
}

void JournalKeeper::keep() {
  auto entries = log_.entries(writer_.kept());
  if (clean_)
    for (auto& e : entries) clean_(e);
  last_ = writer_.keep(entries);
}

void JournalKeeper::work() {
  for (std::unique_lock lock(mutex_); !wake_.wait_for(lock, kKeepEvery, [this] { return stop_; });) {
    lock.unlock();
    keep();
    lock.lock();
  }
  keep();
}

Result<void> JournalKeeper::finish() {
  const bool first = [this] {
    std::lock_guard lock(mutex_);
    return !std::exchange(stop_, true);
  }();
  wake_.notify_one();
  if (thread_.joinable()) thread_.join();
  else if (first) keep();
  return last_;
}

Result<std::vector<JournalEntry>> read_journal(const std::string& folder) {
  std::vector<JournalEntry> out;
  for (const char* name : kFiles)
    for (const std::string& path : {folder + name + ".1", folder + name}) {
      auto text = sys::read_file(path.c_str(), 2 * kMostJournal);
      if (!text.ok() && text.error().err == ENOENT) continue;
      if (!text.ok()) return std::move(text).error();
      for (auto line : split(text.value(), '\n')) {
        JournalEntry entry;
        if (read_line(line, entry)) out.push_back(std::move(entry));
      }
    }
  std::stable_sort(out.begin(), out.end(), [](const JournalEntry& a, const JournalEntry& b) { return a.entry.time < b.entry.time; });
  return out;
}

Stats sum_of(const std::vector<JournalEntry>& entries) {
  Log log(0);
  std::uint64_t dropped = 0;
  for (const auto& e : entries) {
    if (e.entry.notice && e.entry.rule == "dropped") dropped += e.entry.up;
    else if (e.entry.notice) log.notice(e.entry.reason);
    if (e.entry.notice || e.entry.open) continue;
    log.add(e.entry);
    log.count_bytes(e.entry.up, e.entry.down);
  }
  Stats stats = log.stats();
  stats.dropped_entries = dropped;
  return stats;
}

}  // namespace hotcell::net
