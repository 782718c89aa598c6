// What became of a cell's requests, told in the report of its run.
#pragma once
#include <functional>
#include <vector>

#include "hotcell/report.h"
#include "net/log.h"

namespace hotcell::net {

// Refusals as denials, each host and rule once with its count, and what was noticed; every request as an event.
void tell_report(const std::vector<LogEntry>& entries, const std::vector<Refusal>& refusals, const Stats& stats, Report& report,
                 const std::function<void(const Event&)>& on_event);

// The same as text for another process of ours: a line for each, fields between tabs.
std::string denial_lines(const std::vector<Refusal>& refusals, const std::vector<std::string>& notices);
void read_denial_lines(std::string_view text, Report& report);

}  // namespace hotcell::net
