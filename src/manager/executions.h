// Every execution the daemon was ever asked for: queued, running or ended. What all doors share.
//
//   submit ─> queue (fair share per client) ─> worker or launcher ─> report ─> history ─> whoever waits
//
// Belongs to the loop's thread; callbacks are called there. Nothing in here blocks it, but for a moment in submit().
#pragma once
#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "hotcell/report.h"
#include "hotcell/result.h"
#include "hotcell/verify.h"
#include "inspect/wire/question.h"
#include "manager/job.h"
#include "manager/loop.h"
#include "store/history.h"

namespace hotcell {

// One thing that happened to one execution. `data` is one JSON object in one line.
//   state  {"id","status","time"}                        pending, running
//   stdout, stderr {"text"} or {"base64"}                as it flows
//   usage  {"elapsed_ms","cpu_ns","memory_bytes","disk_bytes","tasks"}   while it runs, at most ten a second
//   event  the event schema (sandbox.created, limit.warning, …)
//   done   the result object; nothing comes after it
struct Update {
  std::uint64_t seq = 0;   // from 1, without gaps as long as nothing was dropped
  std::string type;
  std::string data;
};

struct ExecutionsOptions {
  std::size_t max_running = 0;      // cells at once; 0: twice the CPUs, at least 4
  std::size_t max_queued = 1024;    // all clients together
  std::size_t max_queued_each = 256;
  std::size_t max_queued_bytes = 256u << 20;  // of sources, files and inputs that wait
  std::size_t park_cells = 8;       // finished cells kept waiting for the default policy
  std::map<std::string, std::size_t> park_runtimes = {{"python", 1}};  // waiting runtimes by language
  std::vector<std::string> park_profiles;  // the same under these profiles: of their own language one at least
  std::string cache_folder;
  std::string journal_folder;       // of what proxies did; empty: nothing is kept
};

struct ExecutionsStats {
  std::size_t queued = 0, running = 0, parked = 0, parked_runtimes = 0;
  std::uint64_t submitted = 0, ended = 0, refused = 0;  // refused: queue full
  std::uint64_t warm_hits = 0, warm_misses = 0;         // started in a parked cell or runtime, or not
  bool launcher_up = false;
  bool draining = false;
};

// Told on the loop's thread, for the audit and the metrics.
struct ExecutionHooks {
  std::function<void(const ExecutionRecord&)> submitted;
  // `waited`: in the queue. `report` is null when none came to be (the record's error says why).
  std::function<void(const ExecutionRecord&, const Report* report, Nanoseconds waited, bool from_stock)> ended;
  std::function<void(bool up)> launcher;
  // What was found in the output of one that is about to end.
  std::function<void(const ExecutionRecord&, const OutputInspection&)> inspected;
  // What is told of an execution, in the words of those who are told: sentences of ours name options, and they may have none. Also called
  // by workers. Without it they stay as they are.
  std::function<std::string(std::string_view sentence)> words;
  // Something is to run in the strong tier, and there is no launcher for it: attach_strong() or refuse_strong() is the answer.
  std::function<void()> want_strong;
};

class RemoteLauncher;

class Executions {
 public:
  static std::unique_ptr<Executions> create(ExecutionsOptions options, JobRules rules, History& history, Loop& loop,
                                            ExecutionHooks hooks);
  // A launcher process to work with, the first or a new one after the last has stopped. What ran in that has failed.
  virtual void attach(std::unique_ptr<RemoteLauncher> launcher) = 0;
  // The same for the strong tier: whether there is one here, which and why, or why not.
  virtual void attach_strong(std::unique_ptr<RemoteLauncher> launcher) = 0;
  virtual void refuse_strong(std::string why) = 0;                      // what waits for it fails; the tier stays as it is
  virtual void set_strong(bool works, std::string reason) = 0;

  // Reads a source on a worker thread, in a child of its own; `done` on the loop's thread.
  struct VerifyQuestion {
    std::string source, language, file;
    Policy policy;
  };
  virtual void verify(VerifyQuestion question, std::function<void(Verification)> done) = 0;
  // A text, a command or the arguments of a tool, in the same way; the answer is JSON.
  virtual void inspect(InspectQuestion question, std::function<void(Result<std::string>)> done) = 0;
  // The output of a program that ran elsewhere, such as in a lasting cell; in the same way.
  using Inspected = std::function<void(Report, std::optional<OutputInspection>)>;
  virtual void inspect_output(Report report, OutputOrder order, Inspected done);

  using Post = std::function<void(std::function<void()>)>;  // Loop::post, for those who need no more of the loop
  using Ended = std::function<void(const ExecutionRecord&)>;

  virtual ~Executions() = default;

  struct Submitted {
    std::string id;        // cannot be guessed
    bool existing = false; // the idempotency key was used before: nothing new was started
  };
  // kLimit: the queue is full or we are draining (HTTP 429 or 503); else what make_job says. The history
  // has it before this returns: as a row, or announced to become one whatever happens to this process.
  virtual Result<Submitted> submit(JobSpec spec) = 0;

  // Called once, when it has ended and that is in the history; soon if it has already. kNotFound when there is no such id.
  virtual Result<Subscription> await(std::string_view id, Ended ended) = 0;

  // Live or from the history; nothing when unknown.
  virtual std::optional<ExecutionRecord> find(std::string_view id) = 0;

  // The result object of one that has ended, while whoever waits for it is told; the history has all of them.
  virtual std::optional<std::string> result(std::string_view) const { return std::nullopt; }

  // What waits and what runs, the newest first.
  virtual std::vector<ExecutionRecord> live() const { return {}; }

  // kNotFound; kInvalid when it has ended already.
  virtual Result<void> kill(std::string_view id) = 0;

  // Everything after `after` that is still kept, then what comes. `done` comes last and always, also to whoever had it before; it
  // holds all of the output, and is all there is of one that ended long ago, or that was waited for and never watched.
  using OnUpdate = std::function<void(const Update&)>;
  virtual Result<Subscription> watch(std::string_view id, std::uint64_t after, OnUpdate update) = 0;
  // Each time an execution comes, changes state or ends, and ten times a second at most while it uses something.
  using OnChange = std::function<void(const ExecutionRecord&)>;
  virtual Subscription watch_all(OnChange change) = 0;

  // Asks the launcher for a sign of life; called when it comes.
  virtual void check_launcher(std::function<void()>) {}

  virtual ExecutionsStats stats() const = 0;
  virtual const JobRules& rules() const = 0;
  virtual void set_rules(JobRules rules) = 0;   // for what is submitted from now on

  // No more submissions; `drained` when nothing runs any more, which is forced after `at_most`.
  virtual void drain(std::chrono::milliseconds at_most, std::function<void()> drained) = 0;
};

// A page of all of them: the history, with what is newer in memory laid over it. Of what waits or runs the history knows
// only that it was begun.
Result<std::vector<ExecutionRecord>> list_executions(const Executions& executions, History& history, const HistoryQuery& query);

}  // namespace hotcell
