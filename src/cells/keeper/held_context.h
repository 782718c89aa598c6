// A context as the keeper holds it (keeper_context.cc).
#pragma once
#include <chrono>
#include <memory>
#include <mutex>
#include <optional>
#include <string>

#include "cells/contexts/context.h"
#include "cells/keeper/keeper.h"

namespace hotcell::cells {

// How long its cell was paused, for the threads of its calls.
class Sleep {
 public:
  void set(bool asleep) {
    std::lock_guard hold(mutex_);
    if (asleep && !since_) since_ = Clock::now();
    if (asleep || !since_) return;
    before_ += Clock::now() - *since_;
    since_.reset();
  }
  std::chrono::nanoseconds slept() const {
    std::lock_guard hold(mutex_);
    return before_ + (since_ ? Clock::now() - *since_ : Clock::duration(0));
  }

 private:
  mutable std::mutex mutex_;
  std::chrono::nanoseconds before_{0};
  std::optional<Clock::time_point> since_;
};

struct HeldContext {
  std::string name, language;
  Fields env;
  std::uint64_t execution = 0;
  std::shared_ptr<Context> context;                // the thread of a call has it as well
  std::shared_ptr<Sleep> sleep;
  std::optional<Asker> caller;                     // of the call that runs
  bool starting = false, busy = false;
  Whereabouts in;                                  // where the lines of a bash may have gone, to the decisions
  std::string gone;                                // why there is no interpreter any more
  RecordTime created{}, used{};
  std::uint64_t calls = 0;
};

}  // namespace hotcell::cells
