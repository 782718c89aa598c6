// `cell exec`: like `run`, in a cell that is there already.
#include <fcntl.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "base/json_write.h"
#include "base/strings.h"
#include "cli/cell.h"
#include "cli/cell_json.h"
#include "cli/inspected.h"
#include "cli/output_sink.h"
#include "cli/policy_flags.h"
#include "cli/say.h"
#include "cli/signals.h"
#include "cli/verdict_words.h"
#include "core/policy/env.h"
#include "core/policy/units.h"
#include "manager/report_json.h"
#include "sys/file.h"

namespace hotcell {
namespace {

Error bad(std::string message) { return make_error(ErrorCode::kInvalid, std::move(message)); }

Result<cells::ExecAsk> exec_ask(const Parsed& parsed, sys::Fd& held) {
  TRY_SET(std::string name, cell_word(parsed));
  if (!parsed.dashes) return bad(cat("cell exec: expected hotcell cell exec ", printable(name), " [options] -- PROGRAM [ARGS...]"));
  cells::ExecAsk ask;
  ask.cell = name;
  for (std::size_t i = 2; i < parsed.words.size(); ++i) ask.argv.emplace_back(parsed.words[i]);
  if (ask.argv.empty()) return bad("cell exec: nothing to run after --");
  for (const auto& [option, value] : parsed.values()) {
    if (option != Opt::kEnv) continue;
    auto equals = value.find('=');
    if (equals == value.npos || !is_env_name(value.substr(0, equals))) return bad(cat("--env: '", printable(value), "' is not NAME=VALUE"));
    ask.env[std::string(value.substr(0, equals))] = std::string(value.substr(equals + 1));
  }
  if (auto folder = parsed.last(Opt::kWorkdir)) ask.workdir = folder->starts_with('/') ? std::string(*folder) : cat("/work/", *folder);
  if (auto time = parsed.last(Opt::kTimeout)) {
    TRY_SET(ask.timeout, parse_duration(*time).context("--timeout"));
  }
  if (auto size = parsed.last(Opt::kOutput)) {
    TRY_SET(ask.output, parse_bytes(*size).context("--output"));
  }
  ask.truncate = parsed.last(Opt::kOnOutput).value_or("kill") == "truncate";
  if (auto file = parsed.last(Opt::kStdin)) {
    TRY_SET(held, sys::open(std::string(*file).c_str(), O_RDONLY | O_NOCTTY).context("--stdin"));
    ask.stdin_fd = held.get();
  } else {
    struct stat s {};
    bool null_device = ::fstat(STDIN_FILENO, &s) != 0 || (S_ISCHR(s.st_mode) && s.st_rdev == makedev(1, 3));
    if (!null_device && ::isatty(STDIN_FILENO) == 0) ask.stdin_fd = STDIN_FILENO;
  }
  return ask;
}

// Left running: which execution it is, as `cell inspect` and `cell events` call it.
Result<int> detach(cells::KeeperClient& keeper, const cells::ExecAsk& what, bool json) {
  TRY_SET(std::uint64_t number, keeper.exec_detached(what));
  if (!json) return 0;
  JsonWriter w;
  w.begin_object();
  w.field("cell", std::string_view(what.cell));
  w.field("execution", number);
  w.field("status", "running");
  w.end_object();
  return print(w.take() + "\n");
}

// The sentences are those of `run`. Of its limits a cell has all but time and output from when it was made.
std::string cell_words(std::string sentence) {
  for (std::string_view flag : {"--memory", "--disk", "--processes", "--cpu-time"}) {
    const std::string raise = cat("(raise with ", flag, ")");
    if (auto at = sentence.find(raise); at != sentence.npos) sentence.replace(at, raise.size(), cat("(it was made with that ", flag, ")"));
  }
  return sentence;
}

}  // namespace

Result<int> cell_exec(const Parsed& parsed) {
  for (auto [option, name] : {std::pair{Opt::kStdin, "--stdin"}, std::pair{Opt::kOutput, "--output"}, std::pair{Opt::kOnOutput, "--on-output"}})
    if (parsed.has(Opt::kDetach) && parsed.has(option)) return bad(cat("cell exec: ", std::string_view(name), " does not go with --detach: nothing is read, and what it writes is dropped"));
  sys::Fd held;
  TRY_SET(cells::ExecAsk ask, exec_ask(parsed, held));
  TRY_SET(OutputInspector inspector, OutputInspector::create(parsed, default_policy()));
  if (inspector.on() && parsed.has(Opt::kDetach)) return bad("cell exec: --detach leaves no output to inspect");
  TRY_SET(auto keeper, connect_keeper(parsed));
  if (parsed.has(Opt::kDetach)) return detach(keeper, ask, parsed.has(Opt::kJson));
  TRY_SET(cells::Told told, keeper.ask(cell_ask("inspect", ask.cell)));
  TRY_SET(CellSummary cell, read_cell(told.text));
  if (!parsed.has(Opt::kOutput)) ask.output = cell.limits.output;
  if (!parsed.has(Opt::kTimeout)) ask.timeout = cell.limits.wall;
  bool json = parsed.has(Opt::kJson);
  OutputSink out(STDOUT_FILENO), err(STDERR_FILENO);
  TRY(catch_signals());
  ask.collect = json || inspector.on();
  auto deadline = OutputSink::Clock::now() + ask.timeout;
  if (!json && !inspector.holds()) ask.on_output = [&](Stream stream, std::string_view bytes) { (stream == Stream::kStdout ? out : err).push(bytes, deadline); };
  ask.cancelled = [&] { return caught_signal() != 0 || out.failed() != 0 || err.failed() != 0; };
  auto ran = keeper.exec(ask);
  std::optional<OutputInspection> found;
  if (ran.ok()) {
    found = inspector.look(ran.value());
    if (!json && inspector.holds()) {
      deadline = OutputSink::Clock::now() + std::chrono::seconds(10);
      out.push(ran.value().out, deadline);
      err.push(ran.value().err, deadline);
    }
  }
  out.finish();
  err.finish();
  if (!ran.ok()) {
    if (caught_signal() != 0) return 128 + caught_signal();
    if (json) print(report_json(failed_report(ran.error()), JsonStyle::kOneLine));
    return refuse(ran.error());
  }
  Report& report = ran.value();
  report.enforcement = cell.enforcement;
  audit_findings(parsed, report, found, cell.id);
  if (json)
    if (int failed = print(report_json(report, JsonStyle::kOneLine, found)); failed != 0) return failed;
  if (caught_signal() != 0) return 128 + caught_signal();
  if (out.failed() == EPIPE || err.failed() == EPIPE) return 128 + 13;
  Policy limits = default_policy();
  limits.limits = cell.limits;
  limits.limits.wall = ask.timeout;
  limits.limits.output = ask.output;
  for (const auto& sentence : verdict_words(report, limits, Talk::kBrief)) say(cell_words(sentence));
  if (found)
    for (const auto& sentence : inspection_words(*found)) say(sentence);
  return inspected_exit_code(found, report.verdict.cli_exit_code());
}

}  // namespace hotcell
