// Where people answer: the queue of a state folder together with the audit log, so that no answer, grant or revocation
// goes unrecorded. CLI, REST and dashboard all come through here.
#pragma once
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "cells/decisions/queue.h"
#include "store/audit_log.h"

namespace hotcell::cells {

WallTime wall_now();
std::string decisions_file(std::string_view state);  // <state>/cells/decisions.db

class DecisionDesk {
 public:
  // The folder `<state>/cells` must be there. An audit log that cannot be written is an error: nothing is answered then.
  static Result<DecisionDesk> open(const std::string& state);

  DecisionQueue& queue() { return queue_; }
  // `id` may be the beginning of one that waits, when it is that of one only.
  Result<Question> answer(std::string_view id, bool yes, std::string_view by);
  Result<void> grant(std::string_view cell, const Grant& grant);
  Result<std::uint64_t> revoke(std::string_view cell, std::string_view pattern, std::string_view by);

 private:
  DecisionDesk(DecisionQueue queue, std::unique_ptr<AuditLog> audit) : queue_(std::move(queue)), audit_(std::move(audit)) {}
  Result<void> record(AuditEvent event);
  DecisionQueue queue_;
  std::unique_ptr<AuditLog> audit_;
};

// Lines of the audit log; layer "decisions". `action` is asked, denied, expired, withdrawn, approved, refused …
AuditEvent decision_event(std::string_view action, std::string_view cell, const Action& about, std::string_view reason, std::string_view question = {},
                          std::string_view by = {});

std::string questions_json(const std::vector<Question>& questions);
std::string grants_json(const std::vector<Grant>& grants);
std::string decision_time(WallTime time);  // 2027-01-15T08:00:00Z

}  // namespace hotcell::cells
