// One living cell, from clone to the last byte of output. A state machine without a loop of its own: the launcher's
// epoll tells it what is ready.
#pragma once
#include <atomic>
#include <chrono>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "core/kernel/cgroup.h"
#include "core/launch/ids.h"
#include "core/launch/notify.h"
#include "core/launch/plan.h"
#include "core/launch/proc_io.h"
#include "core/launch/proc_sample.h"
#include "core/launch/stdin_pump.h"
#include "core/launch/template.h"
#include "hotcell/output_buffer.h"
#include "hotcell/request.h"
#include "hotcell/usage_monitor.h"
#include "sys/process.h"
#include "sys/socket.h"

namespace hotcell {

using Clock = std::chrono::steady_clock;

// What may be there already when a cell is made.
struct CellParts {
  std::shared_ptr<Template> from;
  std::unique_ptr<Cgroup> cgroup;
  bool will_wait = false;  // it is made ahead
  const OuterPlace* outer = nullptr;  // kOuter: where the tool runs
  int stdin_socket = -1;  // instead of the pipe; stays the caller's
};

// What is taken down after the answer, since that costs more than the run. The mounts before the cgroup: what they hold
// is charged to it.
struct CellLeavings {
  sys::Fd mounts;
  std::unique_ptr<Cgroup> cgroup;
  std::shared_ptr<Template> from;
  int net = -1;
  std::shared_ptr<std::atomic<bool>> unmounted = {};  // set while somebody else takes the mounts apart
};

class Cell {
 public:
  enum class State : unsigned char { kSettingUp, kParked, kWarming, kWarm, kRunning, kDead };
  enum class Source : unsigned char { kProg, kStdout, kStderr, kStdin, kStdinSource, kPidfd, kListener, kMemory };

  // Clones and lets init begin; the cell is usable once prog() has brought its ready record.
  static Result<std::unique_ptr<Cell>> spawn(std::shared_ptr<Plan> plan, const Host& host, int init_fd, CellParts parts = {});
  ~Cell();

  State state() const { return state_; }
  const Plan& plan() const { return *plan_; }
  const std::string& id() const { return request_.id; }
  int fd(Source source) const;

  // Events. Each returns an error only when *we* failed; the program's end is in verdict terms below.
  Result<void> on_ctl();
  Result<void> on_prog(const Host& host);
  void on_output(Stream stream, bool draining);
  void on_pidfd();

  Result<void> warm_up(const Runtime& runtime, std::string id);  // parked → warming: the runtime is started
  Result<void> on_warm();                          // warming → warm: it says that it waits for its orders
  Result<void> start(Request request, OnOutput past_limit);  // parked or warm → running
  void rest();                                     // parked or warm, and may stay so for long
  void kill(ExitReason reason);                    // the whole tree; the first reason stands
  Result<void> freeze(bool frozen);
  void attend();                                   // its usage is looked at often again
  void tick(Clock::time_point now);                // a timer is due: the deadline, or a sample
  void sample();                                   // limits that the kernel does not hold by itself
  std::optional<Clock::time_point> next_timer() const;
  Result<Report> account();                        // after kDead

  void tell_new_denials();                         // of one that lasts, at once: its end may be days away

  StdinPump& stdin_pump() { return stdin_; }
  NotifyListener& listener() { return listener_; }
  const Cgroup* cgroup() const { return cgroup_.get(); }
  bool setup_timed_out() const;
  bool gets_on() const;                            // it is being set up, and nothing has gone wrong so far
  bool not_stamped() const { return stamp_.made && !stamp_.made->ok(); }  // its template could not: it has no process
  void end();                                      // kill and reap, at once
  void fail(Error error);                          // set-up went wrong: remember why and end it
  CellLeavings take_leavings() {
    settle_stamp(false);  // its template goes with them, and knows where it wants to be answered
    return {std::move(mounts_), std::move(cgroup_), std::move(template_), std::exchange(net_, -1)};
  }
  const Enforcement& enforcement() const { return enforcement_; }

  Clock::time_point next_listener{};               // a flood of denied calls is served one a millisecond
  std::uint32_t registered = 0;                    // bit per Source: known to the launcher's epoll

 private:
  Cell() = default;
  bool settle_stamp(bool wait = true);             // false: there is no process, and none will come
  void on_deadline();
  Result<void> limit_open_files(int program);
  void allow_cpu_time();
  Result<void> make_cgroup(const Host& host);
  Result<void> build(const Host& host, int init_fd, bool will_wait, int stdin_socket);
  std::map<std::string, std::string> environment() const;
  Result<void> send_exec();
  std::string orders() const;                      // for a runtime that waits
  Result<void> write_files(const std::vector<InputFile>& files);
  void drain();
  Error failure_of(const Record& record) const;
  Verdict decide() const;
  void emit(std::string type, std::map<std::string, std::string> fields = {});
  void judge(const LiveUsage& now);
  Bytes disk_used() const;
  CgroupSample group_sample(Bytes unless_below);
  std::vector<std::pair<std::string, Nanoseconds>> setup_times() const;
  bool disk_full() const;
  void split_cpu(Usage& usage) const;

  State state_ = State::kSettingUp;
  std::shared_ptr<Plan> plan_;
  CellIds ids_;
  std::unique_ptr<Cgroup> cgroup_;
  std::shared_ptr<Template> template_;
  Template::Stamp stamp_;
  bool frozen_ = false, rests_ = false;
  int net_ = -1;                                   // the template's number of our net namespace
  OuterPlace outer_;
  std::string flat_workspace_;                     // made by us on the host, removed by us
  sys::Child child_;
  sys::Fd ctl_, prog_, out_, err_, stdin_sink_, work_, mounts_, door_, dns_;
  NotifyListener listener_;
  StdinPump stdin_;
  Enforcement enforcement_;
  Clock::time_point born_{}, deadline_{}, started_{}, next_sample_{};
  Nanoseconds sample_every_{std::chrono::milliseconds(5)};
  std::vector<std::pair<std::string, Nanoseconds>> parent_steps_;
  std::vector<std::uint32_t> op_ns_;

  int program_ = 0;                                // its pid, as we see it
  Nanoseconds cpu_before_{0};                      // what a runtime used before it was asked for
  std::vector<InputFile> runtime_files_;           // removed before the program comes
  Request request_;
  OnOutput past_limit_ = OnOutput::kKill;          // the request's: the plan may be one that others made (same_cell)
  std::unique_ptr<OutputBuffer> stdout_, stderr_;
  std::optional<ExitReason> killed_for_;
  std::optional<int> wait_status_;
  std::optional<Error> error_;
  std::uint64_t rss_kib_ = 0, user_us_ = 0, system_us_ = 0;
  bool counts_cpu_ = false, counts_memory_ = false;  // what the cgroup can tell; the rest is sampled
  std::optional<bool> knows_files_;                // tmpfs that is charged to it is either its own folders or its memory
  CgroupSample last_;
  TreeSampler tree_;                               // where the cgroup cannot tell
  std::uint32_t tasks_seen_ = 0;
  Bytes memory_seen_;
  Bytes disk_before_;                              // what we put into the private folders ourselves
  std::optional<UsageMonitor> monitor_;            // while it runs
  TreeIo io_;                                      // by the whole tree
  std::chrono::system_clock::time_point start_wall_{};
  Clock::time_point end_{};
};

}  // namespace hotcell
