// What REST and MCP can have done to lasting cells. Everything is asked of the keeper and answered later, on the loop.
//
// Whoever is no admin has only cells of their own: the front writes who made a cell into a label that nobody else can give.
#pragma once
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "hotcell/report.h"
#include "manager/executions.h"
#include "manager/job.h"
#include "server/cells/cell_run.h"
#include "server/cells/keeper_link.h"
#include "server/http/exchange.h"
#include "server/json/json_value.h"

namespace hotcell::server {

inline constexpr std::string_view kOwnerLabel = "hotcell.client";

struct CellSpec {
  JobSpec job;                       // profile, limits, network, env, files; no program
  std::string name, project;
  std::map<std::string, std::string> labels;
  Nanoseconds ttl{0}, idle_pause{0}; // zero: none
  bool stopped = false;
  bool phases = false;               // a network at first, none for good once it is sealed
  std::string decisions;             // what is asked about: "standard", or YAML
  std::string tar;                   // unpacked into /work, beside the files
};

// One cell, as the keeper has just described it.
struct CellView {
  std::string id, name, status, json;
  Bytes output;
  Nanoseconds wall{0};
  Enforcement enforcement;
};

// A program that was started without anybody waiting for it, for as long as this front lives.
struct KeptRun {
  std::string id, cell, command;
  std::shared_ptr<CellRun> run;
  std::string result;                // JSON; empty while it runs
};

struct FileEntry {
  std::string type, mode, name, target;   // type: file folder symlink fifo socket other
  std::uint64_t size = 0;
  std::string modified;              // seconds since 1970
};

class CellDoor {
 public:
  CellDoor(KeeperLink& link, std::function<const JobRules&()> rules) : link_(link), rules_(std::move(rules)) {}

  template <typename T>
  using Done = std::function<void(Result<T>)>;

  void find(const Caller& caller, const std::string& name, Done<CellView> done);
  void list(const Caller& caller, Done<JsonValue> done);                       // an array, newest first
  void create(const Caller& caller, CellSpec spec, Done<std::string> done);   // as inspect
  // One question about a cell that was found. Somebody may have to approve what is asked for: `waiting` is told so.
  using Waiting = std::function<void(const std::string& question, const std::string& reason)>;
  std::uint64_t ask(const std::string& id, std::string verb, cells::Fields fields, std::vector<std::string> words, Done<cells::Told> done, Waiting waiting = nullptr);
  // Whoever asked is gone: what has not begun does not begin, whoever approves it later; a call of a context is interrupted. What is
  // under way otherwise goes on, and `done` is called in any case.
  void withdraw(std::uint64_t asked) { link_.tell(asked, "kill", {"cancelled"}); }

  // Of programs, commands and calls in cells that somebody waits for.
  std::size_t waited_for() const { return static_cast<std::size_t>(waited_.use_count() - 1); }

  // No door's program runs for longer than `limits.max_timeout`, in a lasting cell neither: nobody waits longer for it. What is
  // left running (keep) with a timeout below zero lasts as long as its cell, as a job of a shell in it does.
  // `limits` of the spec that are zero come from the cell. The caller keeps the run as long as it wants it.
  using Ran = std::function<void(Result<Report>, const std::optional<OutputInspection>&)>;
  std::shared_ptr<CellRun> exec(const CellView& cell, CellRunSpec spec, CellRun::Output output, Ran done);
  // One run of the cell's file agent; what it says on stderr is the error, with an errno that tells doors what to answer.
  // `in`: all of what it reads, or null when that comes by CellRun::feed.
  std::shared_ptr<CellRun> files(const std::string& id, std::vector<std::string> words, std::optional<std::string> in, CellRun::Output output, Bytes most, Done<Report> done);

  // wait=false
  Result<std::string> keep(const CellView& cell, CellRunSpec spec);
  const KeptRun* kept(const std::string& cell, const std::string& id) const;
  std::vector<const KeptRun*> kept(const std::string& cell) const;             // newest first
  Result<void> kill(const std::string& cell, const std::string& id);

  // Events of a cell, one JSON object each, from `ready` on. `ended`: the keeper went. Until the subscription is dropped.
  struct Listener {
    std::function<void()> ready;
    std::function<void(const std::string&)> event;
    std::function<void(const Error&)> ended;
  };
  std::shared_ptr<void> listen(const std::string& cell, Listener listener);

  // Looks at what a program in `cell` wrote, and tells the audit; the front sets it. Without one, what is to be inspected fails.
  std::function<void(Report report, OutputOrder order, std::string client, std::string cell, Executions::Inspected done)> inspect;

  KeeperLink& link() { return link_; }
  std::size_t terminals = 0;                                                   // open ones, of all clients

 private:
  struct Feed {
    bool ready = false;
    std::uint64_t last = 0;
    std::map<std::uint64_t, Listener> listeners;
  };
  void fill(const CellView& cell, CellSpec spec, Done<std::string> done);

  std::shared_ptr<CellRun> start(const CellView& cell, CellRunSpec spec, CellRun::Output output, Ran done);
  Nanoseconds clamp(const CellView& cell, Nanoseconds timeout) const;

  KeeperLink& link_;
  std::function<const JobRules&()> rules_;
  std::shared_ptr<int> waited_ = std::make_shared<int>();   // held by whatever is waited for
  std::deque<std::shared_ptr<KeptRun>> kept_;                                  // oldest first
  std::map<std::uint64_t, std::shared_ptr<CellRun>> busy_;                     // of our own
  std::uint64_t last_busy_ = 0;
  std::map<std::string, std::shared_ptr<Feed>> feeds_;                         // by cell; kept once there was a listener
};

Error no_such_run();                                                           // of those that keep() started
CellView read_view(const JsonValue& cell, std::string json);
std::vector<FileEntry> read_entries(std::string_view listing);                 // of the agent's `list` and `stat`
std::string entries_json(const std::vector<FileEntry>& entries);
// Inside a cell: relative paths are below /work. No "..": what a path leads to is the cell's own business, but nobody should
// have to think about it.
Result<std::string> cell_path(std::string_view said);
std::string tar_of(const std::vector<JobFile>& files);

}  // namespace hotcell::server
