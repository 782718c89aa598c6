#include "store/history_rows.h"

#include <algorithm>
#include <vector>

#include "store/history_reader.h"
#include "store/schema.h"

namespace hotcell {

namespace {

constexpr std::string_view kInsert =
    "INSERT INTO executions(number,id,status,exit_reason,exit_code,signal,door,client,language,profile,tier,command,error,"
    "created,started,ended,duration,cpu,memory_peak,findings_error,findings_warning,denials,idempotency_key,details_bytes) "
    "VALUES(?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?)";
// Who asked, when and with which key stays as it was begun.
constexpr std::string_view kUpdate =
    "UPDATE executions SET status=?,exit_reason=?,exit_code=?,signal=?,language=?,profile=?,tier=?,command=?,error=?,"
    "started=?,ended=?,duration=?,cpu=?,memory_peak=?,findings_error=?,findings_warning=?,denials=?,"
    "details_bytes=details_bytes+? WHERE number=? AND id=?";
constexpr std::string_view kRequest = "INSERT INTO execution_requests(number,request) VALUES(?,?)";
constexpr std::string_view kOutcome = "INSERT INTO execution_outcomes(number,result,usage,events) VALUES(?,?,?,?)";

constexpr std::string_view kAbandon =
    "UPDATE executions SET status='failed',exit_reason='sandbox_error',error='daemon stopped',ended=? "
    "WHERE status IN('pending','running') AND status<>'completed'";

// The newest always stays: its number is where the next daemon goes on counting.
constexpr std::string_view kOldest =
    "SELECT number,created,details_bytes FROM executions WHERE status NOT IN('pending','running') "
    "AND number<(SELECT max(number) FROM executions) ORDER BY number LIMIT ?";

std::int64_t outcome_bytes(const ExecutionDetails& d) {
  return static_cast<std::int64_t>(d.result.size() + d.usage.size() + d.events.size());
}

}  // namespace

Result<HistoryRows> HistoryRows::open(const std::string& file, Retention retention) {
  TRY_SET(Database database, open_store(file));
  HistoryRows rows(std::move(database), retention);
  TRY(rows.prepare());
  return rows;
}

Result<void> HistoryRows::prepare() {
  database_.disable_checkpoints();
  TRY_SET(insert_, database_.prepare(kInsert));
  TRY_SET(update_, database_.prepare(kUpdate));
  TRY_SET(request_, database_.prepare(kRequest));
  TRY_SET(outcome_, database_.prepare(kOutcome));
  TRY_SET(oldest_, database_.prepare(kOldest));
  TRY_SET(remove_, database_.prepare("DELETE FROM executions WHERE number=?"));  // the details go with it
  TRY_SET(Statement abandon, database_.prepare(kAbandon));
  TRY(abandon.run(to_micros(std::chrono::system_clock::now())));
  abandoned_ = static_cast<std::uint64_t>(database_.changes());
  TRY_SET(std::int64_t last, database_.number("SELECT max(number) FROM executions"));
  last_number_ = static_cast<std::uint64_t>(last);
  TRY_SET(rows_, database_.number("SELECT count(*) FROM executions"));
  TRY_SET(bytes_total_, database_.number("SELECT sum(details_bytes) FROM executions"));
  return {};
}

Result<void> HistoryRows::add_ended(const ExecutionRecord& record, const ExecutionDetails& details) {
  TRY_SET(Statement outcome, database_.prepare("SELECT 1 FROM execution_outcomes WHERE number=?"));
  outcome.start(record.number);
  TRY_SET(bool written, outcome.step());
  if (written) return {};
  TRY_SET(Transaction all, transaction());
  TRY(end(record, details));
  const bool was_begun = more_rows_ == 0;
  TRY(all.commit());
  committed();
  last_number_ = std::max(last_number_, record.number);
  if (was_begun && abandoned_ > 0) --abandoned_;
  return {};
}

Result<void> HistoryRows::add_abandoned(const std::vector<ExecutionRecord>& announced) {
  if (announced.empty()) return {};
  TRY_SET(Statement find, database_.prepare("SELECT 1 FROM executions WHERE number=?"));
  TRY_SET(Transaction all, transaction());
  std::uint64_t added = 0;
  for (ExecutionRecord record : announced) {
    find.start(record.number);
    TRY_SET(bool there, find.step());
    if (there) continue;   // it was killed between the commit and forgetting
    record.status = RunStatus::kFailed;
    record.exit_reason = "sandbox_error";
    record.error = "daemon stopped";
    record.ended = std::chrono::system_clock::now();
    TRY(insert(record, {}));
    last_number_ = std::max(last_number_, record.number);
    ++added;
  }
  TRY(all.commit());
  committed();
  abandoned_ += added;
  return {};
}

Result<Transaction> HistoryRows::transaction() {
  more_rows_ = more_bytes_ = 0;  // of one that was rolled back
  return Transaction::begin(database_);
}

void HistoryRows::committed() {
  rows_ += more_rows_;
  bytes_total_ += more_bytes_;
  more_rows_ = more_bytes_ = 0;
}

Result<void> HistoryRows::insert(const ExecutionRecord& r, const ExecutionDetails& d) {
  auto bytes = outcome_bytes(d) + static_cast<std::int64_t>(d.request.size());
  TRY(insert_.run(r.number, r.id, status_word(r.status), r.exit_reason, r.exit_code, r.signal, r.door, r.client, r.language,
                  r.profile, r.tier, r.command, r.error, to_micros(r.created), to_micros(r.started), to_micros(r.ended),
                  std::int64_t{r.duration.count()}, std::int64_t{r.cpu.count()}, r.memory_peak.n, r.findings_error,
                  r.findings_warning, r.denials, r.idempotency_key, bytes));
  TRY(request_.run(r.number, d.request));
  if (r.ended_already()) TRY(outcome_.run(r.number, d.result, d.usage, d.events));
  ++more_rows_;
  more_bytes_ += bytes;
  return {};
}

Result<void> HistoryRows::end(const ExecutionRecord& r, const ExecutionDetails& d) {
  auto bytes = outcome_bytes(d);
  TRY(update_.run(status_word(r.status), r.exit_reason, r.exit_code, r.signal, r.language, r.profile, r.tier, r.command,
                  r.error, to_micros(r.started), to_micros(r.ended), std::int64_t{r.duration.count()},
                  std::int64_t{r.cpu.count()}, r.memory_peak.n, r.findings_error, r.findings_warning, r.denials, bytes,
                  r.number, r.id));
  // Its beginning could not be written (a full disk, say): all of it now, or an error when the number is another's.
  if (database_.changes() == 0) return insert(r, d);
  TRY(outcome_.run(r.number, d.result, d.usage, d.events));
  more_bytes_ += bytes;
  return {};
}

bool HistoryRows::over() const {
  return rows_ + more_rows_ > static_cast<std::int64_t>(retention_.rows) ||
         bytes_total_ + more_bytes_ > static_cast<std::int64_t>(retention_.bytes.n);
}

Result<std::size_t> HistoryRows::clean_step() {
  struct Old {
    std::int64_t number, created, bytes;
  };
  auto cutoff = to_micros(std::chrono::system_clock::now() - retention_.age);
  std::vector<Old> old;
  TRY_SET(Transaction all, transaction());
  oldest_.start(std::uint64_t{kStep});
  for (;;) {
    TRY_SET(bool row, oldest_.step());
    if (!row) break;
    old.push_back({oldest_.integer(0), oldest_.integer(1), oldest_.integer(2)});
  }
  std::size_t removed = 0;
  for (const auto& o : old) {
    if (!over() && o.created >= cutoff) break;
    TRY(remove_.run(o.number));
    --more_rows_;
    more_bytes_ -= o.bytes;
    ++removed;
  }
  TRY(all.commit());
  committed();
  return removed;
}

void HistoryRows::write_back(std::int64_t pages) {
  if (database_.log_pages() < pages) return;
  database_.checkpoint().ignore("the log holds everything; it is tried again after the next commit");
}

}  // namespace hotcell
