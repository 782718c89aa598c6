// One thread writes. It takes all that has come together while it wrote the last time and commits it as one, so a
// hundred executions that end at once cost little more than one. Most of them nobody waits for: they are noted where they
// outlive this process (ended.h), and written within a moment or when somebody reads. What is too long for that is written by
// whoever ends it, there and then, when nothing else waits: waking two threads takes longer than a commit, which waits for no disk.
#include "store/history.h"

#include <pthread.h>

#include <algorithm>
#include <atomic>
#include <condition_variable>
#include <deque>
#include <mutex>
#include <thread>

#include "base/strings.h"
#include "store/begun.h"
#include "store/ended.h"
#include "store/history_reader.h"
#include "store/history_rows.h"
#include "store/schema.h"

namespace hotcell {

namespace {

constexpr auto kCleanEvery = std::chrono::seconds(10);
// The log is written back when nobody waits, or when it grows past 64 MiB because somebody always does.
constexpr std::int64_t kLogIdle = 1000, kLogMost = 16384;
constexpr std::uint64_t kLookEvery = 128;   // commits of others, after which the writer looks whether there is work
constexpr std::size_t kMostTogether = 256;  // rows of one transaction: those who came first should not wait for many
constexpr auto kGather = std::chrono::milliseconds(50);     // what is noted waits so long for more of its kind
constexpr auto kTryAgain = std::chrono::seconds(1);         // what is noted and could not be written
constexpr std::size_t kFew = 64;            // that somebody who is no writer writes, a few milliseconds at most

class WriterHistory final : public History {
 public:
  WriterHistory(sys::Fd lock, HistoryRows rows, std::unique_ptr<HistoryReader> reader, Begun begun, Ended ended)
      : lock_(std::move(lock)), rows_(std::move(rows)), reader_(std::move(reader)), last_(rows_.last_number()), begun_(std::move(begun)),
        ended_(std::move(ended)) {
    thread_ = std::thread([this] { write_all(); });
    ::pthread_setname_np(thread_.native_handle(), "history");
  }

  ~WriterHistory() override {
    {
      std::lock_guard lock(mutex_);
      stop_ = true;
    }
    wake_.notify_one();
    thread_.join();
  }

  bool announce(const ExecutionRecord& record) override {
    std::lock_guard lock(mutex_);
    return begun_.note(record);
  }

  void begin(ExecutionRecord record, std::string request, Committed done) override {
    auto seen = last_.load();
    while (record.number > seen && !last_.compare_exchange_weak(seen, record.number)) {
    }
    push({false, std::move(record), {std::move(request), {}, {}, {}}, std::move(done)});
  }

  void end(ExecutionRecord record, ExecutionDetails details, Committed done) override {
    Change change{true, std::move(record), std::move(details), std::move(done)};
    if (!note(change) && !write_now(&change)) push(std::move(change));
  }

  void flush() override {
    std::unique_lock lock(mutex_);
    auto until = pushed_;
    if (finished_ < until) {
      hurry_ = true;
      wake_.notify_one();
    }
    written_.wait(lock, [&] { return finished_ >= until; });
  }

  std::string last_error() const override {
    std::lock_guard lock(mutex_);
    return error_;
  }
  std::uint64_t last_number() const override { return last_; }
  std::uint64_t abandoned() const override { return rows_.abandoned(); }
  Result<std::optional<ExecutionRecord>> find(std::string_view id) override {
    settle();
    auto row = reader_->find(id);
    if (row.ok() && row.value()) return row;
    if (auto note = noted([&](const ExecutionRecord& r) { return r.id == id; })) return std::optional(std::move(note->record));
    return row;
  }
  // Those with a key were begun first, and are here whether they have ended or not; or the disk was full, and their end is noted. Of
  // that the row is being written just now, perhaps, and is in neither place: who came then with the same key would run it again.
  Result<std::optional<ExecutionRecord>> find_key(std::string_view client, std::string_view key) override {
    settle();
    auto row = reader_->find_key(client, key);
    if (row.ok() && row.value()) return row;
    if (auto note = noted([&](const ExecutionRecord& r) { return r.client == client && r.idempotency_key == key; })) return std::optional(std::move(note->record));
    return row;
  }
  Result<ExecutionDetails> details(std::string_view id) override {
    settle();
    auto row = reader_->details(id);
    if (row.ok()) return row;
    if (auto note = noted([&](const ExecutionRecord& r) { return r.id == id; })) return std::move(note->details);
    return row;
  }
  Result<std::vector<ExecutionRecord>> list(const HistoryQuery& query) override {
    settle();
    return reader_->list(query);
  }

  // By the writer, since it alone may write; we wait for it.
  Result<void> clean_up() override {
    std::unique_lock lock(mutex_);
    auto wanted = ++cleans_wanted_;
    wake_.notify_one();
    written_.wait(lock, [&] { return cleans_done_ >= wanted; });
    return clean_error_ ? Result<void>(*clean_error_) : Result<void>();
  }

 private:
  struct Change {
    bool ended;
    ExecutionRecord record;
    ExecutionDetails details;
    Committed done;
    bool noted = false;
    Result<void> result{};
  };
  using Batch = std::vector<Change>;

  // Of one that was announced and is no row yet all is known by now: noted it is as safe as committed, and that is told.
  bool note(Change& change) {
    Committed done;
    bool first = false;
    {
      std::lock_guard lock(mutex_);
      const auto number = change.record.number;
      if (stop_ || !begun_.contains(number) || !ended_.note(change.record, change.details)) return false;
      begun_.forget(number);
      change.noted = true;
      done = std::move(change.done);
      first = queue_.empty();
      if (first) gathered_at_ = std::chrono::steady_clock::now() + kGather;
      queue_.push_back(std::move(change));
      ++pushed_;
    }
    if (done) done({});
    if (first) wake_.notify_one();   // it sleeps until there is something to clean up; who waits for the answer does not wait for that
    return true;
  }

  // Whoever reads finds what it was told.
  void settle() {
    {
      std::lock_guard lock(mutex_);
      if (ended_.size() == 0) return;
    }
    if (!write_now(nullptr)) flush();
  }

  // What was told has ended, and has no row although that was tried: the disk is full, or somebody else has the database.
  template <typename Wanted>
  std::optional<WholeExecution> noted(const Wanted& wanted) {
    std::lock_guard lock(mutex_);
    auto it = std::find_if(queue_.begin(), queue_.end(), [&](const Change& c) { return c.noted && wanted(c.record); });
    return it == queue_.end() ? std::nullopt : std::optional(WholeExecution{it->record, it->details});
  }

  // What is noted, then `change`. False when somebody else is before us: what comes first must be written first.
  bool write_now(Change* change) {
    std::unique_lock rows(rows_mutex_, std::try_to_lock);
    if (!rows.owns_lock()) return false;
    Batch batch;
    std::size_t waited = 0;
    {
      std::lock_guard lock(mutex_);
      if (writing_ || stop_ || queue_.size() > kFew) return false;
      if (!std::all_of(queue_.begin(), queue_.end(), [](const Change& c) { return c.noted; })) return false;
      for (auto& c : queue_) batch.push_back(std::move(c));
      waited = batch.size();
      queue_.clear();
      // Never back to false here: the writer may not have woken yet since it was told.
      if (++written_here_ % kLookEvery == 0) look_ = true;
    }
    if (change != nullptr) batch.push_back(std::move(*change));
    write(batch);
    rows.unlock();
    {
      std::lock_guard lock(mutex_);
      finished_ += waited;
      if (look_) wake_.notify_one();
    }
    if (waited > 0) written_.notify_all();
    tell(batch);   // without a lock: whoever is told may read
    return true;
  }

  void push(Change change) {
    {
      std::lock_guard lock(mutex_);
      queue_.push_back(std::move(change));
      ++pushed_;
      hurry_ = true;
    }
    wake_.notify_one();
  }

  void write_all() {
    Batch batch;
    auto clean_at = std::chrono::steady_clock::now() + kCleanEvery;
    std::unique_lock lock(mutex_);
    for (;;) {
      while (!stop_ && !hurry_ && !look_ && cleans_wanted_ == cleans_done_) {
        const auto until = queue_.empty() ? clean_at : std::min(clean_at, gathered_at_);
        if (std::chrono::steady_clock::now() >= until) break;
        wake_.wait_until(lock, until);
      }
      if (stop_ && queue_.empty()) return;
      look_ = false;
      while (!queue_.empty() && batch.size() < kMostTogether) {
        batch.push_back(std::move(queue_.front()));
        queue_.pop_front();
      }
      hurry_ = !queue_.empty();
      auto wanted = cleans_wanted_;
      bool asked = wanted > cleans_done_;
      writing_ = !batch.empty();
      lock.unlock();

      std::unique_lock rows(rows_mutex_);
      write(batch);
      tell(batch);
      bool due = std::chrono::steady_clock::now() >= clean_at;
      std::optional<Error> clean_error;
      if (asked || due || rows_.over()) clean_error = clean(asked, batch.size());
      if (due) clean_at = std::chrono::steady_clock::now() + kCleanEvery;

      rows.unlock();
      lock.lock();
      writing_ = false;
      finished_ += batch.size();
      batch.clear();
      if (asked) {
        cleans_done_ = wanted;
        clean_error_ = std::move(clean_error);
      }
      written_.notify_all();
      bool idle = queue_.empty();
      lock.unlock();
      rows.lock();
      rows_.write_back(idle ? kLogIdle : kLogMost);
      rows.unlock();
      lock.lock();
    }
  }

  void write(Batch& batch) {
    if (batch.empty()) return;
    // One that cannot be written (a name used twice, too long) must not take the others with it. A disk that is full or a store that
    // somebody has locked is the same for each, and to wait for it again for each would take minutes.
    auto together = commit(batch);
    const bool of_one = !together.ok() && (together.error().code == ErrorCode::kInvalid || together.error().code == ErrorCode::kLimit);
    {
      std::lock_guard lock(mutex_);
      error_ = together.ok() || of_one ? std::string() : together.error().message;
    }
    if (of_one && batch.size() > 1) {
      for (auto& change : batch) change.result = commit({&change, 1});
    } else {
      for (auto& change : batch) change.result = together;
    }
    forget(batch);
  }

  static void tell(Batch& batch) {
    for (auto& change : batch) {
      if (change.done) change.done(std::move(change.result));
      change.done = nullptr;  // what it holds goes now, not with the next batch
    }
  }

  // They are in the database, or have ended and never will be.
  void forget(std::span<Change> changes) {
    std::lock_guard lock(mutex_);
    for (auto& change : changes) {
      if (change.ended || change.result.ok()) begun_.forget(change.record.number);
      if (!change.noted) continue;
      // A disk may be full for a while. The note stays, and so does what it says, for whoever reads after that or starts after us.
      if (change.result.ok() || change.result.error().code == ErrorCode::kInvalid) {
        ended_.forget(change.record.number);
      } else if (!stop_) {
        gathered_at_ = std::chrono::steady_clock::now() + kTryAgain;
        queue_.push_back(std::move(change));
        ++pushed_;
      }
    }
  }

  Result<void> commit(std::span<Change> changes) {
    TRY_SET(Transaction all, rows_.transaction());
    for (auto& change : changes) {
      TRY(change.ended ? rows_.end(change.record, change.details) : rows_.insert(change.record, change.details));
    }
    TRY(all.commit());
    rows_.committed();
    return {};
  }

  // A step at a time, so that whoever comes meanwhile waits for little; never fewer than have just come.
  std::optional<Error> clean(bool to_the_end, std::size_t at_least) {
    for (std::size_t removed = 0;;) {
      auto more = rows_.clean_step();
      if (!more.ok()) return more.error();
      if (more.value() < HistoryRows::kStep) return std::nullopt;
      removed += more.value();
      std::lock_guard lock(mutex_);
      if (!to_the_end && removed >= at_least && (stop_ || !queue_.empty())) return std::nullopt;
    }
  }

  sys::Fd lock_;
  std::mutex rows_mutex_;                   // taken before mutex_
  HistoryRows rows_;
  std::unique_ptr<HistoryReader> reader_;
  std::atomic<std::uint64_t> last_;
  Begun begun_;                             // these two under mutex_
  Ended ended_;
  mutable std::mutex mutex_;
  std::string error_;
  std::condition_variable wake_, written_;
  std::deque<Change> queue_;
  std::uint64_t pushed_ = 0, finished_ = 0, cleans_wanted_ = 0, cleans_done_ = 0;
  std::optional<Error> clean_error_;
  bool stop_ = false, writing_ = false;
  bool hurry_ = false;                      // somebody waits for what is in the queue
  std::chrono::steady_clock::time_point gathered_at_{};   // when it is written although nobody does
  std::atomic<bool> look_ = false;          // the writer's housekeeping is due
  std::uint64_t written_here_ = 0;
  std::thread thread_;
};

}  // namespace

Result<std::unique_ptr<History>> History::open(const std::string& file, Retention retention) {
  TRY_SET(sys::Fd folder, open_state_folder(folder_of(file)));
  TRY_SET(sys::Fd lock, lock_state_file(folder.get(), "history.lock"));
  TRY_SET(HistoryRows rows, HistoryRows::open(file, retention));
  std::vector<WholeExecution> whole;
  TRY_SET(Ended ended, Ended::open(folder.get(), whole));
  for (const auto& one : whole) {
    auto added = rows.add_ended(one.record, one.details);
    if (!added.ok() && added.error().code != ErrorCode::kInvalid) return std::move(added).error();   // what cannot be a row was not noted by us
  }
  ended.forget_left();
  std::vector<ExecutionRecord> left;
  TRY_SET(Begun begun, Begun::open(folder.get(), left));
  TRY(rows.add_abandoned(left));
  begun.forget_left();
  TRY_SET(auto reader, HistoryReader::open(file));
  return std::unique_ptr<History>(new WriterHistory(std::move(lock), std::move(rows), std::move(reader), std::move(begun), std::move(ended)));
}

}  // namespace hotcell
