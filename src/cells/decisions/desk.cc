#include "cells/decisions/desk.h"

#include <ctime>

#include "base/json_write.h"
#include "base/strings.h"
#include "cells/decisions/command_match.h"
#include "cells/decisions/standard.h"

namespace hotcell::cells {
namespace {

constexpr std::size_t kLongestLine = 4096;  // of a command in the audit log

std::string clipped(std::string_view text) { return cat(text.substr(0, kLongestLine), text.size() > kLongestLine ? "..." : ""); }

void nullable(JsonWriter& w, std::string_view key, const std::string& text) {
  if (!text.empty()) return w.field(key, std::string_view(text));
  w.key(key);
  w.null();
}

}  // namespace

WallTime wall_now() { return std::chrono::floor<std::chrono::seconds>(std::chrono::system_clock::now()); }

std::string decisions_file(std::string_view state) { return cat(state, "/cells/decisions.db"); }

std::string decision_time(WallTime time) {
  std::time_t seconds = time.time_since_epoch().count();
  std::tm parts{};
  char text[32];
  if (::gmtime_r(&seconds, &parts) == nullptr) return {};
  return std::string(text, std::strftime(text, sizeof text, "%Y-%m-%dT%H:%M:%SZ", &parts));
}

AuditEvent decision_event(std::string_view action, std::string_view cell, const Action& about, std::string_view reason, std::string_view question, std::string_view by) {
  AuditEvent event;
  event.layer = "decisions";
  event.action = action;
  bool kept = action == "denied" || action == "refused" || action == "expired" || action == "withdrawn";
  event.effect = kept ? AuditEffect::kEnforced : AuditEffect::kObserved;
  event.severity = action == "denied" ? AuditSeverity::kMedium : AuditSeverity::kLow;
  event.message = cat(action, ": ", to_string(about.what), " ", clipped(about.subject), reason.empty() ? "" : cat(": ", reason));
  event.details = {{"cell", std::string(cell)}, {"class", std::string(to_string(about.what))}, {"subject", clipped(about.subject)}};
  if (!reason.empty()) event.details["reason"] = reason;
  if (!question.empty()) event.details["question"] = question;
  event.client = by;
  return event;
}

Result<DecisionDesk> DecisionDesk::open(const std::string& state) {
  TRY_SET(DecisionQueue queue, DecisionQueue::open(decisions_file(state)));
  TRY_SET(auto audit, AuditLog::open(state).context("the audit log"));
  return DecisionDesk(std::move(queue), std::move(audit));
}

Result<void> DecisionDesk::record(AuditEvent event) {
  audit_->append(std::move(event));
  audit_->flush();
  if (auto why = audit_->last_error(); !why.empty()) return make_error(ErrorCode::kIo, cat("it is done, and could not be written into the audit log: ", why));
  return {};
}

Result<Question> DecisionDesk::answer(std::string_view id, bool yes, std::string_view by) {
  std::string whole(id);
  if (auto exact = queue_.get(id, wall_now()); !exact.ok()) {
    TRY_SET(auto waiting, queue_.list("", true, wall_now()));
    std::size_t found = 0;
    for (const auto& q : waiting)
      if (id.size() >= 4 && q.id.starts_with(id)) whole = q.id, ++found;
    if (found > 1) return make_error(ErrorCode::kInvalid, cat(printable(id), " is the beginning of several questions"));
    if (found == 0) return std::move(exact).error();
  }
  TRY_SET(Question q, queue_.answer(whole, yes, by, wall_now()));
  TRY(record(decision_event(yes ? "approved" : "refused", q.cell, q.action, q.reason, q.id, by)));
  return q;
}

Result<void> DecisionDesk::grant(std::string_view cell, const Grant& grant) {
  auto problem = grant.what == ActionClass::kCommand ? command_pattern_problem(grant.pattern) : path_pattern_problem(grant.pattern);
  if (problem) return make_error(ErrorCode::kInvalid, cat("'", printable(grant.pattern), "' ", *problem));
  TRY(queue_.grant(cell, grant));
  return record(decision_event("granted", cell, {grant.what, grant.pattern}, grant.expires ? cat("until ", decision_time(*grant.expires)) : "without end", {}, grant.by));
}

Result<std::uint64_t> DecisionDesk::revoke(std::string_view cell, std::string_view pattern, std::string_view by) {
  TRY_SET(auto held, queue_.grants(cell, wall_now()));
  TRY_SET(std::uint64_t gone, queue_.revoke(cell, pattern));
  if (gone == 0) return make_error(ErrorCode::kInvalid, cat("there is no grant '", printable(pattern), "' of this cell; see hotcell cell grants"));
  for (const auto& g : held)
    if (g.pattern == pattern) TRY(record(decision_event("revoked", cell, {g.what, g.pattern}, "", {}, by)));
  return gone;
}

std::string questions_json(const std::vector<Question>& questions) {
  JsonWriter w;
  w.begin_array();
  for (const auto& q : questions) {
    w.begin_object();
    w.field("id", std::string_view(q.id));
    w.field("cell", std::string_view(q.cell));
    w.field("class", to_string(q.action.what));
    w.field("subject", std::string_view(q.action.subject));
    w.field("reason", std::string_view(q.reason));
    w.field("state", to_string(q.state));
    w.field("asked_at", std::string_view(decision_time(q.asked)));
    w.field("expires_at", std::string_view(decision_time(q.expires)));
    nullable(w, "answered_at", q.answered ? decision_time(*q.answered) : std::string());
    nullable(w, "answered_by", q.answered_by);
    w.end_object();
  }
  w.end_array();
  return w.take();
}

std::string grants_json(const std::vector<Grant>& grants) {
  JsonWriter w;
  w.begin_array();
  for (const auto& g : grants) {
    w.begin_object();
    w.field("class", to_string(g.what));
    w.field("pattern", std::string_view(g.pattern));
    nullable(w, "expires_at", g.expires ? decision_time(*g.expires) : std::string());
    w.field("by", std::string_view(g.by));
    w.end_object();
  }
  w.end_array();
  return w.take();
}

}  // namespace hotcell::cells
