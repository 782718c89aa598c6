// Questions of cells, answered by whoever cannot open their file: the daemon's front, on behalf of its callers.
#include "base/strings.h"
#include "cells/decisions/desk.h"
#include "cells/keeper/keeper.h"

namespace hotcell::cells {
namespace {

std::string word(const Ask& ask, const std::string& name) {
  auto it = ask.fields.find(name);
  return it == ask.fields.end() ? std::string() : it->second;
}

Result<std::string> at_the_desk(const std::string& state, const CellRecord& cell, const Ask& ask) {
  TRY_SET(DecisionDesk desk, DecisionDesk::open(state));
  const std::string by = word(ask, "by");
  if (ask.verb == "questions") {
    TRY_SET(auto waiting, desk.queue().list(cell.id, word(ask, "all") != "1", wall_now()));
    return questions_json(waiting);
  }
  if (ask.verb == "answer") {
    // By its whole id, and of this cell: who may answer for one cell may not for another.
    auto question = desk.queue().get(word(ask, "question"), wall_now());
    if (!question.ok() || question.value().cell != cell.id) return not_there(cat("there is no question ", printable(word(ask, "question")), " of this cell"));
    if (question.value().state != QuestionState::kPending) return not_now(cat("the question was answered already: ", to_string(question.value().state)));
    TRY_SET(Question answered, desk.answer(question.value().id, word(ask, "yes") == "1", by));
    return questions_json({answered});
  }
  if (ask.verb == "grants") {
    TRY_SET(auto given, desk.queue().grants(cell.id, wall_now()));
    return grants_json(given);
  }
  if (ask.verb == "revoke") {
    TRY(desk.revoke(cell.id, word(ask, "pattern"), by));
    return std::string();
  }
  auto what = parse_action_class(word(ask, "class"));
  if (!what) return make_error(ErrorCode::kInvalid, cat("class: '", printable(word(ask, "class")), "' is none of command, read, write"));
  if (cell.decisions.empty()) return not_now(cat(cell.name, " has no decisions, so nothing of it is asked about"));
  Grant given{*what, word(ask, "pattern"), std::nullopt, by};
  if (auto ttl = parse_u64(word(ask, "ttl_ns")); ttl && *ttl > 0)
    given.expires = wall_now() + std::chrono::ceil<std::chrono::seconds>(Nanoseconds(static_cast<std::int64_t>(std::min<std::uint64_t>(*ttl, INT64_MAX / 2))));
  TRY(desk.grant(cell.id, given));
  return std::string();
}

}  // namespace

bool Keeper::desk_verb(const Asker& asker, const Ask& ask) {
  if (ask.verb != "questions" && ask.verb != "answer" && ask.verb != "grants" && ask.verb != "grant" && ask.verb != "revoke") return false;
  auto found = find(ask.cell);
  if (!found.ok()) return answer(asker, std::move(found).error()), true;
  auto said = std::make_shared<Result<std::string>>(std::string());
  // In a thread: it waits for the disk.
  work([said, ask, record = found.value()->record, state = cells_.substr(0, cells_.rfind('/'))] { *said = at_the_desk(state, record, ask); },
       [this, asker, said] {
         if (said->ok()) answer_text(asker, std::move(*said).value());
         else answer(asker, said->error());
       });
  return true;
}

}  // namespace hotcell::cells
