// hotcell-proxy, seen from the keeper: it serves the door of one running cell. Nothing here waits for it; what it says comes
// through the keeper's loop, and may be what a hostile program made it say.
#pragma once
#include <chrono>
#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "hotcell/result.h"
#include "net/door/order.h"
#include "net/inserter.h"
#include "net/journal.h"
#include "sys/process.h"

namespace hotcell::cells {

class DoorProcess {
 public:
  using Clock = std::chrono::steady_clock;
  using Then = std::function<void(Result<std::string>)>;

  // `words`: the most that it may ever do. It dies with this thread.
  static Result<std::shared_ptr<DoorProcess>> start(const std::vector<std::string>& words);
  ~DoorProcess() { end("the keeper has ended it"); }

  int fd() const { return socket_.get(); }
  bool living() const { return child_.pid > 0; }
  bool asked() const { return !waiting_.empty(); }
  Clock::time_point due() const;             // when an answer is late
  void on_readable();
  void on_late() { end("hotcell-proxy does not answer"); }

  // One frame out and one in, in order; descriptors go with it and stay the caller's.
  void ask(std::string_view payload, Then then, std::span<const int> fds = {});
  // The process is gone, and with it every socket it held, when this returns.
  void end(std::string why);

  bool serving = false;
  std::string failed;                        // why it does not serve
  net::DoorAccount account;                  // the last that was heard
  std::optional<net::JournalWriter> journal;  // the log that is kept
  Clock::time_point keep_at{};               // when it is next to be asked for what came since
  std::uint64_t watch = 0;                   // the keeper's
  std::shared_ptr<net::TlsInserter> tls;     // puts in secrets; goes with the door

 private:
  struct Waiting {
    Then then;
    Clock::time_point by;
  };
  void answer(Result<std::string> what);

  sys::Fd socket_;
  sys::Child child_;
  std::string in_;
  std::deque<Waiting> waiting_;
};

}  // namespace hotcell::cells
