// The result object and the event lines: one schema for `run --json`, `--status-fd` and whatever else reports a run.
#pragma once
#include <chrono>
#include <optional>
#include <string>

#include "base/json_write.h"
#include "base/time_text.h"
#include "hotcell/report.h"
#include "hotcell/result.h"
#include "manager/output_inspection.h"

namespace hotcell {

std::string report_json(const Report& report, JsonStyle style, const std::optional<OutputInspection>& inspection = {});
std::string event_json(const Event& event);                       // one line, without the line end

// What the result says in `error`. Of what was ended from outside always the same words, which callers compare: "execution
// timeout", "execution killed", "resource limit exceeded: memory".
std::string result_error(const Report& report);

// A run that never came to be, in the same shape: status failed, exit_reason sandbox_error.
Report failed_report(const Error& error);

}  // namespace hotcell
