// One thread writes. It takes all that has come together while it wrote the last time and commits it as one, so a
// hundred executions that end at once cost little more than one. When nothing waits, whoever ends an execution writes it
// there and then: waking two threads takes longer than a commit, which waits for no disk.
#include "store/history.h"

#include <pthread.h>

#include <atomic>
#include <condition_variable>
#include <deque>
#include <mutex>
#include <thread>

#include "base/strings.h"
#include "store/begun.h"
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

class WriterHistory final : public History {
 public:
  WriterHistory(sys::Fd lock, HistoryRows rows, std::unique_ptr<HistoryReader> reader, Begun begun)
      : lock_(std::move(lock)), rows_(std::move(rows)), reader_(std::move(reader)), last_(rows_.last_number()), begun_(std::move(begun)) {
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
    if (!write_now(change)) push(std::move(change));
  }

  void flush() override {
    std::unique_lock lock(mutex_);
    auto until = pushed_;
    written_.wait(lock, [&] { return finished_ >= until; });
  }

  std::uint64_t last_number() const override { return last_; }
  std::uint64_t abandoned() const override { return rows_.abandoned(); }
  Result<std::optional<ExecutionRecord>> find(std::string_view id) override { return reader_->find(id); }
  Result<std::optional<ExecutionRecord>> find_key(std::string_view client, std::string_view key) override {
    return reader_->find_key(client, key);
  }
  Result<ExecutionDetails> details(std::string_view id) override { return reader_->details(id); }
  Result<std::vector<ExecutionRecord>> list(const HistoryQuery& query) override { return reader_->list(query); }

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
    Result<void> result{};
  };
  using Batch = std::vector<Change>;

  // False when somebody is before us: what comes first must be written first.
  bool write_now(Change& change) {
    std::unique_lock rows(rows_mutex_, std::try_to_lock);
    if (!rows.owns_lock()) return false;
    {
      std::lock_guard lock(mutex_);
      if (!queue_.empty() || writing_ || stop_) return false;
      // Never back to false here: the writer may not have woken yet since it was told.
      if (++written_here_ % kLookEvery == 0) look_ = true;
    }
    change.result = commit({&change, 1});
    rows.unlock();
    forget({&change, 1});
    if (look_) wake_.notify_one();
    if (change.done) change.done(std::move(change.result));
    return true;
  }

  void push(Change change) {
    {
      std::lock_guard lock(mutex_);
      queue_.push_back(std::move(change));
      ++pushed_;
    }
    wake_.notify_one();
  }

  void write_all() {
    Batch batch;
    auto clean_at = std::chrono::steady_clock::now() + kCleanEvery;
    std::unique_lock lock(mutex_);
    for (;;) {
      wake_.wait_until(lock, clean_at, [&] { return stop_ || !queue_.empty() || cleans_wanted_ > cleans_done_ || look_; });
      if (stop_ && queue_.empty()) return;
      look_ = false;
      while (!queue_.empty() && batch.size() < kMostTogether) {
        batch.push_back(std::move(queue_.front()));
        queue_.pop_front();
      }
      auto wanted = cleans_wanted_;
      bool asked = wanted > cleans_done_;
      writing_ = !batch.empty();
      lock.unlock();

      std::unique_lock rows(rows_mutex_);
      write(batch);
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
    // One that cannot be written (a full disk, a name used twice) must not take the others with it.
    if (auto together = commit(batch); !together.ok() && batch.size() > 1) {
      for (auto& change : batch) change.result = commit({&change, 1});
    } else {
      for (auto& change : batch) change.result = together;
    }
    forget(batch);
    for (auto& change : batch) {
      if (change.done) change.done(std::move(change.result));
      change.done = nullptr;  // what it holds goes now, not with the next batch
    }
  }

  // They are in the database, or have ended and never will be.
  void forget(std::span<const Change> changes) {
    std::lock_guard lock(mutex_);
    if (begun_.size() == 0) return;
    for (const auto& change : changes)
      if (change.ended || change.result.ok()) begun_.forget(change.record.number);
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
  Begun begun_;                             // under mutex_
  std::mutex mutex_;
  std::condition_variable wake_, written_;
  std::deque<Change> queue_;
  std::uint64_t pushed_ = 0, finished_ = 0, cleans_wanted_ = 0, cleans_done_ = 0;
  std::optional<Error> clean_error_;
  bool stop_ = false, writing_ = false;
  std::atomic<bool> look_ = false;          // the writer's housekeeping is due
  std::uint64_t written_here_ = 0;
  std::thread thread_;
};

}  // namespace

Result<std::unique_ptr<History>> History::open(const std::string& file, Retention retention) {
  TRY_SET(sys::Fd folder, open_state_folder(folder_of(file)));
  TRY_SET(sys::Fd lock, lock_state_file(folder.get(), "history.lock"));
  TRY_SET(HistoryRows rows, HistoryRows::open(file, retention));
  std::vector<ExecutionRecord> left;
  TRY_SET(Begun begun, Begun::open(folder.get(), left));
  TRY(rows.add_abandoned(left));
  begun.forget_all();
  TRY_SET(auto reader, HistoryReader::open(file));
  return std::unique_ptr<History>(new WriterHistory(std::move(lock), std::move(rows), std::move(reader), std::move(begun)));
}

}  // namespace hotcell
