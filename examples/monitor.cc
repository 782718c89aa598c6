// Watching a run: a warning when four fifths of a limit are used, the end when all of it is, the figures afterwards.
// The same judgement is a class of its own, UsageMonitor, for those who have samples from elsewhere.
#include <cstdio>
#include <string>

#include "hotcell/launcher.h"
#include "hotcell/usage_monitor.h"

using namespace hotcell;

namespace {

void print(const Event& event) {
  std::printf("%s", event.type.c_str());
  for (const auto& [name, value] : event.fields) std::printf(" %s=%s", name.c_str(), value.c_str());
  std::printf("\n");
}

Result<bool> watch_a_cell() {
  Policy policy = default_policy();
  policy.limits.cpu_time = std::chrono::seconds(1);
  int warnings = 0;
  Request request;
  request.argv = {"/bin/sh", "-c", "while :; do :; done"};
  request.on_event = [&](const Event& event) {
    print(event);
    warnings += event.type == "limit.warning" && event.fields.at("limit_type") == "cpu_time";
  };
  TRY_SET(auto launcher, Launcher::create());
  TRY_SET(Report report, launcher->run(policy, request));
  std::printf("ended for %s after %lld ms of CPU, at most %llu KiB, %u task(s)\n", std::string(to_string(report.verdict.reason)).c_str(),
              static_cast<long long>(report.usage.cpu.count() / 1'000'000), static_cast<unsigned long long>(report.usage.memory_peak.n >> 10),
              report.usage.processes_peak);
  UsageMonitor afterwards(policy.limits);
  afterwards.update(report.usage, report.duration);
  return report.verdict.reason == ExitReason::kTimeoutCpu && warnings == 1 && afterwards.exceeded() == ExitReason::kTimeoutCpu;
}

// Five samples as a container runtime or a log might bring them.
bool replay_samples() {
  Limits limits;
  limits.memory = 100_MiB;
  UsageMonitor monitor(limits, "replay");
  std::size_t warnings = 0;
  for (unsigned mib : {10, 60, 85, 95, 101}) {
    Usage usage;
    usage.memory_peak = {std::uint64_t{mib} << 20};
    monitor.update(usage, std::chrono::milliseconds(mib));
    for (const auto& event : monitor.take_warnings()) print(event), ++warnings;
    std::printf("%u MiB: %s\n", mib, monitor.exceeded() ? "over the limit" : "fine");
  }
  return warnings == 1 && monitor.exceeded() == ExitReason::kMemory;
}

}  // namespace

int main() {
  auto watched = watch_a_cell();
  if (!watched.ok()) std::fprintf(stderr, "%s\n", watched.error().message.c_str());
  return watched.ok() && watched.value() && replay_samples() ? 0 : 1;
}
