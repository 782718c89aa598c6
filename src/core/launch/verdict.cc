#include "hotcell/report.h"

#include <array>

namespace hotcell {

std::string_view to_string(RunStatus status) {
  static constexpr std::array<std::string_view, 6> kNames = {"pending", "running", "completed", "failed", "timeout", "killed"};
  return kNames[static_cast<std::size_t>(status)];
}

std::string_view to_string(ExitReason reason) {
  static constexpr std::array<std::string_view, 13> kNames = {"exited", "signal", "timeout_wall", "timeout_cpu", "memory", "output", "processes",
                                                              "disk", "policy", "cancelled", "sandbox_error", "compile_error", "verification"};
  return kNames[static_cast<std::size_t>(reason)];
}

std::string_view to_string(LayerStatus status) {
  static constexpr std::array<std::string_view, 3> kNames = {"full", "partial", "none"};
  return kNames[static_cast<std::size_t>(status)];
}

std::string_view to_string(RichType type) {
  static constexpr std::array<std::string_view, 5> kNames = {"png", "svg", "html", "json", "text"};
  return kNames[static_cast<std::size_t>(type)];
}

RunStatus status_of(ExitReason reason, int exit_code) {
  switch (reason) {
    case ExitReason::kExited: return exit_code == 0 ? RunStatus::kCompleted : RunStatus::kFailed;
    case ExitReason::kTimeoutWall:
    case ExitReason::kTimeoutCpu: return RunStatus::kTimeout;
    case ExitReason::kMemory:
    case ExitReason::kOutput:
    case ExitReason::kProcesses:
    case ExitReason::kDisk:
    case ExitReason::kPolicy:
    case ExitReason::kCancelled: return RunStatus::kKilled;
    case ExitReason::kSignal:
    case ExitReason::kSandboxError:
    case ExitReason::kCompileError:
    case ExitReason::kVerification: return RunStatus::kFailed;
  }
  return RunStatus::kFailed;
}

int Verdict::cli_exit_code() const {
  switch (reason) {
    case ExitReason::kExited: return exit_code.value_or(125);
    case ExitReason::kSignal: return 128 + signal.value_or(0);
    case ExitReason::kTimeoutWall:
    case ExitReason::kTimeoutCpu: return 124;
    case ExitReason::kMemory:
    case ExitReason::kOutput:
    case ExitReason::kProcesses:
    case ExitReason::kDisk:
    case ExitReason::kCancelled: return 137;
    case ExitReason::kPolicy: return 159;
    case ExitReason::kCompileError: return 1;
    case ExitReason::kSandboxError:
    case ExitReason::kVerification: return 125;
  }
  return 125;
}

const LayerReport* Enforcement::find(Layer layer) const {
  for (const auto& l : layers)
    if (l.layer == layer) return &l;
  return nullptr;
}

}  // namespace hotcell
