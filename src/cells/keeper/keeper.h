// One process for each state folder: owns the launcher, and with it every lasting cell that runs (they die with it, their
// files do not). Single-threaded but for work on files, which threads of its own do. It is started by the first client
// and goes when nothing is left to keep.
#pragma once
#include <sys/epoll.h>

#include <chrono>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "cells/keeper/bounds.h"
#include "cells/decisions/decisions.h"
#include "cells/keeper/folder.h"
#include "cells/keeper/protocol.h"
#include "cells/keeper/record.h"
#include "cells/keeper/spawned.h"
#include "hotcell/launcher.h"

namespace hotcell::net {
struct DoorAccount;
}

namespace hotcell::cells {

using Clock = std::chrono::steady_clock;

inline constexpr std::string_view kStartedAnew = "it was paused when its keeper ended: its processes are gone, its files are here, and it was started anew";

class Session;      // a shell, keeper_shell.cc
struct HeldContext; // an interpreter, held_context.h
class DoorProcess;  // of a cell with --network proxy
class LayersDisk;   // of a cell with --disk
struct CellSecrets; // of a cell with --secret
struct OutputRelay;
struct ApplyOptions;
struct CellUsage;

struct Client {
  std::uint64_t id = 0, watch = 0;
  sys::Fd socket;
  std::shared_ptr<const Bounds> bounds;    // none: the owner's own
};

// Who asked, for an answer that comes later. The client may be gone by then.
struct Asker {
  std::uint64_t client = 0, number = 0;
};

struct Execution {
  std::uint64_t id = 0;
  std::vector<std::string> argv;
  std::optional<Asker> asker;              // none: started for ourselves, or left running by its client
  Clock::time_point deadline = Clock::time_point::max();
  RecordTime started{};
  std::string killed_for;                  // timeout_wall, cancelled
  bool over = false;                       // the program has ended; what it left running may not have
  std::optional<News> ending;              // how, while the disk is looked at before anybody is told
  bool gone = false;                       // and nothing of it is left
  bool ours = false;                       // a shell or a context: not what makes a cell busy
  sys::Fd out, err;                        // read ends, for what is written when nobody listens any more
  std::vector<std::pair<std::uint64_t, int>> drains;  // watch and descriptor
  std::shared_ptr<OutputRelay> relay;      // of a cell with secrets: its output goes by the keeper
  std::function<void(const News&)> on_news;
};

struct Kept {
  CellRecord record;
  std::string folder;
  Policy policy;
  std::optional<RunId> run;
  std::unique_ptr<Spawned> spawned;
  std::uint64_t watch = 0;
  bool ready = false;
  std::string busy;                        // what is done to its files at the moment
  std::string unfinished;                  // an apply that was cut off, in words
  bool finishing = false;                  // it is being finished; who asks about the cell is held until then
  std::vector<std::function<void()>> held;
  std::uint64_t maker = 0;                 // the client that is to put its files in
  std::map<std::uint64_t, Execution> executions;
  std::map<std::string, std::shared_ptr<Session>> sessions;
  std::map<std::string, std::shared_ptr<HeldContext>> contexts;  // those that are gone, too, until they are closed
  std::vector<std::function<void(const Result<void>&)>> on_ready, on_stopped;
  std::vector<std::function<void(bool answered)>> on_done;  // after kStopAll and kGoOn, in order; false: the spawner went without
  Clock::time_point last_use{};
  std::shared_ptr<CellUsage> usage;        // since it was last started
  std::vector<Asker> listeners;            // who is told its events
  std::shared_ptr<LayersDisk> disk;        // none: what it changes is in its folder, and sampled
  std::string layers() const;              // holds `upper` and `work`: its folder, or its own file system
  std::shared_ptr<DoorProcess> door;       // of a running cell with --network proxy
  std::string door_failed;
  std::shared_ptr<CellSecrets> secrets;    // none: it has none, or a keeper before this one had them
  std::shared_ptr<const net::DoorAccount> last_account;  // of the door that was shut last
  std::size_t living() const;              // executions whose program runs
  bool in_use() const;                     // idleness does not pause it
  bool stopping = false;                   // asked for: its end is no surprise
  Clock::time_point paused_since{}, spawner_gone{};
  std::shared_ptr<const DecisionPolicy> decisions;  // read from the record when first needed
  std::set<std::uint64_t> may_type;        // clients that were let into a terminal
  // What the apply that is being begun may write, as it was judged: path → digest (cells/files/seen.h). None: nothing is judged.
  std::shared_ptr<const std::map<std::string, std::string>> approved;
};

class Keeper {
 public:
  // Serves until nothing is left to keep. 0: did so, or another keeper is there already.
  static Result<int> serve(const std::string& state);

 private:
  using Handler = std::function<void(std::uint32_t)>;
  friend class Session;

  Result<void> open(const std::string& state);
  Result<void> loop();
  Clock::time_point next_due() const;
  void timers();
  bool idle() const;

  std::uint64_t watch(int fd, std::uint32_t events, Handler handler);
  void rewatch(std::uint64_t key, int fd, std::uint32_t events);
  void unwatch(std::uint64_t key, int fd);
  // In a thread of its own; `then` is called in ours.
  void work(std::function<void()> task, std::function<void()> then);
  void start_work();
  void on_worked();

  void on_connect();
  void on_client(std::uint64_t id);
  void drop(std::uint64_t id);
  void dispatch(const Asker& asker, const Ask& ask, std::vector<sys::Fd> fds, bool decided = false);
  bool bind(const Asker& asker, const Ask& ask);      // false: no such connection may go on
  Result<void> may(const Asker& asker, const Ask& ask);
  void answer(const Asker& asker, Told told, std::span<const int> fds = {});
  void answer(const Asker& asker, Error error) { answer(asker, Told{.number = 0, .last = true, .error = std::move(error), .fields = {}, .text = {}}); }
  void answer_text(const Asker& asker, std::string text) { answer(asker, Told{.number = 0, .last = true, .error = {}, .fields = {}, .text = std::move(text)}); }
  void answer(const Asker& asker, const Result<void>& result, std::string text = {});

  // keeper_lifecycle.cc
  Result<Kept*> find(std::string_view name);
  Result<void> create(const Asker& asker, const Ask& ask);
  Result<void> start(Kept& cell, std::function<void(const Result<void>&)> then);
  void stop(Kept& cell, std::string reason, std::function<void(const Result<void>&)> then);
  Result<void> pause(Kept& cell, bool by_idleness, std::function<void(const Result<void>&)> then);
  Result<void> resume(Kept& cell, std::function<void(const Result<void>&)> then);
  void ended(const std::string& id, Result<Report> report);
  void remove(Kept& cell, std::function<void(const Result<void>&)> then);
  void save(Kept& cell);
  std::string list_json(const Ask& ask) const;
  std::string inspect_json(const Kept& cell) const;
  Result<void> clean(const Asker& asker, const Ask& ask);
  // Running and not paused, woken when idleness paused it; then `then`.
  void awake(Kept& cell, std::function<void(const Result<void>&)> then);
  Policy running_policy(const Kept& cell) const;

  // keeper_exec.cc
  void exec(const Asker& asker, const Ask& ask, std::vector<sys::Fd> fds);
  Result<Execution*> run(Kept& cell, const ExecOrder& order);
  std::map<std::string, std::string> environment(const Kept& cell, const Fields& more) const;
  void on_spawner(const std::string& id);
  void on_news(Kept& cell, Spawned::Heard heard);
  void tell_ending(Kept& cell, Execution& e, bool gone);
  void drain(Execution& execution);
  void forget(Kept& cell, std::uint64_t execution);
  void kill_execution(Kept& cell, Execution& execution, std::string why);
  void end_left_behind(Kept& cell, const Execution& execution, const std::string& why);

  // keeper_files.cc, keeper_shell.cc, keeper_context.cc; true: it was one of theirs
  bool file_verb(const Asker& asker, const Ask& ask);
  void open_session(const Asker& asker, Kept& cell, const Ask& ask);
  void session_news(const std::string& cell, const std::string& name, const News& news);
  void session_timers(Kept& cell, Clock::time_point at);
  bool shell_verb(const Asker& asker, const Ask& ask, std::vector<sys::Fd>& fds);
  bool context_verb(const Asker& asker, const Ask& ask);
  Result<void> create_context(const Asker& asker, Kept& cell, const Ask& ask);
  Result<void> start_context(const Asker& asker, Kept& cell, const std::shared_ptr<HeldContext>& held);
  Result<void> call_context(const Asker& asker, Kept& cell, const std::shared_ptr<HeldContext>& held, const Ask& ask);
  void context_news(const std::string& cell, const std::string& name, const News& news);
  void end_context(Kept& cell, HeldContext& held, std::string why);
  void context_timers(Kept& cell);
  void forget_caller(Kept& cell, std::uint64_t client);
  static void interrupt_caller(Kept& cell, const Asker& asker);
  std::string contexts_json(const Kept& cell) const;
  static std::string context_language_of(const Kept& cell, const std::string& name);
  // keeper_decisions.cc. judged: true where the cell's decisions do not simply allow it; then it is refused, or goes on later
  bool judged(const Asker& asker, const Ask& ask, std::vector<sys::Fd>& fds);
  // `then` at once where it is allowed or denied, later where somebody must answer. The first action is what is asked about.
  // `content`: a digest of what the actions are about, where their words do not say all of it.
  void decide(Kept& cell, const std::vector<Action>& actions, const Asker& asker, std::function<void(const Result<void>&)> then, std::string content = {});
  static void goes_on_in(Kept& cell, const Ask& ask, const Action& line);  // where the next line of that shell begins
  struct ToApply;
  void decide_apply(Kept& cell, const Asker& asker, const Ask& ask, std::function<void(const Result<ToApply>&)> then);
  const DecisionPolicy* decisions_of(Kept& cell);     // none: everything is allowed
  Result<std::string> given_decisions(const Ask& ask, const Bounds* bounds);
  void guard_apply(Kept& cell, ApplyOptions& options);
  Clock::time_point parked_due() const;
  void parked_timers(Clock::time_point at);
  void forget_parked(const Asker& asker, bool whole_client);
  // What cannot be begun at once: its files are looked at first, or its cell must wake. goes_on: false, and it is answered, when
  // whoever asked for it has given it up meanwhile.
  void hold_back(const Asker& asker) { held_back_.insert({asker.client, asker.number}); }
  bool goes_on(const Asker& asker);
  void forget_decisions(const Kept& cell);
  struct Parking;
  Result<Parking*> parking();

  // keeper_network.cc
  Result<void> plan_network(const Ask& ask, const Policy& policy, CellRecord& record);
  void open_door(const std::string& id, sys::Fd door, sys::Fd dns);
  void close_door(Kept& cell, std::function<void()> then);
  void sweep_doors();
  void answer_exec(Kept& cell, const Execution& execution, Told told);  // with what its door has refused meanwhile
  void deliver(const std::shared_ptr<OutputRelay>& relay, const Asker& asker, Told told);
  Clock::time_point doors_due() const;
  void keep_log(const std::shared_ptr<DoorProcess>& door);               // as far as it has come
  void door_timers(Clock::time_point at);
  Result<void> seal(const Asker& asker, Kept& cell);
  Result<void> change_network(const Asker& asker, Kept& cell, const Ask& ask);
  std::string network_json(const Kept& cell) const;
  bool network_verb(const Asker& asker, const Ask& ask);

  // keeper_secrets.cc
  static Result<std::shared_ptr<CellSecrets>> plan_secrets(const Ask& ask, bool bound, const Policy& policy, CellRecord& record);
  static Result<void> renew_secrets(Kept& cell, const Ask& ask);
  static Result<void> arm_secrets(Kept& cell);        // before each start
  static void disarm_secrets(Kept& cell);
  static Result<void> may_use_secrets(const CellRecord& record);   // of a client that is bound
  void secret_variables(const Kept& cell, std::map<std::string, std::string>& env) const;
  void secret_files(const Kept& cell, LastingWorkspace& workspace) const;
  std::string secrets_json(const Kept& cell) const;
  std::string cleaned(const std::string& cell, std::string_view bytes) const;
  void clean_told(Told& told) const;
  // The client's two write ends stay with the relay; `program`: what was put into the order in their place.
  Result<std::shared_ptr<OutputRelay>> relay_output(const Kept& cell, std::vector<sys::Fd>& client, ExecOrder& order, std::vector<sys::Fd>& program);
  void listen_to(const std::shared_ptr<OutputRelay>& relay, int side);
  bool pass_waiting(const std::shared_ptr<OutputRelay>& relay, int side);
  void pass_on(const std::shared_ptr<OutputRelay>& relay, int side);
  void finish_relay(const std::shared_ptr<OutputRelay>& relay, std::function<void()> then);

  // keeper_monitor.cc
  void watch_usage(Kept& cell);
  void usage_ended(Kept& cell);
  void on_usage(const std::string& id, const LiveUsage& used);
  void look_at_disk(Kept& cell, std::function<void()> then, bool open_files = true);
  bool judge_disk(Kept& cell);                        // whether its programs were stopped for it
  void stop_for_disk(Kept& cell);
  void look_once_more(Kept& cell, std::function<void(bool stopped)> then);
  std::string usage_json(const Kept& cell) const;
  void answer_usage(const Asker& asker, Kept& cell);
  void tell(Kept& cell, std::string type, std::map<std::string, std::string> fields);
  void tell(Kept& cell, const Event& event);
  void tell_end(Kept& cell, const Execution& execution, const News& news);
  bool monitor_verb(const Asker& asker, const Ask& ask);
  bool desk_verb(const Asker& asker, const Ask& ask);  // keeper_desk.cc

  // Nothing moves while `task` looks at the files. Only of a cell that is not busy.
  void still(Kept& cell, std::string what, std::function<void()> task, std::function<void()> then);
  // Stopped while `task` writes into its layers, and started again where it ran; that is what `then` hears.
  void unmounted(Kept& cell, std::string what, std::function<void()> task, std::function<void(const Result<bool>&)> then);
  // keeper_recover.cc
  Result<void> recover();
  void recover_files(Kept& cell);
  void note_pending(Kept& cell, const std::string& why);
  void finish_pending(Kept& cell);
  bool hold(const Asker& asker, const Ask& ask, std::vector<sys::Fd>& fds);  // true: it is dispatched again later
  Result<void> filled(const Asker& asker, Kept& cell);
  void forget_unfilled(std::uint64_t client);
  Result<void> diff_files(const Asker& asker, Kept& cell, const Ask& ask);
  Result<void> apply_to_project(const Asker& asker, Kept& cell, const Ask& ask);
  Result<void> discard_files(const Asker& asker, Kept& cell, const Ask& ask);
  Result<void> take_snapshot(const Asker& asker, Kept& cell, const Ask& ask);
  Result<void> tell_snapshots(const Asker& asker, Kept& cell, const Ask& ask);
  Result<void> remove_snapshots(const Asker& asker, Kept& cell, const Ask& ask);
  // keeper_fork.cc
  Result<void> may_be_made(const std::string& name) const;
  static CellRecord offspring(const Kept& cell, const std::string& name);
  void adopt(const Asker& asker, CellRecord record, Policy policy, const std::string& upper, bool start_it, std::string applied, Fields fields);
  Result<void> fork_cell(const Asker& asker, Kept& cell, const Ask& ask);
  Result<void> restore_files(const Asker& asker, Kept& cell, const Ask& ask);

  std::string cells_;
  sys::Fd lock_, listener_, epoll_, wakeup_, signals_;
  bool told_to_end_ = false;
  std::string criu_ = "not looked at yet whether CRIU works here";  // criu.h
  std::size_t most_cells_ = kMaxCells;
  std::unique_ptr<Launcher> launcher_;
  std::map<std::uint64_t, Handler> handlers_;
  std::map<std::uint64_t, Client> clients_;
  std::map<std::string, std::unique_ptr<Kept>> kept_;   // by id
  std::vector<std::shared_ptr<DoorProcess>> doors_;      // also those of cells that have ended, until they are gone
  std::uint64_t last_key_ = 0, last_client_ = 0, last_execution_ = 0;
  Clock::time_point idle_since_{};
  std::mutex mutex_;
  std::deque<std::function<void()>> finished_;           // guarded by mutex_
  std::size_t working_ = 0;                              // with those that could not be started yet
  struct Undone {
    std::function<void()> task, then;
  };
  std::deque<std::shared_ptr<Undone>> unstarted_;
  std::shared_ptr<Parking> parking_;                     // none: nothing was ever asked
  std::set<std::pair<std::uint64_t, std::uint64_t>> held_back_;  // askers: client and number
};

}  // namespace hotcell::cells
