// What was refused, and by which layer: OCSF findings, one JSON object per line, in `audit.jsonl` of the state folder.
//
// Each line names the hash of the one before (`prev`) and its own (`hash`, SHA-256 over everything before it, `prev`
// included), so a line cannot be changed, taken out or moved without all that follow. How many there are and the last
// hash are also kept in the database, so lines cannot be cut off at the end either. Whoever may write both could make a
// new chain: ship the lines elsewhere where that matters.
//
// append() never waits; a thread writes. A line is in the file at once and counted in the database within a tenth of a
// second, after the file has been synchronised.
#pragma once
#include <chrono>
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "hotcell/result.h"
#include "hotcell/units.h"

namespace hotcell {

enum class AuditEffect : std::uint8_t { kEnforced, kObserved };  // kept from happening, or only seen
enum class AuditSeverity : std::uint8_t { kInfo = 1, kLow, kMedium, kHigh, kCritical };

struct AuditEvent {
  std::string layer, action;        // "seccomp", "syscall_denied"
  AuditEffect effect = AuditEffect::kEnforced;
  AuditSeverity severity = AuditSeverity::kInfo;
  std::string message;              // one sentence
  std::map<std::string, std::string> details{};
  std::string execution{}, client{};
  std::chrono::system_clock::time_point time = std::chrono::system_clock::now();
};

struct AuditOptions {
  Bytes file_size = 4_MiB;          // then the next file is begun
  std::size_t keep_files = 64;      // the oldest go first
  std::size_t queue = 100'000;      // events that may wait for a disk that takes none; those lost are counted in the log
};

class AuditLog {
 public:
  // Several processes may write one log (the daemon, the keeper of cells, who answers its questions): each batch is appended
  // under a lock, behind whatever the others have written. A line that a crash left unfinished is removed.
  static Result<std::unique_ptr<AuditLog>> open(const std::string& folder, AuditOptions options = {});
  virtual ~AuditLog() = default;    // all of it is written before

  virtual void append(AuditEvent event) = 0;         // from any thread
  virtual void flush() = 0;                          // waits until all of it is written and counted, or cannot be
  virtual void write_out(std::chrono::milliseconds at_most) = 0;  // until all of it can be read; sooner when it cannot be written
  virtual std::uint64_t entries() const = 0;         // in the chain so far, removed files included
  virtual std::string last_error() const = 0;        // why nothing can be written just now; empty when it can
};

struct AuditVerdict {
  std::uint64_t entries = 0;        // that are there and good
  bool ok = true;
  std::string file;                 // where the first bad line is
  std::uint64_t line = 0;           // in that file, from 1
  std::string why;                  // one sentence
};
// While a daemon writes, too. An error means that it could not be looked at.
Result<AuditVerdict> verify_audit(const std::string& folder);

struct AuditLine {
  std::uint64_t number = 0;         // the place in the chain, from 1
  std::string json;
};
// Newest first, numbers below `before` (0: from the newest).
Result<std::vector<AuditLine>> read_audit(const std::string& folder, std::uint64_t before, std::size_t limit);

}  // namespace hotcell
