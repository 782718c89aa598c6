// Every execution in SQLite, in the order they were submitted. One writer thread commits what has come together; callers
// never wait for the disk. A row that was begun and never ended belongs to a daemon that stopped.
#pragma once
#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "hotcell/report.h"
#include "hotcell/result.h"
#include "store/database.h"

namespace hotcell {

// What is known of an execution without its output.
struct ExecutionRecord {
  std::uint64_t number = 0;           // grows with each submission: the order of lists, the cursor of pages
  std::string id;
  RunStatus status = RunStatus::kPending;
  std::string exit_reason;            // empty until it has ended
  std::optional<int> exit_code, signal;
  std::string door, client, language, profile, tier;
  std::string command;                // one line for people: the program and its arguments, or the first line of the code
  std::string error;
  std::chrono::system_clock::time_point created, started{}, ended{};  // zero: not yet
  Nanoseconds duration{0}, cpu{0};
  Bytes memory_peak;
  std::uint32_t findings_error = 0, findings_warning = 0, denials = 0;
  std::string idempotency_key;
  // For whoever traces it now; the store does not keep them.
  std::string trace_parent;                 // the caller's traceparent
  std::optional<Nanoseconds> verified_in;   // how long verification kept the program waiting, where it did
  bool ended_already() const { return status != RunStatus::kPending && status != RunStatus::kRunning; }
};

// The large parts, read only when somebody looks at one execution. Each is JSON text; empty when there is none.
struct ExecutionDetails {
  std::string request;  // {"argv"|"language","code",…}: what was asked, with the environment's values left out
  std::string result;   // the result object, output included
  std::string usage;    // [[elapsed_ms,cpu_ns,memory_bytes,disk_bytes,tasks],…], at most 600 points
  std::string events;   // [event,…], at most 1000
};

struct HistoryQuery {
  std::string status{}, language{}, client{}, door{}, exit_reason{};  // empty: any
  std::string text{};                          // part of the command
  std::optional<std::chrono::system_clock::time_point> since{}, until{};
  std::uint64_t before = 0;                    // only numbers below it; 0: from the newest
  std::size_t limit = 50;                      // at most 500
};

struct Retention {
  std::chrono::hours age{24 * 30};
  std::uint64_t rows = 100'000;
  Bytes bytes{1ULL << 30};                     // of details
};

class History {
 public:
  // Brings a database of an older version up to date. Rows of a daemon that stopped become failed, "daemon stopped";
  // `abandoned` says how many. One daemon at a time: kDenied while another has it open.
  static Result<std::unique_ptr<History>> open(const std::string& file, Retention retention);
  virtual ~History() = default;

  using Committed = std::function<void(Result<void>)>;   // from the writer thread, or before end() returns
  // Cheap, and before its program starts: whatever happens to this process, there will be a row of it, ended as one of a daemon
  // that stopped unless begin() or end() has been committed. False: there is no room, begin() it now.
  virtual bool announce(const ExecutionRecord&) { return false; }
  // In the order of calls. A row is announced or begun before its program starts and ended once.
  virtual void begin(ExecutionRecord record, std::string request, Committed done) = 0;
  virtual void end(ExecutionRecord record, ExecutionDetails details, Committed done) = 0;
  virtual void flush() = 0;                              // waits until all of it is committed

  virtual std::string last_error() const { return {}; }  // why nothing can be written just now; empty when it can

  virtual std::uint64_t last_number() const = 0;
  virtual std::uint64_t abandoned() const = 0;
  virtual Result<std::optional<ExecutionRecord>> find(std::string_view id) = 0;
  virtual Result<std::optional<ExecutionRecord>> find_key(std::string_view client, std::string_view idempotency_key) = 0;
  virtual Result<ExecutionDetails> details(std::string_view id) = 0;
  virtual Result<std::vector<ExecutionRecord>> list(const HistoryQuery& query) = 0;   // newest first
  virtual Result<void> clean_up() = 0;                   // retention; also now and then by the writer itself
};

}  // namespace hotcell
