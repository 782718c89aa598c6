// Executions for a program of your own, as the daemon has them: queued with a fair share for each client, run at most N at a
// time in cells, remembered across restarts.
//
//   submit ─> queue ─> verified, compiled, run in a cell ─> history ─> whoever awaits it
//
// A Manager has a thread and a launcher process of its own (hotcell-launcher); one that dies is replaced, and what ran in it has
// failed. Every function may be called from any thread. What a front of the daemon could not do is not to be had here either:
// no caller of submit() gets past the ceiling that ManagerOptions states.
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

#include "hotcell/policy.h"
#include "hotcell/report.h"
#include "hotcell/result.h"

namespace hotcell {

struct ManagerOptions {
  std::string state_folder;          // history and cache; made when it is not there. One Manager at a time
  std::string programs;              // where hotcell-launcher and hotcell-verify are; empty: beside this program, or ../libexec/hotcell
  std::size_t max_running = 0;       // cells at once; 0: twice the CPUs, at least 4
  std::size_t max_queued = 1024;     // all clients together; past it submit() fails with kLimit
  std::size_t max_queued_each = 256;
  std::size_t park_cells = 0;        // finished cells kept waiting for the default profile
  std::map<std::string, std::size_t> park_runtimes;  // interpreters kept waiting: {"python", 1}
  std::string default_profile = "default";
  Limits most = {.memory = 1_GiB, .disk = 1_GiB, .processes = 256, .open_files = 4096, .address_space = {}};  // what a submission may ask for at most
  Nanoseconds default_timeout = std::chrono::minutes(5), max_timeout = std::chrono::minutes(5);
};

// A program with its arguments, or a language with code: exactly one of the two.
struct Submission {
  std::vector<std::string> argv;
  std::string language, code;
  std::vector<std::string> args;              // of the code
  std::map<std::string, std::string> files;   // below /work
  std::map<std::string, std::string> env;
  std::string workdir, stdin_bytes, profile;
  std::optional<Nanoseconds> timeout;         // clamped to the maximum
  std::optional<Bytes> memory;                // may tighten, not exceed
  bool verify = true;
  std::string client = "local";               // whose share of the queue it is
  std::string idempotency_key;                // the same key of the same client again means the same execution
};

// One execution, as far as it has come.
struct Execution {
  std::string id;                             // cannot be guessed
  RunStatus status = RunStatus::kPending;
  std::string exit_reason;                    // empty until it has ended
  std::optional<int> exit_code, signal;
  std::string error;                          // "execution timeout", "execution killed", or why it never ran
  std::string client, language, profile, command;
  std::chrono::system_clock::time_point created, started, ended;  // the epoch: not yet
  Nanoseconds duration{0}, cpu{0};
  Bytes memory_peak;
  std::uint64_t number = 0;                   // grows with each: where the next page begins
  bool has_ended() const { return status != RunStatus::kPending && status != RunStatus::kRunning; }
};

struct ExecutionFilter {
  std::string client, language, exit_reason;  // empty: any
  std::optional<RunStatus> status;
  std::uint64_t before = 0;                   // only numbers below it; 0: from the newest
  std::size_t limit = 50;                     // at most 500
};

// state, stdout, stderr, usage, event, and at the end done; `data` is one JSON object in one line.
struct ExecutionEvent {
  std::uint64_t seq = 0;                      // from 1
  std::string type, data;
};

class Manager {
 public:
  static Result<std::unique_ptr<Manager>> create(ManagerOptions options);
  // Ends what runs, waits for it and for its launcher.
  virtual ~Manager() = default;

  // The id, once it is in the history: it is never lost from then on. kLimit: too much waits already, try again later;
  // kInvalid, kNotFound, kUnsupported: what is wrong with it.
  virtual Result<std::string> submit(Submission submission) = 0;
  // When it has ended; kCancelled when that takes longer than `at_most`. kNotFound: no such id.
  virtual Result<Execution> await(const std::string& id, std::chrono::milliseconds at_most = std::chrono::hours(24)) = 0;
  virtual Result<Execution> status(const std::string& id) = 0;
  // The result object, as `hotcell run --json` writes it. kInvalid: it has not ended.
  virtual Result<std::string> result(const std::string& id) = 0;
  // kNotFound; kInvalid when it has ended already.
  virtual Result<void> kill(const std::string& id) = 0;
  virtual Result<std::vector<Execution>> list(const ExecutionFilter& filter = {}) = 0;  // newest first
  // What is still kept, then what comes, until `done` was told. On the Manager's thread: it must not wait there for the Manager.
  virtual Result<void> follow(const std::string& id, std::function<void(const ExecutionEvent&)> told) = 0;

  // No more submissions; returns when nothing runs any more, which is forced after `at_most`.
  virtual void drain(std::chrono::milliseconds at_most) = 0;
};

}  // namespace hotcell
