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
  {
    std::lock_guard lock(mutex_);
    jobs_.push_back({std::move(mounts), done});
  }
  if (!thread_.joinable()) thread_ = sys::quiet_thread([this] { work(); });
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
