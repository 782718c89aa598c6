#include "store/history_reader.h"

#include <algorithm>
#include <array>

#include "base/strings.h"
#include "store/schema.h"

namespace hotcell {

namespace {

constexpr std::array<std::string_view, 6> kStatus = {"pending", "running", "completed", "failed", "timeout", "killed"};

constexpr std::string_view kColumns =
    "SELECT number,id,status,exit_reason,exit_code,signal,door,client,language,profile,tier,command,error,created,started,"
    "ended,duration,cpu,memory_peak,findings_error,findings_warning,denials,idempotency_key FROM executions ";

ExecutionRecord record_of(const Statement& s) {
  ExecutionRecord r;
  int at = 0;
  r.number = static_cast<std::uint64_t>(s.integer(at++));
  r.id = s.text(at++);
  r.status = status_from(s.text(at++));
  r.exit_reason = s.text(at++);
  r.exit_code = s.small(at++);
  r.signal = s.small(at++);
  for (auto* field : {&r.door, &r.client, &r.language, &r.profile, &r.tier, &r.command, &r.error}) *field = s.text(at++);
  for (auto* field : {&r.created, &r.started, &r.ended}) *field = from_micros(s.integer(at++));
  r.duration = Nanoseconds(s.integer(at++));
  r.cpu = Nanoseconds(s.integer(at++));
  r.memory_peak.n = static_cast<std::uint64_t>(s.integer(at++));
  for (auto* field : {&r.findings_error, &r.findings_warning, &r.denials}) {
    *field = static_cast<std::uint32_t>(s.integer(at++));
  }
  r.idempotency_key = s.text(at);
  return r;
}

Result<std::optional<ExecutionRecord>> one(Statement& statement) {
  TRY_SET(bool row, statement.step());
  if (!row) return std::optional<ExecutionRecord>();
  std::optional<ExecutionRecord> found = record_of(statement);
  statement.reset();  // an open read would keep the log from being written back
  return found;
}

// LIKE's own characters mean themselves.
std::string like_pattern(std::string_view text) {
  std::string out = "%";
  for (char c : text) {
    if (c == '%' || c == '_' || c == '\\') out += '\\';
    out += c;
  }
  return out + "%";
}

}  // namespace

std::string_view status_word(RunStatus status) { return kStatus[static_cast<std::size_t>(status)]; }

RunStatus status_from(std::string_view word) {
  auto found = std::find(kStatus.begin(), kStatus.end(), word);
  return found == kStatus.end() ? RunStatus::kFailed : static_cast<RunStatus>(found - kStatus.begin());
}

std::int64_t to_micros(std::chrono::system_clock::time_point time) {
  return std::chrono::duration_cast<std::chrono::microseconds>(time.time_since_epoch()).count();
}

std::chrono::system_clock::time_point from_micros(std::int64_t micros) {
  return std::chrono::system_clock::time_point(std::chrono::microseconds(micros));
}

// Down the numbers, which are the rows' own order, or down the index of unusual states. SQLite takes a partial index only
// where its condition stands in the query.
std::string list_sql(const HistoryQuery& query) {
  std::string where;
  auto add = [&](bool wanted, std::string_view condition) {
    if (wanted) where += cat(where.empty() ? "WHERE " : "AND ", condition, " ");
  };
  add(query.before != 0, "number<?");
  add(!query.status.empty(), "status=?");
  add(!query.status.empty() && query.status != "completed", "status<>'completed'");
  add(!query.exit_reason.empty(), "exit_reason=?");
  add(!query.client.empty(), "client=?");
  add(!query.language.empty(), "language=?");
  add(!query.door.empty(), "door=?");
  add(!query.text.empty(), "command LIKE ? ESCAPE '\\'");
  add(query.since.has_value(), "created>=?");
  add(query.until.has_value(), "created<?");
  return cat(kColumns, where, "ORDER BY number DESC LIMIT ?");
}

Result<std::unique_ptr<HistoryReader>> HistoryReader::open(const std::string& file) {
  TRY_SET(Database database, open_store(file));
  std::unique_ptr<HistoryReader> reader(new HistoryReader(std::move(database)));
  auto& db = reader->database_;
  TRY(db.execute("PRAGMA query_only=ON"));
  TRY_SET(reader->find_, db.prepare(cat(kColumns, "WHERE id=?")));
  TRY_SET(reader->find_key_, db.prepare(cat(kColumns, "WHERE client=? AND idempotency_key=? AND idempotency_key<>''")));
  TRY_SET(reader->details_, db.prepare("SELECT request,result,usage,events FROM executions "
                                       "JOIN execution_requests USING(number) LEFT JOIN execution_outcomes USING(number) "
                                       "WHERE id=?"));
  return reader;
}

Result<std::optional<ExecutionRecord>> HistoryReader::find(std::string_view id) {
  std::lock_guard lock(mutex_);
  find_.start(id);
  return one(find_);
}

Result<std::optional<ExecutionRecord>> HistoryReader::find_key(std::string_view client, std::string_view key) {
  std::lock_guard lock(mutex_);
  find_key_.start(client, key);
  return one(find_key_);
}

Result<ExecutionDetails> HistoryReader::details(std::string_view id) {
  std::lock_guard lock(mutex_);
  details_.start(id);
  TRY_SET(bool row, details_.step());
  if (!row) return make_error(ErrorCode::kNotFound, cat("no execution ", printable(id)));
  ExecutionDetails found{details_.text(0), details_.text(1), details_.text(2), details_.text(3)};
  details_.reset();
  return found;
}

Result<std::vector<ExecutionRecord>> HistoryReader::list(const HistoryQuery& query) {
  std::lock_guard lock(mutex_);
  TRY_SET(Statement select, database_.prepare(list_sql(query)));
  std::string pattern = like_pattern(query.text);
  if (query.before != 0) select.bind(std::min<std::uint64_t>(query.before, INT64_MAX));
  for (const auto* word : {&query.status, &query.exit_reason, &query.client, &query.language, &query.door}) {
    if (!word->empty()) select.bind(*word);
  }
  if (!query.text.empty()) select.bind(pattern);
  for (const auto& time : {query.since, query.until}) {
    if (time) select.bind(to_micros(*time));
  }
  select.bind(static_cast<std::int64_t>(std::clamp<std::size_t>(query.limit, 1, kMostRows)));
  std::vector<ExecutionRecord> rows;
  for (;;) {
    TRY_SET(bool row, select.step());
    if (!row) return rows;
    rows.push_back(record_of(select));
  }
}

}  // namespace hotcell
