// An execution that is queued or running, or has ended a short while ago: what it has done so far, and who watches.
#pragma once
#include <atomic>
#include <chrono>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "hotcell/launcher.h"
#include "manager/executions.h"

namespace hotcell {

class LiveExecution {
 public:
  using Clock = std::chrono::steady_clock;

  LiveExecution(Job what, ExecutionRecord known) : job(std::move(what)), record(std::move(known)) {}

  Job job;
  std::size_t job_size = 0;             // what waits in memory with it
  ExecutionRecord record;
  Clock::time_point submitted = Clock::now(), begun{}, ended{};
  std::atomic<bool> cancelled{false};   // read by a worker
  std::optional<RunId> run;             // where the loop's own launcher runs it
  bool from_stock = false;
  std::optional<Nanoseconds> verified_in;  // set by the worker before it tells the end
  bool in_history = false;              // its beginning is
  bool told_end = false;                // `done` has been told, and the history has it
  std::function<std::string(std::string_view)> words;   // ExecutionHooks::words
  std::string result;                   // the result object, from the end until the history has it and it was told

  void update(std::string type, std::string data);
  void output(Stream stream, std::string_view bytes);
  void usage(const LiveUsage& now);
  void event(const Event& event);
  void done();                          // the last update: its result. It is not kept, since the history has it

  // Everything kept after `after`, then what comes.
  std::uint64_t watch(std::uint64_t after, Executions::OnUpdate on);
  void unwatch(std::uint64_t watcher) { watchers_.erase(watcher); }
  std::uint64_t await(Executions::Ended ended_call);
  void forget(std::uint64_t waiter) { waiters_.erase(waiter); }
  bool tell_waiters();                  // false: nobody waited

  std::string usage_json() const;
  std::string events_json() const;
  std::size_t kept_bytes() const { return bytes_ + result.size(); }
  std::uint64_t last_seq() const { return last_seq_; }
  bool was_watched() const { return was_watched_; }

 private:
  void tell(const Update& update);

  struct Point {
    std::int64_t ms, cpu;
    std::uint64_t memory, disk, tasks;
  };
  std::deque<Update> updates_;
  std::size_t bytes_ = 0;
  std::uint64_t last_seq_ = 0, last_watcher_ = 0;
  std::vector<Point> points_;
  Nanoseconds spacing_{0};              // between two points; doubled when there are too many
  std::vector<std::string> events_;
  bool was_watched_ = false;
  std::map<std::uint64_t, Executions::OnUpdate> watchers_;
  std::map<std::uint64_t, Executions::Ended> waiters_;
};

}  // namespace hotcell
