// What is told of every execution besides its result: to the audit, the metrics, the traces and the log.
#pragma once
#include "manager/executions.h"
#include "server/front/log.h"
#include "server/telemetry/metrics.h"
#include "server/telemetry/traces.h"
#include "store/audit_log.h"

namespace hotcell::server {

class Recorder {
 public:
  Recorder(AuditLog& audit, Metrics& metrics, Traces* traces, const Log& log)
      : audit_(audit), metrics_(metrics), traces_(traces), log_(log) {}
  ExecutionHooks hooks();
  // What was found in the output of a program; `cell`: the lasting one it ran in, else empty.
  void inspected(const OutputInspection& inspection, const std::string& execution, const std::string& client, const std::string& cell);

 private:
  void ended(const ExecutionRecord& record, const Report* report, Nanoseconds waited, bool from_stock);
  void audit(const ExecutionRecord& record, const Report& report);

  AuditLog& audit_;
  Metrics& metrics_;
  Traces* traces_;      // null: nobody wants them
  const Log& log_;
  bool had_launcher_ = false;
};

}  // namespace hotcell::server
