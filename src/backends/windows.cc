#include "backends/windows.h"

#include <algorithm>

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

// A batch file, in every spelling that Windows takes for one: it drops dots and blanks at the end, and a stream's name.
bool is_batch(std::string_view name) {
  name = name.substr(name.find_last_of("/\\") == name.npos ? 0 : name.find_last_of("/\\") + 1);
  name = name.substr(0, name.find(':'));
  while (name.ends_with('.') || name.ends_with(' ')) name.remove_suffix(1);
  std::string end(name.substr(name.size() < 4 ? 0 : name.size() - 4));
  for (char& c : end) c = c >= 'A' && c <= 'Z' ? static_cast<char>(c + 32) : c;
  return end == ".bat" || end == ".cmd";
}

}  // namespace

Result<std::string> windows_command_line(const std::vector<std::string>& argv) {
  if (argv.empty() || argv[0].empty()) return make_error(ErrorCode::kInvalid, "nothing to run");
  // The first word is taken apart by another rule, which knows no escaped quote.
  if (argv[0].find('"') != std::string::npos) return make_error(ErrorCode::kInvalid, "the name of a program cannot have a quote in it");
  if (std::any_of(argv[0].begin(), argv[0].end(), [](unsigned char c) { return c < 0x20; }))
    return make_error(ErrorCode::kInvalid, "the name of a program cannot have control characters in it");
  if (is_batch(argv[0])) return make_error(ErrorCode::kInvalid, cat(printable(argv[0]), ": a batch file is read by cmd.exe, where no way to write an argument is safe"));
  std::string out;
  for (const auto& word : argv) {
    if (word.find('\0') != std::string::npos) return make_error(ErrorCode::kInvalid, "a word with a zero byte ends the command line");
    out += cat(out.empty() ? "" : " ", &word == &argv[0] && word.find_first_of(" \t") != std::string::npos ? cat("\"", word, "\"") : word_of(word));
  }
  if (out.size() > 32766) return make_error(ErrorCode::kInvalid, "the command line is longer than the 32766 characters Windows takes");
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

std::vector<Held> job_judge(const Policy& p) {
  const auto none = LayerStatus::kNone, partial = LayerStatus::kPartial, full = LayerStatus::kFull;
  bool open = p.network.mode == NetworkMode::kHost;
  return {{"files", none, "a job hides no file; the restricted token only takes rights away"},
          {"deny", p.filesystem.deny.empty() ? full : none, "a job hides no file"},
          {"network", open ? full : none, open ? "the host's, as asked for" : "a job shuts no network"},
          {"syscalls", none, "a job filters no calls"},
          {"processes", full, "the job's ceiling"},
          {"memory", full, "the job's ceiling"},
          {"cpu", full, "user time of the whole job"},
          {"disk", partial, "the workspace by samples"},
          {"identity", partial, "a restricted token of the caller's own user"}};
}

Result<std::vector<std::string>> job_command(const Policy& policy, std::string_view workspace, const std::vector<std::string>& argv, const std::vector<std::string>& waived) {
  if (argv.empty() || argv[0].empty()) return make_error(ErrorCode::kInvalid, "nothing to run");
  TRY(check_waivers(waived));
  for (const auto& h : job_judge(policy))
    if (h.status == LayerStatus::kNone && std::find(waived.begin(), waived.end(), h.statement) == waived.end())
      return make_error(ErrorCode::kUnsupported, cat("job-object cannot hold this policy: ", h.statement, ": ", h.detail, " (--waive ", h.statement, " does without)"));
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
  if (!policy.filesystem.grants.empty()) return make_error(ErrorCode::kUnsupported, "codex cannot hold files: it has no switch for a single folder there");
  std::vector<std::string> out = {std::string(codex), "sandbox", "windows"};
  if (policy.filesystem.writable_scratch) out.emplace_back("--full-auto");
  out.emplace_back("--");
  out.insert(out.end(), argv.begin(), argv.end());
  return out;
}

}  // namespace hotcell::backends
