#include "manager/shell_findings.h"

#include <unistd.h>

#include <algorithm>

#include "base/strings.h"
#include "languages/common/language_common.h"
#include "verify/rules.h"

namespace hotcell {

namespace {

constexpr const char* kProgram = "/usr/bin/shellcheck";
constexpr std::size_t kLongestScript = 1u << 20, kMost = 100, kLongestText = 300;

Policy shellcheck_policy() {
  Policy p = default_policy();
  p.name = "shellcheck";
  p.limits.memory = 512_MiB;
  p.limits.disk = 1_MiB;
  p.limits.cpu_time = std::chrono::seconds(5);
  p.limits.wall = std::chrono::seconds(10);
  p.on_output = OnOutput::kTruncate;
  return p;
}

// "… Use globs. [SC2045]" without the code, which is returned; empty: there is none.
std::string take_code(std::string& message) {
  auto open = message.rfind(" [SC");
  if (open == std::string::npos || !message.ends_with(']')) return {};
  std::string code = message.substr(open + 2, message.size() - open - 3);
  if (code.size() > 8 || !parse_u64(std::string_view(code).substr(2))) return {};
  message.resize(open);
  return code;
}

}  // namespace

bool shellcheck_is_there() { return ::access(kProgram, X_OK) == 0; }

std::vector<Finding> read_shellcheck(std::string_view report, std::string_view source, std::string_view file) {
  auto lines = split(source, '\n');
  std::vector<Finding> out;
  for (auto& d : colon_diagnostics(report)) {
    if (out.size() == kMost) break;
    if (d.file != "-" || (d.severity != "error" && d.severity != "warning")) continue;
    if (d.line < 1 || static_cast<std::size_t>(d.line) > lines.size()) continue;
    std::string code = take_code(d.message);
    if (code.empty() || d.message.empty()) continue;
    Finding f;
    f.rule = cat("shellcheck-", code);
    f.type = "dangerous_pattern";
    f.severity = d.severity == "error" ? "warning" : "info";
    f.file = std::string(file);
    f.line = d.line;
    f.column = std::max(d.column, 1);
    f.message = printable(std::string_view(d.message).substr(0, kLongestText));
    f.snippet = printable(trim(lines[static_cast<std::size_t>(d.line) - 1]).substr(0, kLongestText));
    out.push_back(std::move(f));
  }
  return out;
}

std::vector<Finding> shellcheck_findings(Launcher& launcher, std::string_view source, std::string_view file,
                                         const Policy& policy) {
  if (source.size() > kLongestScript || !shellcheck_is_there()) return {};
  Request request;
  // Bash whatever the `#!` line says, since that is what runs it here; no settings but these.
  request.argv = {kProgram, "--norc", "--shell=bash", "--format=gcc", "--severity=warning", "-"};
  request.stdin_source = StdinBytes{std::string(source)};
  auto report = launcher.run(shellcheck_policy(), std::move(request));
  // 0: nothing to say, 1: something. Anything else, a limit included, is no answer.
  if (!report.ok() || report.value().verdict.reason != ExitReason::kExited) return {};
  if (report.value().verdict.exit_code.value_or(2) > 1 || report.value().out_truncated) return {};
  auto out = read_shellcheck(report.value().out, source, file);
  std::erase_if(out, [&](const Finding& f) {
    const auto& off = policy.rules.off;
    return std::any_of(off.begin(), off.end(), [&](const auto& pattern) { return glob_matches(pattern, f.rule, 0); });
  });
  return out;
}

}  // namespace hotcell
