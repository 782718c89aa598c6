// `cell`: which subcommand, and those that are one question to the keeper.
#include "cli/cell.h"

#include <signal.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "base/json_write.h"
#include "base/strings.h"
#include "cells/keeper/keeper.h"
#include "cli/cell_json.h"
#include "cli/commands.h"
#include "cli/help.h"
#include "cli/say.h"
#include "core/policy/suggest.h"
#include "core/policy/units.h"
#include "sys/process.h"

namespace hotcell {
namespace {

Error bad(std::string message) { return make_error(ErrorCode::kInvalid, std::move(message)); }

// The keeper itself: `hotcell cell keeper STATE`, started by the first client. Nobody's child and in a session of its own.
Result<int> keep(const Parsed& parsed) {
  if (parsed.words.size() != 2) return bad("cell keeper: expected the state folder");
  pid_t pid = ::fork();
  if (pid < 0) return errno_error("fork", errno);
  if (pid > 0) ::_exit(0);
  if (::setsid() < 0 || ::chdir("/") < 0) return errno_error("the keeper of cells", errno);
  ::signal(SIGPIPE, SIG_IGN);
  ::signal(SIGCHLD, SIG_DFL);
  sys::raise_open_files();
  return cells::Keeper::serve(std::string(parsed.words[1]));
}

// pause resume start stop rm: of each cell named.
Result<int> simple(const Parsed& parsed, std::string_view verb) {
  if (parsed.words.size() < 2) return bad(cat("cell ", verb, ": which cell? give its name or its id"));
  TRY_SET(auto keeper, connect_keeper(parsed));
  int code = 0;
  for (std::size_t i = 1; i < parsed.words.size(); ++i) {
    cells::Ask ask = cell_ask(std::string(verb), std::string(parsed.words[i]));
    if (verb == "start") TRY(add_cell_secrets(parsed, ask));
    auto told = keeper.ask(std::move(ask));
    if (!told.ok()) code = refuse(told.error());
    else if (auto note = told.value().fields.find("note"); note != told.value().fields.end()) say(note->second);
  }
  return code;
}

// Zero is an age, and no time to run in: whatever does not run now.
Result<Nanoseconds> parse_age(std::string_view text) {
  const bool zero = text.starts_with('0') && text.find_first_of("123456789") == text.npos && parse_duration(cat("1", text)).ok();
  return zero ? Nanoseconds(1) : parse_duration(text);
}

// As the daemon tells it (POST /api/v1/cells/clean). The keeper's answer is the names; `before`: the cells there were.
std::string clean_json(std::string_view names, const std::vector<CellSummary>& before) {
  JsonWriter w;
  w.begin_object();
  w.key("removed");
  w.begin_array();
  for (auto name : split(names, '\n')) {
    if (name.empty()) continue;
    w.begin_object();
    for (const auto& c : before)
      if (c.name == name) w.field("id", std::string_view(c.id));
    w.field("name", name);
    w.end_object();
  }
  w.end_array();
  w.end_object();
  return w.take() + "\n";
}

Result<int> clean(const Parsed& parsed) {
  if (parsed.words.size() != 1) return bad("cell clean takes --older-than TIME and --keep N, no names");
  cells::Ask ask = cell_ask("clean", "");
  if (auto age = parsed.last(Opt::kOlderThan)) {
    TRY_SET(Nanoseconds time, parse_age(*age).context("--older-than"));
    ask.fields["older_ns"] = cat(static_cast<std::uint64_t>(time.count()));
  }
  if (auto keep_count = parsed.last(Opt::kKeep)) {
    if (!parse_u64(*keep_count)) return bad(cat("--keep: expected a number, not '", printable(*keep_count), "'"));
    ask.fields["keep"] = std::string(*keep_count);
  }
  if (ask.fields.empty()) ask.fields["older_ns"] = cat(std::uint64_t{24} * 3600 * 1'000'000'000);
  const bool json = parsed.has(Opt::kJson);
  TRY_SET(bool any, has_cells(parsed));
  if (!any) return print(json ? clean_json("", {}) : "");
  TRY_SET(auto keeper, connect_keeper(parsed));
  std::vector<CellSummary> before;
  if (json) {
    TRY_SET(cells::Told all, keeper.ask(cell_ask("list", "")));
    TRY_SET(before, read_cells(all.text));
  }
  TRY_SET(cells::Told told, keeper.ask(std::move(ask)));
  return print(json ? clean_json(told.text, before) : told.text);
}

Result<int> dispatch(const Parsed& parsed) {
  if (parsed.words.empty()) return bad("cell: which subcommand? see hotcell cell --help");
  std::string_view word = parsed.words[0];
  if (word == "create") return cell_create(parsed);
  if (word == "exec") return cell_exec(parsed);
  if (word == "list") return cell_list(parsed);
  if (word == "inspect") return cell_inspect(parsed);
  for (auto verb : {"pause", "resume", "start", "stop", "rm"})
    if (word == verb) return simple(parsed, word);
  if (word == "clean") return clean(parsed);
  for (auto verb : {"ls", "cat", "write", "stat", "mkdir", "remove", "move", "watch"})
    if (word == verb) return cell_file(parsed, word);
  if (word == "cp") return cell_copy(parsed);
  for (auto verb : {"diff", "apply", "discard"})
    if (word == verb) return cell_changes(parsed, word);
  for (auto verb : {"snapshot", "snapshots", "restore", "fork"})
    if (word == verb) return cell_saved(parsed, word);
  if (word == "context") return cell_context(parsed);
  for (auto verb : {"questions", "approve", "deny", "grant", "grants", "revoke"})
    if (word == verb) return cell_decisions(parsed, word);
  if (word == "usage") return cell_usage(parsed);
  if (word == "events") return cell_events(parsed);
  if (word == "estimate") return cell_estimate(parsed);
  if (word == "network" || word == "seal") return cell_network(parsed, word);
  if (word == "keeper") return keep(parsed);
  auto known = split(command_spec(Command::kCell).words, '|');
  return bad(cat("cell: unknown subcommand ", printable(word), did_you_mean(word, known)));
}

}  // namespace

Result<bool> has_cells(const Parsed& parsed) {
  TRY_SET(std::string state, state_folder(parsed, Missing::kMake));
  struct stat s {};
  if (parsed.has(Opt::kState) && ::stat(state.c_str(), &s) < 0) return bad(cat("--state: ", printable(state), ": ", ::strerror(errno)));
  // What is there and cannot be used is told by whoever uses it.
  return ::lstat(cat(state, "/cells").c_str(), &s) == 0 || errno != ENOENT;
}

Error no_cell(const Parsed& parsed, std::string_view name) {
  auto state = state_folder(parsed, Missing::kMake);
  return bad(cat("there is no cell", name.empty() ? "" : " ", printable(name), ": none was made in ", state.ok() ? printable(state.value()) : "the state folder", " yet"));
}

Result<cells::KeeperClient> connect_keeper(const Parsed& parsed, Missing missing) {
  TRY_SET(std::string state, state_folder(parsed, Missing::kMake));
  if (missing == Missing::kRefuse) {
    TRY_SET(bool any, has_cells(parsed));
    const bool named = parsed.words.size() > 1 && parsed.words[0] != "cp";  // whose words are places
    if (!any) return no_cell(parsed, named ? parsed.words[1] : std::string_view());
  }
  TRY_SET(auto keeper, cells::KeeperClient::connect(state, {"/proc/self/exe", {"hotcell", "cell", "keeper"}}));
  keeper.on_waiting = [](const cells::Told& told) { say(told.text); };
  return keeper;
}

Result<std::string> cell_word(const Parsed& parsed) {
  if (parsed.words.size() < 2 || parsed.words[1].empty()) return bad(cat("cell ", parsed.words[0], ": which cell? give its name or its id"));
  return std::string(parsed.words[1]);
}

cells::Ask cell_ask(std::string verb, std::string cell) {
  cells::Ask ask;
  ask.verb = std::move(verb);
  ask.cell = std::move(cell);
  return ask;
}

int cmd_cell(Args args) { return run_command(Command::kCell, args, dispatch); }

}  // namespace hotcell
