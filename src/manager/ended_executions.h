// Executions that have ended stay for a while, so that a watcher whose connection broke can go on where it was. Their results
// do not: the history has those.
#pragma once
#include <chrono>
#include <deque>
#include <functional>
#include <memory>

#include "manager/live_execution.h"

namespace hotcell {

class EndedExecutions {
 public:
  using Forget = std::function<void(const LiveExecution&)>;   // told of each that does not stay any longer
  explicit EndedExecutions(Forget forget) : forget_(std::move(forget)) {}

  std::size_t size() const { return ended_.size(); }
  void add(std::shared_ptr<LiveExecution> live);
  void trim();

 private:
  static constexpr auto kStay = std::chrono::seconds(60);
  static constexpr std::size_t kMost = 512, kMostBytes = 16u << 20;

  Forget forget_;
  std::deque<std::shared_ptr<LiveExecution>> ended_;
  std::size_t bytes_ = 0;
};

}  // namespace hotcell
