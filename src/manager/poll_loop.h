// The simplest Loop: for tests and small programs.
#pragma once
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <vector>

#include "manager/loop.h"
#include "sys/fd.h"

namespace hotcell {

class PollLoop final : public Loop {
 public:
  PollLoop();
  void post(std::function<void()> work) override;
  Subscription watch(int fd, std::function<void()> readable) override;
  Subscription after(std::chrono::milliseconds delay, std::function<void()> work) override;

  // Until `done` says so; false when `at_most` has passed before.
  bool run(const std::function<bool()>& done, std::chrono::milliseconds at_most);

 private:
  struct Timer {
    std::chrono::steady_clock::time_point at;
    std::function<void()> work;
  };
  struct State {
    std::map<std::uint64_t, std::pair<int, std::function<void()>>> watched;
    std::map<std::uint64_t, Timer> timers;
  };
  std::shared_ptr<State> state_ = std::make_shared<State>();
  std::uint64_t last_ = 0;
  std::mutex mutex_;
  std::vector<std::function<void()>> posted_;
  sys::Fd wake_;
};

}  // namespace hotcell
