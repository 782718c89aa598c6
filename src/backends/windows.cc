#include "backends/windows.h"

#include "base/strings.h"

namespace hotcell::backends {
namespace {

// winnt.h
constexpr std::uint32_t kJobTime = 0x4, kActiveProcess = 0x8, kProcessMemory = 0x100, kJobMemory = 0x200, kDieOnException = 0x400, kKillOnClose = 0x2000;
constexpr std::uint32_t kUiHandles = 0x1, kUiReadClipboard = 0x2, kUiWriteClipboard = 0x4, kUiSystemParameters = 0x8, kUiDisplay = 0x10, kUiAtoms = 0x20, kUiDesktop = 0x40,
                        kUiExit = 0x80;

// Backslashes count only before a quote; there each becomes two.
std::string word_of(std::string_view word) {
  if (!word.empty() && word.find_first_of(" \t\n\v\"") == word.npos) return std::string(word);
  std::string out = "\"";
  std::size_t slashes = 0;
  for (char c : word) {
    if (c == '\\') {
      ++slashes;
      continue;
    }
    out.append(c == '"' ? 2 * slashes + 1 : slashes, '\\');
    slashes = 0;
    out += c;
  }
  out.append(2 * slashes, '\\');
  return out + "\"";
}

}  // namespace

Result<std::string> windows_command_line(const std::vector<std::string>& argv) {
  if (argv.empty() || argv[0].empty()) return make_error(ErrorCode::kInvalid, "nothing to run");
  // The first word is taken apart by another rule, which knows no escaped quote.
  if (argv[0].find('"') != std::string::npos) return make_error(ErrorCode::kInvalid, "the name of a program cannot have a quote in it");
  std::string out;
  for (const auto& word : argv) {
    if (word.find('\0') != std::string::npos) return make_error(ErrorCode::kInvalid, "a word with a zero byte ends the command line");
    out += cat(out.empty() ? "" : " ", &word == &argv[0] && word.find_first_of(" \t") != std::string::npos ? cat("\"", word, "\"") : word_of(word));
  }
  if (out.size() > 32767) return make_error(ErrorCode::kInvalid, "the command line is longer than the 32767 characters Windows takes");
  return out;
}

JobLimits job_limits(const Policy& policy) {
  JobLimits out;
  out.process_memory = out.job_memory = policy.limits.memory.n;
  out.job_time_100ns = static_cast<std::uint64_t>(policy.limits.cpu_time.count() / 100);
  out.active_processes = policy.limits.processes;
  // No breakaway flag: a child is in the job, whatever it asks for.
  out.limit_flags = kJobTime | kActiveProcess | kProcessMemory | kJobMemory | kDieOnException | kKillOnClose;
  out.ui_flags = kUiHandles | kUiReadClipboard | kUiWriteClipboard | kUiSystemParameters | kUiDisplay | kUiAtoms | kUiDesktop | kUiExit;
  return out;
}

Result<std::vector<std::string>> job_command(const Policy& policy, std::string_view workspace, const std::vector<std::string>& argv) {
  if (argv.empty() || argv[0].empty()) return make_error(ErrorCode::kInvalid, "nothing to run");
  // A job limits and ends; it hides no file and shuts no network.
  if (!policy.filesystem.deny.empty()) return make_error(ErrorCode::kUnsupported, "a job object cannot hold deny: it hides no file");
  JobLimits l = job_limits(policy);
  std::vector<std::string> out = {"hotcell-job.exe",
                                  cat("--limit-flags=", l.limit_flags),
                                  cat("--ui-flags=", l.ui_flags),
                                  cat("--process-memory=", l.process_memory),
                                  cat("--job-memory=", l.job_memory),
                                  cat("--job-time=", l.job_time_100ns),
                                  cat("--active-processes=", l.active_processes),
                                  cat("--wall-ms=", std::chrono::duration_cast<std::chrono::milliseconds>(policy.limits.wall).count()),
                                  cat("--directory=", workspace),
                                  "--restricted-token",
                                  "--"};
  out.insert(out.end(), argv.begin(), argv.end());
  return out;
}

Result<std::vector<std::string>> windows_codex_command(const Policy& policy, std::string_view codex, const std::vector<std::string>& argv) {
  if (argv.empty() || argv[0].empty()) return make_error(ErrorCode::kInvalid, "nothing to run");
  if (policy.network.mode != NetworkMode::kNone) return make_error(ErrorCode::kUnsupported, "codex cannot hold network: it has no rules for one that is on");
  if (!policy.filesystem.deny.empty()) return make_error(ErrorCode::kUnsupported, "codex cannot hold deny: it has no masks");
  std::vector<std::string> out = {std::string(codex), "sandbox", "windows"};
  if (policy.filesystem.writable_scratch) out.emplace_back("--full-auto");
  out.emplace_back("--");
  out.insert(out.end(), argv.begin(), argv.end());
  return out;
}

}  // namespace hotcell::backends
