// Executions as OpenTelemetry spans: one for the whole, below it what it was made of. Sent in batches as OTLP/HTTP JSON.
#pragma once
#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "hotcell/report.h"
#include "store/history.h"

namespace hotcell::server {

using TraceTime = std::chrono::system_clock::time_point;

struct TraceSpan {
  std::string name;
  TraceTime start, end;
  std::map<std::string, std::string> attributes;
  bool failed = false;
  std::string message;
};
struct TraceTree {
  TraceSpan root;
  std::vector<TraceSpan> children;
  std::string parent;   // a W3C traceparent of the caller; empty or malformed: a trace of its own
};

// execution ─ queue, verify, compile, setup, run: as far as the report knows them. `warm`: the cell was there already, and
// what it was made of took nobody's time but for the handing over.
TraceTree trace_of(const ExecutionRecord& record, const Report& report, bool warm);

// Of the loop's thread. What cannot be sent is dropped and counted, never kept without bound.
class Traces {
 public:
  using Sender = std::function<void(std::string body)>;
  explicit Traces(Sender sender);

  void add(const TraceTree& tree);
  void flush();   // by a timer, every few seconds; also by itself when a batch is full
  std::uint64_t sent() const { return sent_; }

  static constexpr std::size_t kBatch = 512;   // spans, the size the OpenTelemetry SDKs use

 private:
  Sender sender_;
  std::string spans_;   // JSON objects with commas between
  std::size_t count_ = 0;
  std::uint64_t sent_ = 0;
};

}  // namespace hotcell::server
