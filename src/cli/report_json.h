// The result object and the event lines: one schema for `run --json`, `--status-fd` and whatever else reports a run.
#pragma once
#include <chrono>
#include <string>

#include "base/json_write.h"
#include "hotcell/report.h"
#include "hotcell/result.h"

namespace hotcell {

std::string rfc3339(std::chrono::system_clock::time_point time);  // UTC, nanoseconds
std::string report_json(const Report& report, JsonStyle style);
std::string event_json(const Event& event);                       // one line, without the line end

// A run that never came to be, in the same shape: status failed, exit_reason sandbox_error.
Report failed_report(const Error& error);

}  // namespace hotcell
