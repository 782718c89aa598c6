#include "manager/ended_executions.h"

namespace hotcell {

void EndedExecutions::add(std::shared_ptr<LiveExecution> live) {
  bytes_ += live->kept_bytes();
  ended_.push_back(std::move(live));
  trim();
}

void EndedExecutions::trim() {
  const auto now = LiveExecution::Clock::now();
  while (!ended_.empty() && (ended_.size() > kMost || bytes_ > kMostBytes || now - ended_.front()->ended > kStay)) {
    auto oldest = std::move(ended_.front());
    ended_.pop_front();
    bytes_ -= std::min(bytes_, oldest->kept_bytes());
    forget_(*oldest);
  }
}

}  // namespace hotcell
