// The front's one event loop. Everything but post() and stop() belongs to the thread that runs it.
#pragma once
#include <chrono>
#include <functional>
#include <memory>
#include <vector>

namespace boost::asio {
class io_context;
}

namespace hotcell::server {

class Loop {
 public:
  // Ends what it stands for when it is destroyed.
  class Handle {
   public:
    Handle() = default;
    explicit Handle(std::shared_ptr<void> state) : state_(std::move(state)) {}
    void reset() { state_.reset(); }
    explicit operator bool() const { return state_ != nullptr; }

   private:
    std::shared_ptr<void> state_;
  };

  Loop();
  ~Loop();
  Loop(const Loop&) = delete;
  Loop& operator=(const Loop&) = delete;

  void run();  // until stop()
  void stop();
  void post(std::function<void()> work);

  [[nodiscard]] Handle after(std::chrono::nanoseconds delay, std::function<void()> work);
  [[nodiscard]] Handle every(std::chrono::nanoseconds period, std::function<void()> work);
  [[nodiscard]] Handle when_readable(int fd, std::function<void()> work);  // again and again; fd stays the caller's
  [[nodiscard]] Handle when_writable(int fd, std::function<void()> work);  // once; ask again for more
  [[nodiscard]] Handle on_signals(const std::vector<int>& signals, std::function<void(int)> work);

  boost::asio::io_context& context();

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace hotcell::server
