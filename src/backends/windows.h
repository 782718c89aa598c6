// Windows: command lines that start a program in a Job Object or under codex there. Pure: made and tested anywhere, run only there.
#pragma once
#include <string>
#include <string_view>
#include <vector>

#include "backends/backend.h"
#include "hotcell/policy.h"
#include "hotcell/result.h"

namespace hotcell::backends {

// One command line of an argv, so that CommandLineToArgvW gives the same argv back.
Result<std::string> windows_command_line(const std::vector<std::string>& argv);

// What JOBOBJECT_EXTENDED_LIMIT_INFORMATION and the UI restrictions are set to.
struct JobLimits {
  std::uint64_t process_memory = 0, job_memory = 0;
  std::uint64_t job_time_100ns = 0;     // PerJobUserTimeLimit
  std::uint32_t active_processes = 0;
  std::uint32_t limit_flags = 0, ui_flags = 0;
  bool operator==(const JobLimits&) const = default;
};
JobLimits job_limits(const Policy& policy);

// The helper of a Windows build (there is none in this version): it makes the job, sets the limits, starts the
// program suspended, assigns it and only then lets it run.
Result<std::vector<std::string>> job_command(const Policy& policy, std::string_view workspace, const std::vector<std::string>& argv,
                                             const std::vector<std::string>& waived = {});
std::vector<Held> job_judge(const Policy& policy);
// `codex sandbox windows`. It has no switch of its own for the network being on: such a policy is refused.
Result<std::vector<std::string>> windows_codex_command(const Policy& policy, std::string_view codex, const std::vector<std::string>& argv);

}  // namespace hotcell::backends
