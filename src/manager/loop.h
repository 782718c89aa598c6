// The event loop that the manager lives on, whoever owns it: the daemon's, or a test's.
#pragma once
#include <chrono>
#include <functional>
#include <utility>

namespace hotcell {

// Ends what it stands for when it is destroyed.
class Subscription {
 public:
  Subscription() = default;
  explicit Subscription(std::function<void()> end) : end_(std::move(end)) {}
  Subscription(Subscription&& o) noexcept : end_(std::exchange(o.end_, nullptr)) {}
  Subscription& operator=(Subscription&& o) noexcept {
    if (this != &o) {
      reset();
      end_ = std::exchange(o.end_, nullptr);
    }
    return *this;
  }
  ~Subscription() { reset(); }
  void reset() {
    if (auto end = std::exchange(end_, nullptr)) end();
  }

 private:
  std::function<void()> end_;
};

class Loop {
 public:
  virtual ~Loop() = default;
  virtual void post(std::function<void()> work) = 0;     // soon, on the loop's thread; from any thread
  // Called whenever the descriptor is readable, until the subscription ends.
  virtual Subscription watch(int fd, std::function<void()> readable) = 0;
  virtual Subscription after(std::chrono::milliseconds delay, std::function<void()> work) = 0;  // once
};

}  // namespace hotcell
