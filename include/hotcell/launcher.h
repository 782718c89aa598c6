// Starts, watches, measures and ends cells. Single-threaded: one Launcher belongs to one thread, and its cells die
// with that thread (PDEATHSIG); a second, its own, only takes apart what dead cells leave. SIGCHLD must not be ignored:
// the kernel would reap cells before it is told how they ended. A daemon gives it a process of its own; a one-shot CLI is its own launcher.
#pragma once
#include <chrono>
#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "hotcell/policy.h"
#include "hotcell/report.h"
#include "hotcell/request.h"
#include "hotcell/result.h"

namespace hotcell {

struct LauncherOptions {
  std::string backend = "native";  // or "landlock": no namespaces, for places that forbid them
  std::string init_path;           // empty: the embedded one
  bool sweep = true;               // remove what a crashed launcher left behind
};

using RunId = std::uint64_t;

class Launcher {
 public:
  using Done = std::function<void(RunId, Result<Report>)>;

  static Result<std::unique_ptr<Launcher>> create(LauncherOptions options = {});
  virtual ~Launcher() = default;

  // One run, start to verdict, in the calling thread.
  Result<Report> run(const Policy& policy, Request request);

  // Many at once: start them, then step until their callbacks have been called.
  virtual Result<RunId> start(const Policy& policy, Request request, Done done) = 0;
  virtual Result<void> step(std::chrono::milliseconds at_most) = 0;
  virtual void cancel(RunId id) = 0;   // safe in a signal handler's aftermath, not inside one
  // Every process of the cell stops where it is, or goes on. Its wall clock runs on. Needs a cgroup.
  virtual Result<void> freeze(RunId id, bool frozen) = 0;
  // Something begins in a cell that lasts and was quiet: its usage is looked at soon, not when it would be next.
  virtual void attend(RunId) {}
  virtual std::size_t running() const = 0;
  virtual int poll_fd() const = 0;     // readable when step() has something to do

  // Keep `count` finished cells waiting for requests of exactly this policy; native ones serve those with another
  // Policy::on_output, too. step() refills in idle time.
  virtual Result<void> park(const Policy& policy, std::size_t count) = 0;
  virtual std::size_t parked(const Policy& policy) const = 0;

  // The same with a runtime already started in each: for requests that name it (Request::runtime).
  virtual Result<void> park(const Policy& policy, std::shared_ptr<const Runtime> runtime, std::size_t count) = 0;
  virtual std::size_t parked(const Policy& policy, const Runtime& runtime) const = 0;

  // Lets go of what is kept for speed alone: templates, plans and cgroups for later requests. Parked cells stay.
  virtual void trim() = 0;
};

// The plan as text or JSON: every kernel operation in order, and what is missing here. Runs nothing.
Result<std::string> explain_text(const Policy& policy, const Request& request, const LauncherOptions& options = {});
Result<std::string> explain_json(const Policy& policy, const Request& request, const LauncherOptions& options = {});

// Irreversible: this process, all of its threads, and everything it starts.
struct ConfineOptions {
  std::vector<std::string> read_only, read_write;
  bool seccomp = true;
  bool allow_network = false;  // TCP bind and connect
  // A server that starts nothing, and was given its listening sockets: no exec, no second process (threads are fine), no
  // capabilities, no signals to others, no new names for files outside, and connections to `connect_ports` alone.
  bool alone = false;
  std::vector<std::uint16_t> connect_ports;
  bool dial = false;           // with `alone`: connections to any port, and datagrams for name servers
};
Result<Enforcement> confine_self(const ConfineOptions& options);

std::string_view version();

}  // namespace hotcell
