#include "core/launch/undertaker.h"

#include "sys/thread.h"

namespace hotcell {

Undertaker::~Undertaker() {
  {
    std::lock_guard lock(mutex_);
    stop_ = true;
  }
  wake_.notify_one();
  if (thread_.joinable()) thread_.join();
}

Undertaker::Done Undertaker::bury(sys::Fd mounts) {
  auto done = std::make_shared<std::atomic<bool>>(false);
  if (!thread_.joinable()) {
    auto thread = sys::quiet_thread([this] { work(); });
    if (!thread.ok()) {
      mounts.reset();   // slower, and that is all
      done->store(true);
      return done;
    }
    thread_ = std::move(thread).value();
  }
  {
    std::lock_guard lock(mutex_);
    jobs_.push_back({std::move(mounts), done});
  }
  wake_.notify_one();
  return done;
}

void Undertaker::work() {
  for (;;) {
    std::vector<Job> now;
    {
      std::unique_lock lock(mutex_);
      wake_.wait(lock, [this] { return stop_ || !jobs_.empty(); });
      if (jobs_.empty()) return;
      now.swap(jobs_);
    }
    for (auto& job : now) {
      job.mounts.reset();
      job.done->store(true);
    }
  }
}

}  // namespace hotcell
