// Takes mount namespaces of dead cells apart, in a thread of its own: each waits for an RCU grace period (0.1 to 1 ms),
// and the launcher's loop has living cells to look after.
#pragma once
#include <atomic>
#include <condition_variable>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

#include "sys/fd.h"

namespace hotcell {

class Undertaker {
 public:
  using Done = std::shared_ptr<std::atomic<bool>>;
  ~Undertaker();
  Done bury(sys::Fd mounts);

 private:
  struct Job {
    sys::Fd mounts;
    Done done;
  };
  void work();

  std::mutex mutex_;
  std::condition_variable wake_;
  std::vector<Job> jobs_;
  bool stop_ = false;
  std::thread thread_;  // started with the first job; last, so that all it uses outlives it
};

}  // namespace hotcell
