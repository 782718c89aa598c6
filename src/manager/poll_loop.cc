#include "manager/poll_loop.h"

#include <poll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <algorithm>
#include <cstdint>

namespace hotcell {

PollLoop::PollLoop() : wake_(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)) {}

void PollLoop::post(std::function<void()> work) {
  std::lock_guard lock(mutex_);
  posted_.push_back(std::move(work));
  std::uint64_t one = 1;
  (void)!::write(wake_.get(), &one, sizeof one);
}

Subscription PollLoop::watch(int fd, std::function<void()> readable) {
  auto id = ++last_;
  state_->watched.emplace(id, std::pair(fd, std::move(readable)));
  return Subscription([state = state_, id] { state->watched.erase(id); });
}

Subscription PollLoop::after(std::chrono::milliseconds delay, std::function<void()> work) {
  auto id = ++last_;
  state_->timers.emplace(id, Timer{std::chrono::steady_clock::now() + delay, std::move(work)});
  return Subscription([state = state_, id] { state->timers.erase(id); });
}

bool PollLoop::run(const std::function<bool()>& done, std::chrono::milliseconds at_most) {
  using Clock = std::chrono::steady_clock;
  const auto until = Clock::now() + at_most;
  while (!done()) {
    if (Clock::now() >= until) return false;
    auto next = until;
    for (const auto& [id, t] : state_->timers) next = std::min(next, t.at);
    std::vector<pollfd> fds = {{wake_.get(), POLLIN, 0}};
    std::vector<std::uint64_t> ids = {0};
    for (const auto& [id, w] : state_->watched) {
      fds.push_back({w.first, POLLIN, 0});
      ids.push_back(id);
    }
    auto wait = std::chrono::ceil<std::chrono::milliseconds>(std::max(next - Clock::now(), Clock::duration(0)));
    if (::poll(fds.data(), fds.size(), static_cast<int>(wait.count())) > 0) {
      std::uint64_t count;
      (void)!::read(wake_.get(), &count, sizeof count);
    }
    std::vector<std::function<void()>> work;
    {
      std::lock_guard lock(mutex_);
      work.swap(posted_);
    }
    for (auto& w : work) w();
    for (std::size_t i = 1; i < fds.size(); ++i) {
      if (fds[i].revents == 0) continue;
      if (auto it = state_->watched.find(ids[i]); it != state_->watched.end()) {
        auto call = it->second.second;
        call();
      }
    }
    std::vector<std::uint64_t> due;
    for (const auto& [id, t] : state_->timers)
      if (t.at <= Clock::now()) due.push_back(id);
    for (auto id : due) {
      auto it = state_->timers.find(id);
      if (it == state_->timers.end()) continue;
      auto call = std::move(it->second.work);
      state_->timers.erase(it);
      call();
    }
  }
  return true;
}

}  // namespace hotcell
