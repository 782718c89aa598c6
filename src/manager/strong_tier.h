// The strong tier: a launcher process with the strongest walls of this host, asked for when something is to run behind them
// and let go when nothing has for a while. Belongs to the loop's thread.
#pragma once
#include <deque>
#include <functional>
#include <memory>

#include "manager/loop.h"
#include "manager/workers.h"

namespace hotcell {

class StrongTier {
 public:
  // `want`: asks for a process; attach() or refuse() is the answer.
  StrongTier(Loop& loop, std::size_t most, std::function<void()> want);
  ~StrongTier();

  void attach(std::unique_ptr<RemoteLauncher> launcher);
  void refuse(const Error& why);

  // On a thread of its own, now or when the process is there.
  void run(Workers::Task task);

 private:
  bool is_there();
  void begin(Workers::Task task);
  void ended();

  Loop& loop_;
  std::function<void()> want_;
  std::shared_ptr<bool> alive_ = std::make_shared<bool>(true);
  std::unique_ptr<RemoteLauncher> launcher_;
  std::deque<Workers::Task> waiting_;
  Subscription patience_, rest_;
  std::size_t busy_ = 0;
  Workers workers_;   // last: its threads use what is above
};

}  // namespace hotcell
