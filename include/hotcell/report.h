// The account of one run: how it ended, what it used, what held, what was refused.
#pragma once
#include <array>
#include <chrono>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "hotcell/layer.h"
#include "hotcell/units.h"

namespace hotcell {

enum class RunStatus : std::uint8_t { kPending, kRunning, kCompleted, kFailed, kTimeout, kKilled };
enum class ExitReason : std::uint8_t {
  kExited, kSignal, kTimeoutWall, kTimeoutCpu, kMemory, kOutput, kProcesses, kDisk, kPolicy, kCancelled, kSandboxError,
  kCompileError, kVerification,
};
std::string_view to_string(RunStatus status);
std::string_view to_string(ExitReason reason);
RunStatus status_of(ExitReason reason, int exit_code);

// How the program ended. Never an Error of ours.
struct Verdict {
  ExitReason reason = ExitReason::kExited;
  std::optional<int> exit_code;  // empty when signalled
  std::optional<int> signal;
  RunStatus status() const { return status_of(reason, exit_code.value_or(1)); }
  int cli_exit_code() const;     // 124, 137, 159, 128+N or its own
};

struct Usage {
  Nanoseconds cpu{0}, cpu_user{0}, cpu_system{0};
  Bytes memory_peak;
  // Fetched from and handed to disks by the whole tree. What the page cache has or a tmpfs holds is in neither.
  Bytes io_read, io_written;
  std::uint32_t processes_peak = 0;
};

// What a program uses at one moment of its life.
struct LiveUsage {
  Nanoseconds elapsed{0}, cpu{0};
  Bytes memory;              // of all its processes; private files are `disk`
  Bytes disk;                // held in the private folders now; of a lasting cell: in open files without a name; 0 where they cannot be measured (landlock backend)
  std::uint32_t tasks = 0;
  Bytes io_read, io_written; // of a lasting cell: fetched from and handed to disks so far
};

enum class LayerStatus : std::uint8_t { kFull, kPartial, kNone };
std::string_view to_string(LayerStatus status);
struct LayerReport {
  Layer layer;
  LayerStatus status = LayerStatus::kNone;
  std::string detail;  // what is missing, or what was read back
};
struct Enforcement {
  std::string backend;
  std::vector<LayerReport> layers;
  const LayerReport* find(Layer layer) const;
};

struct Denial {
  std::string layer;    // "seccomp", "landlock", "proxy"
  std::string what;     // one sentence
  std::string subject;  // the syscall, path or host
  std::string fix;      // the line that would allow it, empty when nothing should
  std::uint64_t count = 1;
};

struct Event {
  std::string type;  // sandbox.created, execution.started, limit.warning, …
  std::string id;
  std::chrono::system_clock::time_point time;
  std::map<std::string, std::string> fields;
};

struct Finding {
  std::string rule, type, severity, file, message, snippet, fix;
  int line = 0, column = 0;
};

// A file that came out of a workspace.
struct OutputFile {
  std::string name, bytes;
  bool executable = false;
};

// What a program has to show besides its text (Request::rich). The bytes are the program's own: html and svg may hold
// scripts, so whoever shows them does it in a place that has nothing to lose.
enum class RichType : std::uint8_t { kPng, kSvg, kHtml, kJson, kText };
std::string_view to_string(RichType type);
struct RichOutput {
  RichType type = RichType::kText;
  std::string name;   // figure-1.png, value.html; letters, digits, '.', '-' and '_'
  std::string bytes;
};

// The compile step of a run, in a cell of its own.
struct Diagnostic {
  std::string file;  // as the caller named it
  int line = 0, column = 0;
  std::string severity;  // error, warning, note
  std::string message;
};
struct CompileReport {
  std::vector<std::string> command;
  ExitReason reason = ExitReason::kExited;
  std::optional<int> exit_code;
  Nanoseconds duration{0};
  bool cached = false;  // not compiled now: the artefact was there
  std::vector<Diagnostic> diagnostics;
  std::string err;      // what the compiler said, bounded
};

struct Report {
  std::string id;
  Verdict verdict;
  std::string error;  // empty unless something is worth a sentence
  std::string out, err;
  std::uint64_t out_bytes = 0, err_bytes = 0;
  bool out_truncated = false, err_truncated = false;
  std::chrono::system_clock::time_point start_time, end_time;
  Nanoseconds duration{0};
  Usage usage;
  Enforcement enforcement;
  std::vector<Denial> denials;
  bool denials_complete = false;
  std::vector<std::string> notices;      // nothing was refused, and somebody should look at it: sentences of the proxy
  std::vector<Finding> findings;
  std::vector<OutputFile> files;         // what Request::outputs asked for
  std::vector<RichOutput> outputs;       // what Request::rich asked for
  std::optional<CompileReport> compile;  // where the language has such a step
  std::vector<std::pair<std::string, Nanoseconds>> setup_ns;
};

}  // namespace hotcell
