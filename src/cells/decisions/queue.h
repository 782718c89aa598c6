// Questions that wait for somebody, and the grants they were given: one SQLite file that several processes use. Who asks
// waits in its own process; who answers (CLI, REST, dashboard) does it in another. No answer in time is a no, also when
// the asker is gone.
#pragma once
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "cells/decisions/decisions.h"
#include "store/database.h"

namespace hotcell::cells {

enum class QuestionState : std::uint8_t { kPending, kApproved, kDenied, kExpired };
std::string_view to_string(QuestionState state);

struct Question {
  std::string id;                    // unguessable
  std::string cell;
  Action action;
  std::string reason;                // why it is asked
  WallTime asked{}, expires{};
  QuestionState state = QuestionState::kPending;
  std::string answered_by;
  std::optional<WallTime> answered;
};

class DecisionQueue {
 public:
  static Result<DecisionQueue> open(const std::string& file);

  // The same question of the same cell that is still pending is not asked twice: its id is given back.
  Result<std::string> ask(std::string_view cell, const Action& action, std::string_view reason, WallTime now,
                          std::chrono::seconds patience);
  Result<Question> get(std::string_view id, WallTime now);
  // Newest first; empty `cell`: of all.
  Result<std::vector<Question>> list(std::string_view cell, bool pending_only, WallTime now);
  // Only a pending question can be answered, once; an expired one is a no for good.
  Result<Question> answer(std::string_view id, bool yes, std::string_view by, WallTime now);

  Result<void> grant(std::string_view cell, const Grant& grant);
  Result<std::vector<Grant>> grants(std::string_view cell, WallTime now);  // those that hold; of the cell and of all ("")
  Result<std::uint64_t> revoke(std::string_view cell, std::string_view pattern);
  Result<void> forget_cell(std::string_view cell);                         // pending ones are denied, grants go

  // Decides, and asks where the answer is `ask`: then kAsk with the question's id in `question`.
  struct Outcome {
    Decision decision;
    std::string question;
  };
  Result<Outcome> decide(const DecisionPolicy& policy, std::string_view cell, const Action& action, WallTime now);

 private:
  explicit DecisionQueue(Database database) : database_(std::move(database)) {}
  Database database_;
};

}  // namespace hotcell::cells
