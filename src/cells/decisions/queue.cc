#include "cells/decisions/queue.h"

#include <algorithm>
#include <array>

#include "base/strings.h"
#include "sys/uuid.h"

namespace hotcell::cells {
namespace {

// Never changed once released. Times are seconds since 1970; `expires` of a grant is 0 where it does not.
constexpr std::array kMigrations = {Migration{R"sql(
CREATE TABLE questions(
  number INTEGER PRIMARY KEY,
  id TEXT NOT NULL UNIQUE,
  cell TEXT NOT NULL,
  what INTEGER NOT NULL,
  subject TEXT NOT NULL,
  reason TEXT NOT NULL,
  asked INTEGER NOT NULL,
  expires INTEGER NOT NULL,
  state INTEGER NOT NULL,
  answered_by TEXT NOT NULL,
  answered INTEGER NOT NULL
) STRICT;
CREATE INDEX questions_pending ON questions(cell) WHERE state = 0;
CREATE TABLE grants(
  cell TEXT NOT NULL,
  what INTEGER NOT NULL,
  pattern TEXT NOT NULL,
  expires INTEGER NOT NULL,
  granted_by TEXT NOT NULL,
  PRIMARY KEY(cell, what, pattern)
) STRICT, WITHOUT ROWID;
)sql"}};

constexpr std::string_view kStates[] = {"pending", "approved", "denied", "expired"};
// Whoever answers reads them one by one; more than these are no questions.
constexpr std::int64_t kMostPending = 256;
constexpr std::int64_t kKept = 10'000;  // of those that are answered
constexpr std::string_view kColumns = "id, cell, what, subject, reason, asked, expires, state, answered_by, answered";

WallTime time_of(std::int64_t seconds) { return WallTime(std::chrono::seconds(seconds)); }
std::int64_t seconds_of(WallTime time) { return time.time_since_epoch().count(); }
std::int64_t number_of(QuestionState state) { return static_cast<std::int64_t>(state); }
std::int64_t number_of(ActionClass what) { return static_cast<std::int64_t>(what); }

Question read_row(const Statement& row) {
  Question q;
  q.id = row.text(0);
  q.cell = row.text(1);
  q.action = {static_cast<ActionClass>(std::clamp<std::int64_t>(row.integer(2), 0, 2)), row.text(3)};
  q.reason = row.text(4);
  q.asked = time_of(row.integer(5));
  q.expires = time_of(row.integer(6));
  q.state = static_cast<QuestionState>(std::clamp<std::int64_t>(row.integer(7), 0, 3));
  q.answered_by = row.text(8);
  if (row.integer(9) != 0) q.answered = time_of(row.integer(9));
  return q;
}

// Nobody has to be there for it: what was not answered in time is a no from that moment on, whoever looks first.
Result<void> expire(Database& database, WallTime now) {
  TRY_SET(Statement due, database.prepare("UPDATE questions SET state = 3, answered = expires WHERE state = 0 AND expires <= ?"));
  return due.run(seconds_of(now));
}

}  // namespace

std::string_view to_string(QuestionState state) { return kStates[static_cast<std::size_t>(state)]; }

Result<DecisionQueue> DecisionQueue::open(const std::string& file) {
  TRY_SET(Database database, Database::open(file));
  TRY(database.migrate(kMigrations).context(printable(file)));
  return DecisionQueue(std::move(database));
}

Result<std::string> DecisionQueue::ask(std::string_view cell, const Action& action, std::string_view reason, WallTime now, std::chrono::seconds patience) {
  TRY_SET(Transaction all, Transaction::begin(database_));
  TRY(expire(database_, now));
  TRY_SET(Statement same, database_.prepare("SELECT id FROM questions WHERE state = 0 AND cell = ? AND what = ? AND subject = ?"));
  same.start(cell, number_of(action.what), std::string_view(action.subject));
  TRY_SET(bool found, same.step());
  std::string id = found ? same.text(0) : std::string();
  same.reset();
  if (!found) {
    TRY_SET(Statement count, database_.prepare("SELECT count(*) FROM questions WHERE state = 0 AND cell = ?"));
    count.start(cell);
    TRY_SET(bool row, count.step());
    if (row && count.integer(0) >= kMostPending) return make_error(ErrorCode::kLimit, cat(kMostPending, " questions of this cell wait for an answer already"));
    count.reset();
    for (char c : sys::random_uuid())
      if (c != '-' && id.size() < 20) id += c;
    if (id.size() < 20) return make_error(ErrorCode::kInternal, "getrandom failed");
    id = cat("q-", id);
    TRY_SET(Statement insert, database_.prepare("INSERT INTO questions(id, cell, what, subject, reason, asked, expires, state, answered_by, answered) "
                                                "VALUES(?, ?, ?, ?, ?, ?, ?, 0, '', 0)"));
    TRY(insert.run(std::string_view(id), cell, number_of(action.what), std::string_view(action.subject), reason, seconds_of(now), seconds_of(now + patience)));
    TRY_SET(Statement old, database_.prepare("DELETE FROM questions WHERE state <> 0 AND number <= (SELECT max(number) FROM questions) - ?"));
    TRY(old.run(kKept));
  }
  TRY(all.commit());
  return id;
}

Result<Question> DecisionQueue::get(std::string_view id, WallTime now) {
  TRY_SET(Statement one, database_.prepare(cat("SELECT ", kColumns, " FROM questions WHERE id = ?")));
  one.start(id);
  TRY_SET(bool found, one.step());
  if (!found) return make_error(ErrorCode::kInvalid, cat("there is no question ", printable(id)));
  Question q = read_row(one);
  if (q.state == QuestionState::kPending && q.expires <= now) {
    one.reset();
    TRY(expire(database_, now));
    q.state = QuestionState::kExpired;
    q.answered = q.expires;
  }
  return q;
}

Result<std::vector<Question>> DecisionQueue::list(std::string_view cell, bool pending_only, WallTime now) {
  TRY(expire(database_, now));
  TRY_SET(Statement rows, database_.prepare(cat("SELECT ", kColumns, " FROM questions WHERE (?1 = '' OR cell = ?1)", pending_only ? " AND state = 0" : "", " ORDER BY number DESC")));
  rows.start(cell);
  std::vector<Question> out;
  for (;;) {
    TRY_SET(bool row, rows.step());
    if (!row) return out;
    out.push_back(read_row(rows));
  }
}

Result<Question> DecisionQueue::answer(std::string_view id, bool yes, std::string_view by, WallTime now) {
  TRY_SET(Transaction all, Transaction::begin(database_));
  TRY_SET(Question q, get(id, now));
  if (q.state == QuestionState::kExpired) {
    TRY(all.commit());
    return make_error(ErrorCode::kInvalid, cat(q.id, " was not answered in time: the answer was no"));
  }
  if (q.state != QuestionState::kPending)
    return make_error(ErrorCode::kInvalid, cat(q.id, " was ", to_string(q.state), " already by ", q.answered_by.empty() ? "somebody" : printable(q.answered_by)));
  q.state = yes ? QuestionState::kApproved : QuestionState::kDenied;
  q.answered_by = by;
  q.answered = now;
  TRY_SET(Statement update, database_.prepare("UPDATE questions SET state = ?, answered_by = ?, answered = ? WHERE id = ? AND state = 0"));
  TRY(update.run(number_of(q.state), by, seconds_of(now), std::string_view(q.id)));
  TRY(all.commit());
  return q;
}

Result<void> DecisionQueue::grant(std::string_view cell, const Grant& grant) {
  TRY_SET(Statement insert, database_.prepare("INSERT OR REPLACE INTO grants(cell, what, pattern, expires, granted_by) VALUES(?, ?, ?, ?, ?)"));
  return insert.run(cell, number_of(grant.what), std::string_view(grant.pattern), grant.expires ? seconds_of(*grant.expires) : std::int64_t{0}, std::string_view(grant.by));
}

Result<std::vector<Grant>> DecisionQueue::grants(std::string_view cell, WallTime now) {
  TRY_SET(Statement rows, database_.prepare("SELECT what, pattern, expires, granted_by FROM grants WHERE (cell = ? OR cell = '') AND (expires = 0 OR expires > ?) ORDER BY what, pattern"));
  rows.start(cell, seconds_of(now));
  std::vector<Grant> out;
  for (;;) {
    TRY_SET(bool row, rows.step());
    if (!row) return out;
    Grant g{static_cast<ActionClass>(std::clamp<std::int64_t>(rows.integer(0), 0, 2)), rows.text(1), std::nullopt, rows.text(3)};
    if (rows.integer(2) != 0) g.expires = time_of(rows.integer(2));
    out.push_back(std::move(g));
  }
}

Result<std::uint64_t> DecisionQueue::revoke(std::string_view cell, std::string_view pattern) {
  TRY_SET(Statement gone, database_.prepare("DELETE FROM grants WHERE cell = ? AND pattern = ?"));
  TRY(gone.run(cell, pattern));
  return static_cast<std::uint64_t>(database_.changes());
}

Result<void> DecisionQueue::forget_cell(std::string_view cell) {
  if (cell.empty()) return make_error(ErrorCode::kInvalid, "which cell?");
  TRY_SET(Transaction all, Transaction::begin(database_));
  TRY_SET(Statement pending, database_.prepare("UPDATE questions SET state = 2, answered_by = 'the cell was removed', answered = unixepoch() WHERE state = 0 AND cell = ?"));
  TRY(pending.run(cell));
  TRY_SET(Statement grants, database_.prepare("DELETE FROM grants WHERE cell = ?"));
  TRY(grants.run(cell));
  return all.commit();
}

Result<DecisionQueue::Outcome> DecisionQueue::decide(const DecisionPolicy& policy, std::string_view cell, const Action& action, WallTime now) {
  TRY_SET(auto given, grants(cell, now));
  Outcome out;
  out.decision = cells::decide(policy, given, action, now);
  if (out.decision.answer == Answer::kAsk) {
    TRY_SET(out.question, ask(cell, action, out.decision.reason, now, policy.patience));
  }
  return out;
}

}  // namespace hotcell::cells
