// The front's one connection to the keeper of lasting cells. It cannot make it: the supervisor does, binds it to the daemon's
// ceiling and hands it over, when the first request needs it and again after the keeper has gone. Belongs to the loop's
// thread; nothing here waits.
#pragma once
#include <chrono>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "cells/keeper/protocol.h"
#include "hotcell/result.h"
#include "server/http/loop.h"
#include "sys/fd.h"

namespace hotcell::server {

class KeeperLink {
 public:
  // `want`: tells the supervisor that a connection is needed.
  KeeperLink(Loop& loop, std::function<void()> want) : loop_(loop), want_(std::move(want)) {}

  void attach(sys::Fd socket);
  void refused(std::string why);  // the supervisor could not

  struct Answer {
    cells::Told told;
    std::vector<sys::Fd> fds;
  };
  using Done = std::function<void(Result<Answer>)>;
  using News = std::function<void(const cells::Told&)>;
  // `done` is called once, later, on the loop; `news` before it, for what goes on. The number of the question.
  std::uint64_t ask(cells::Ask ask, Done done, News news = {}, std::vector<sys::Fd> fds = {});
  // Says something more about a question that was asked (kill, drained); nothing is answered.
  void tell(std::uint64_t number, std::string verb, std::vector<std::string> words = {});
  // Nobody waits for it any more; `until` is kept until it is over.
  void forget(std::uint64_t number, std::shared_ptr<void> until = nullptr);

  Loop& loop() { return loop_; }
  bool connected() const { return socket_.valid(); }

 private:
  struct Waiting {
    Done done;
    News news;
    bool sent = false;
  };
  struct Outgoing {
    std::uint64_t number = 0;
    std::string bytes;
    std::vector<sys::Fd> fds;
  };
  void flush();
  void read();
  void lost();                        // all that was sent fails
  void need();
  void give_up(const Error& error);   // all that waits for a connection fails

  Loop& loop_;
  std::function<void()> want_;
  sys::Fd socket_;
  Loop::Handle readable_, writable_, patience_;
  std::map<std::uint64_t, Waiting> waiting_;
  std::deque<Outgoing> out_;
  std::uint64_t last_ = 1;   // the first is the supervisor's, who has bound the connection
};

}  // namespace hotcell::server
