// `cell context`: interpreters in a cell that keep what each call has left.
#include <unistd.h>

#include <algorithm>
#include <cerrno>

#include "base/json_write.h"
#include "base/strings.h"
#include "cli/cell.h"
#include "cli/output_sink.h"
#include "cli/say.h"
#include "core/policy/env.h"
#include "core/policy/suggest.h"
#include "core/policy/units.h"
#include "sys/file.h"

namespace hotcell {
namespace {

constexpr std::size_t kLongestCode = 8 << 20;

Error bad(std::string message) { return make_error(ErrorCode::kInvalid, std::move(message)); }

cells::Ask context_ask(std::string_view what, const std::string& cell, std::string_view context) {
  cells::Ask ask = cell_ask(cat("context.", what), cell);
  if (!context.empty()) ask.fields["context"] = std::string(context);
  return ask;
}

std::string field(const cells::Told& told, const char* name) {
  auto it = told.fields.find(name);
  return it == told.fields.end() ? std::string() : it->second;
}

int exit_code(const cells::Told& told) {
  std::string state = field(told, "state");
  if (state == "ok") return 0;
  if (state == "timeout" || field(told, "timed_out") == "1") return 124;
  return state == "interrupted" ? 130 : 1;
}

// What the code wrote, then the value of its last expression, as an interactive interpreter shows them.
Result<int> show(const cells::Told& told, const std::string& cell, const std::string& context) {
  std::string value = field(told, "value"), errors = field(told, "errors"), trace = field(told, "traceback"), error = field(told, "error");
  std::string out = field(told, "output");
  if (!value.empty()) out += cat(out.empty() || out.ends_with('\n') ? "" : "\n", value, "\n");
  if (!trace.empty()) errors += cat(errors.empty() || errors.ends_with('\n') ? "" : "\n", trace);
  OutputSink to_out(STDOUT_FILENO), to_err(STDERR_FILENO);  // a terminal is shown, not driven
  to_out.push(out, OutputSink::Clock::time_point::max());
  to_out.finish();
  to_err.push(errors, OutputSink::Clock::time_point::max());
  to_err.finish();
  if (to_out.failed() == EPIPE || to_err.failed() == EPIPE) return 128 + 13;
  if (to_out.failed() != 0) return errno_error("standard output", to_out.failed());
  if (field(told, "truncated") == "1") say("the output was longer than --output of the cell allows; the rest is dropped");
  if (auto names = field(told, "rich"); !names.empty()) say(cat("to show: ", names, " (--json holds them)"));
  std::string state = field(told, "state");
  if (state == "gone") say(cat("context ", printable(context), " is gone: ", printable(error), "; hotcell cell context ", printable(cell), " restart ", printable(context)));
  else if (state == "timeout") say("the call was interrupted since its time was over; the context is kept");
  else if (state == "interrupted") say("the call was interrupted; the context is kept");
  else if (state == "error" && trace.empty()) say(printable(error));
  return exit_code(told);
}

Result<int> run(const Parsed& parsed, const std::string& cell, const std::string& context) {
  if (parsed.words.size() > 5) return bad("cell context run: one CODE, quoted, or none: then it is read from standard input");
  cells::Ask ask = context_ask("run", cell, context);
  if (parsed.words.size() == 5 && parsed.words[4] != "-") {
    ask.words = {std::string(parsed.words[4])};
  } else {
    if (::isatty(STDIN_FILENO) != 0) return bad("cell context run: no CODE is given, and standard input is a terminal");
    TRY_SET(std::string code, sys::read_fd(STDIN_FILENO, kLongestCode + 1).context("standard input"));
    if (code.size() > kLongestCode) return bad("cell context run: the code is longer than 8 MiB");
    ask.words = {std::move(code)};
  }
  if (auto time = parsed.last(Opt::kTimeout)) {
    TRY_SET(Nanoseconds limit, parse_duration(*time).context("--timeout"));
    ask.fields["timeout_ns"] = cat(static_cast<std::uint64_t>(limit.count()));
  }
  bool json = parsed.has(Opt::kJson);
  if (json) ask.fields["json"] = "1";
  TRY_SET(auto keeper, connect_keeper(parsed));
  TRY_SET(cells::Told told, keeper.ask(std::move(ask)));
  if (!json) return show(told, cell, context);
  if (int failed = print(cat(told.text, "\n")); failed != 0) return failed;
  return exit_code(told);
}

Result<int> list(const Parsed& parsed, const std::string& cell) {
  TRY_SET(auto keeper, connect_keeper(parsed));
  TRY_SET(cells::Told told, keeper.ask(context_ask("list", cell, "")));
  if (parsed.has(Opt::kJson)) return print(cat(told.text, "\n"));
  return print(field(told, "table"));
}

}  // namespace

Result<int> cell_context(const Parsed& parsed) {
  TRY_SET(std::string cell, cell_word(parsed));
  if (parsed.words.size() < 3) return bad("cell context: create, run, interrupt, restart, close or list?");
  std::string what(parsed.words[2]);
  if (what == "list") {
    if (parsed.words.size() > 3) return bad("cell context list takes the name of the cell and no more");
    return list(parsed, cell);
  }
  static constexpr std::string_view kKnown[] = {"create", "run", "interrupt", "restart", "close", "list"};
  if (std::find(std::begin(kKnown), std::end(kKnown), what) == std::end(kKnown))
    return bad(cat("cell context: unknown subcommand ", printable(what), did_you_mean(what, std::vector<std::string_view>(std::begin(kKnown), std::end(kKnown)))));
  if (parsed.words.size() < 4)
    return bad(what == "create" ? "cell context create: which language? python, javascript or bash" : cat("cell context ", what, ": which context? see hotcell cell context ", printable(cell), " list"));
  std::string subject(parsed.words[3]);
  if (what == "run") return run(parsed, cell, subject);
  if (parsed.words.size() > 4) return bad(cat("cell context ", what, ": ", printable(parsed.words[4]), " is one word too many"));
  cells::Ask ask;
  if (what == "create") {
    ask = context_ask(what, cell, parsed.last(Opt::kSession).value_or(""));
    ask.fields["language"] = subject;
    for (const auto& [option, value] : parsed.values()) {
      if (option != Opt::kEnv) continue;
      auto equals = value.find('=');
      if (equals == value.npos || !is_env_name(value.substr(0, equals))) return bad(cat("--env: '", printable(value), "' is not NAME=VALUE"));
      ask.env[std::string(value.substr(0, equals))] = std::string(value.substr(equals + 1));
    }
  } else {
    ask = context_ask(what, cell, subject);
  }
  TRY_SET(auto keeper, connect_keeper(parsed));
  TRY_SET(cells::Told told, keeper.ask(std::move(ask)));
  if (what != "create") return 0;
  if (!parsed.has(Opt::kJson)) return print(cat(told.text, "\n"));
  JsonWriter w;
  w.begin_object();
  w.field("name", field(told, "context"));
  w.field("language", field(told, "language"));
  w.end_object();
  return print(cat(w.text(), "\n"));
}

}  // namespace hotcell
