#include "store/audit_log.h"

#include <fcntl.h>
#include <pthread.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <condition_variable>
#include <cstdio>
#include <deque>
#include <mutex>
#include <optional>
#include <thread>

#include "base/strings.h"
#include "store/audit_chain.h"
#include "store/schema.h"
#include "sys/file.h"

namespace hotcell {

namespace {

using Clock = std::chrono::steady_clock;
constexpr auto kCountEvery = std::chrono::milliseconds(100);  // a synchronised disk takes milliseconds: not for each line
constexpr auto kRetry = std::chrono::milliseconds(200);
constexpr std::size_t kTogether = 512;
// Others hold the lock for one batch. One that was stopped in the middle must not stop everybody else for good.
constexpr auto kLockPatience = std::chrono::seconds(5);

class HeldLock {
 public:
  static Result<HeldLock> take(int file) {
    for (auto give_up = Clock::now() + kLockPatience;;) {
      if (::flock(file, LOCK_EX | LOCK_NB) == 0) return HeldLock(file);
      if (errno != EWOULDBLOCK && errno != EINTR) return errno_error("lock audit.lock", errno);
      if (Clock::now() >= give_up) return make_error(ErrorCode::kIo, "another process has held the audit log (audit.lock) for too long");
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
  }
  HeldLock(HeldLock&& other) noexcept : file_(std::exchange(other.file_, -1)) {}
  HeldLock& operator=(HeldLock&&) = delete;
  ~HeldLock() {
    if (file_ >= 0) ::flock(file_, LOCK_UN);
  }

 private:
  explicit HeldLock(int file) : file_(file) {}
  int file_;
};

// The file and its place in the chain; the thread's alone. Other processes write the same file: whatever is done is done
// under the lock, and from where the chain ends then.
class AuditWriter {
 public:
  static Result<AuditWriter> open(const std::string& folder, AuditOptions options) {
    TRY_SET(sys::Fd opened, open_state_folder(folder));
    TRY_SET(sys::Fd lock, sys::open_at(opened.get(), "audit.lock", O_RDWR | O_CREAT | O_NOFOLLOW, 0600));
    TRY_SET(Settings settings, Settings::open(store_file(folder)));
    AuditWriter writer(folder, options, std::move(opened), std::move(lock), std::move(settings));
    TRY_SET(HeldLock held, HeldLock::take(writer.lock_.get()));
    TRY(writer.begin());
    return writer;
  }

  // All of them or none.
  Result<void> write(std::span<const AuditEvent> events) {
    TRY_SET(HeldLock held, HeldLock::take(lock_.get()));
    TRY(catch_up());
    if (size_ >= options_.file_size.n && size_ > 0) TRY(begin_next_file());
    std::string text;
    ChainPoint point = point_;
    for (const auto& event : events) {
      std::string line = audit_line(event, point);
      point = {point.count + 1, std::string(place_of(line)->hash)};
      (text += line) += '\n';
    }
    if (auto written = sys::write_all(file_.get(), text); !written.ok()) {
      // Half a line would spoil the next one.
      if (::ftruncate(file_.get(), static_cast<off_t>(size_)) < 0) return errno_error("cut audit.jsonl", errno);
      return written;
    }
    size_ += text.size();
    point_ = std::move(point);
    return {};
  }

  Result<void> count() {
    if (counted_ == point_.count) return {};
    TRY_SET(HeldLock held, HeldLock::take(lock_.get()));
    TRY(catch_up());
    return count_held();
  }

  bool all_counted() const { return counted_ == point_.count; }
  std::uint64_t entries() const { return point_.count; }

 private:
  AuditWriter(std::string folder, AuditOptions options, sys::Fd opened, sys::Fd lock, Settings settings)
      : path_(std::move(folder)), options_(options), folder_(std::move(opened)), lock_(std::move(lock)),
        settings_(std::move(settings)) {}

  Result<void> begin() {
    TRY_SET(point_, read_head(settings_));
    TRY(open_file());
    return take_up();
  }

  // What others have written since: their lines are followed, another file is taken up like one after a restart.
  Result<void> catch_up() {
    struct stat now {};
    if (::fstatat(folder_.get(), kAuditFile, &now, AT_SYMLINK_NOFOLLOW) < 0 && errno != ENOENT) return errno_error(kAuditFile, errno);
    TRY_SET(struct stat ours, sys::stat_fd(file_.get(), kAuditFile));
    auto size = static_cast<std::uint64_t>(ours.st_size);
    if (now.st_ino != ours.st_ino || now.st_dev != ours.st_dev || size < size_) return begin();
    if (size == size_) return {};
    std::string text(size - size_, '\0');
    ssize_t got = ::pread(file_.get(), text.data(), text.size(), static_cast<off_t>(size_));
    if (got != static_cast<ssize_t>(text.size())) return begin();
    std::string why;
    std::string_view rest = text;
    while (!rest.empty()) {
      auto end = rest.find('\n');
      auto next = end == rest.npos ? std::nullopt : follow(point_, rest.substr(0, end), why);
      if (!next) return begin();  // half a line of one that died, or something that is none of ours
      point_ = std::move(*next);
      rest.remove_prefix(end + 1);
    }
    size_ = size;
    return {};
  }

  // The file before the count: what is counted is there, whatever happens to the machine.
  Result<void> count_held() {
    if (counted_ == point_.count) return {};
    if (::fdatasync(file_.get()) < 0) return errno_error("fdatasync audit.jsonl", errno);
    TRY(write_head(settings_, point_));
    counted_ = point_.count;
    return {};
  }

  Result<void> open_file() {
    TRY_SET(file_, sys::open_at(folder_.get(), kAuditFile, O_RDWR | O_APPEND | O_CREAT | O_NOFOLLOW | O_NONBLOCK, 0600));
    TRY_SET(struct stat s, sys::stat_fd(file_.get(), kAuditFile));
    if (!S_ISREG(s.st_mode) || s.st_uid != ::geteuid() || s.st_nlink != 1 || (s.st_mode & 0077) != 0) {
      return make_error(ErrorCode::kDenied,
                        cat(printable(path_), "/", kAuditFile, " is not a file of ours alone: it is not used"));
    }
    size_ = static_cast<std::uint64_t>(s.st_size);
    first_ = point_.count + 1;
    return {};
  }

  // Lines that were written and not yet counted belong to the chain when they follow it. Where they do not, or lines are
  // missing, we go on from what was counted: the gap stays to be seen.
  Result<void> take_up() {
    counted_ = point_.count;
    if (size_ == 0) return {};
    TRY_SET(std::string text, sys::read_fd(file_.get(), size_ + 1));
    auto whole = text.rfind('\n') + 1;  // 0 when there is none
    if (whole < text.size() && ::ftruncate(file_.get(), static_cast<off_t>(whole)) < 0) {
      return errno_error("cut audit.jsonl", errno);
    }
    size_ = whole;
    std::string why;
    bool at_start = true;
    for (auto line : split(std::string_view(text).substr(0, whole), '\n')) {
      auto place = place_of(line);
      if (at_start && place) first_ = place->number;
      at_start = false;
      if (!place || place->number <= point_.count) continue;
      auto next = follow(point_, line, why);
      if (!next) break;
      point_ = std::move(*next);
    }
    return count_held();
  }

  Result<void> begin_next_file() {
    TRY(count_held());
    std::string full = audit_file_name(first_);
    // Never over one that is there: a name used twice is a sign of tampering, and the older file the evidence.
    // Then this file goes on; a log that stops would be the greater loss.
    if (::renameat2(folder_.get(), kAuditFile, folder_.get(), full.c_str(), RENAME_NOREPLACE) < 0) return {};
    TRY(open_file());
    return remove_oldest();
  }

  Result<void> remove_oldest() {
    TRY_SET(auto files, full_audit_files(path_));
    if (files.size() <= options_.keep_files || files.size() < 2) return {};
    const auto& stays = files[files.size() - std::max<std::size_t>(options_.keep_files, 1)];
    TRY_SET(sys::Fd next, sys::open_at(folder_.get(), stays.name.c_str(), O_RDONLY | O_NOFOLLOW | O_NONBLOCK));
    TRY_SET(std::string text, sys::read_fd(next.get(), options_.file_size.n * 2 + (1 << 20)));
    auto place = place_of(std::string_view(text).substr(0, text.find('\n')));
    if (!place || place->number != stays.first) return {};  // damaged: all of it stays for whoever looks into that
    TRY(write_start(settings_, {place->number - 1, std::string(place->prev)}));
    for (const auto& file : files) {
      if (file.first < stays.first) ::unlinkat(folder_.get(), file.name.c_str(), 0);
    }
    return {};
  }

  std::string path_;
  AuditOptions options_;
  sys::Fd folder_, lock_, file_;
  Settings settings_;
  ChainPoint point_;                 // after the last line that is written
  std::uint64_t counted_ = 0, first_ = 1, size_ = 0;
};

class ThreadedAuditLog final : public AuditLog {
 public:
  ThreadedAuditLog(AuditWriter writer, std::size_t most)
      : writer_(std::move(writer)), most_(most), entries_(writer_.entries()) {
    thread_ = std::thread([this] { run(); });
    ::pthread_setname_np(thread_.native_handle(), "audit");
  }

  ~ThreadedAuditLog() override {
    {
      std::lock_guard lock(mutex_);
      stop_ = true;
    }
    wake_.notify_one();
    thread_.join();
  }

  void append(AuditEvent event) override {
    {
      std::lock_guard lock(mutex_);
      if (queue_.size() >= most_) {
        ++lost_;
        return;
      }
      queue_.push_back(std::move(event));
      ++pushed_;
    }
    wake_.notify_one();
  }

  void flush() override {
    std::unique_lock lock(mutex_);
    auto until = wanted_ = pushed_;
    auto failures = failures_;
    wake_.notify_one();
    done_.wait(lock, [&] { return counted_ >= until || failures_ > failures; });
  }

  void write_out(std::chrono::milliseconds at_most) override {
    std::unique_lock lock(mutex_);
    auto until = pushed_;
    auto failures = failures_;
    done_.wait_for(lock, at_most, [&] { return written_ >= until || failures_ > failures || !error_.empty(); });
  }

  std::uint64_t entries() const override {
    std::lock_guard lock(mutex_);
    return entries_;
  }
  std::string last_error() const override {
    std::lock_guard lock(mutex_);
    return error_;
  }

 private:
  void run() {
    std::vector<AuditEvent> batch;
    auto count_at = Clock::now();
    std::unique_lock lock(mutex_);
    for (;;) {
      auto ready = [&] { return stop_ || wanted_ > counted_ || !queue_.empty() || lost_ > 0; };
      if (!error_.empty()) wake_.wait_for(lock, kRetry, [&] { return stop_; });
      else if (writer_.all_counted()) wake_.wait(lock, ready);
      else wake_.wait_until(lock, count_at, ready);
      bool last = stop_ && queue_.size() <= kTogether, hurry = stop_ || wanted_ > counted_;
      for (std::size_t i = 0; i < queue_.size() && i < kTogether; ++i) batch.push_back(queue_[i]);
      auto events = batch.size();
      auto lost = lost_;
      lock.unlock();

      if (lost > 0) {
        batch.push_back({.layer = "audit", .action = "events_lost", .effect = AuditEffect::kObserved,
                         .severity = AuditSeverity::kHigh, .message = cat(lost, " events could not be written and are lost"),
                         .details = {{"count", std::to_string(lost)}}});
      }
      Result<void> done = batch.empty() ? Result<void>() : writer_.write(batch);
      bool wrote = done.ok();
      if (wrote && (hurry || Clock::now() >= count_at)) {
        done = writer_.count();
        count_at = Clock::now() + kCountEvery;
      }
      batch.clear();

      lock.lock();
      if (wrote) {
        queue_.erase(queue_.begin(), queue_.begin() + static_cast<std::ptrdiff_t>(events));
        lost_ -= lost;
        written_ += events;
      }
      entries_ = writer_.entries();
      if (writer_.all_counted()) counted_ = written_;
      error_ = done.ok() ? "" : done.error().message;
      if (!done.ok()) ++failures_;
      done_.notify_all();
      if (last || (stop_ && !done.ok())) return;
    }
  }

  AuditWriter writer_;
  const std::size_t most_;
  mutable std::mutex mutex_;
  std::condition_variable wake_, done_;
  std::deque<AuditEvent> queue_;
  std::uint64_t pushed_ = 0, written_ = 0, wanted_ = 0, counted_ = 0;  // wanted: somebody waits until so many are counted
  std::uint64_t lost_ = 0, entries_, failures_ = 0;
  std::string error_;
  bool stop_ = false;
  std::thread thread_;
};

}  // namespace

Result<std::unique_ptr<AuditLog>> AuditLog::open(const std::string& folder, AuditOptions options) {
  TRY_SET(AuditWriter writer, AuditWriter::open(folder, options));
  return std::unique_ptr<AuditLog>(new ThreadedAuditLog(std::move(writer), options.queue));
}

}  // namespace hotcell
