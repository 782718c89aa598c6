// What may be asked of the shells of a cell.
#include <signal.h>

#include "base/strings.h"
#include "cells/keeper/keeper.h"
#include "cells/keeper/session.h"

namespace hotcell::cells {
namespace {

constexpr std::size_t kMostSessions = 32;

std::string word(const Ask& ask, const std::string& name) {
  auto it = ask.fields.find(name);
  return it == ask.fields.end() ? std::string() : it->second;
}
std::uint64_t number(const Ask& ask, const std::string& name, std::uint64_t without) { return parse_u64(word(ask, name)).value_or(without); }

}  // namespace

void Keeper::session_news(const std::string& id, const std::string& name, const News& news) {
  auto it = kept_.find(id);
  if (it == kept_.end()) return;
  auto s = it->second->sessions.find(name);
  if (s == it->second->sessions.end()) return;
  std::shared_ptr<Session> session = s->second;
  if (news.kind == NewsKind::kTerminal) return session->on_terminal(sys::Fd(news.err));
  if (news.kind == NewsKind::kTty) return session->on_tty(news);
  session->on_end(news);
  it->second->sessions.erase(name);
}

void Keeper::session_timers(Kept& cell, Clock::time_point at) {
  if (cell.record.state != CellState::kRunning) return;
  auto copy = cell.sessions;
  for (auto& [name, session] : copy) session->tick(at);
}

void Keeper::open_session(const Asker& asker, Kept& cell, const Ask& ask) {
  std::string name = word(ask, "session");
  if (!is_cell_name(name)) return answer(asker, make_error(ErrorCode::kInvalid, cat("--session: ", printable(name), " is no name")));
  bool agent = word(ask, "kind") != "terminal";
  if (cell.sessions.contains(name)) {
    Session& there = *cell.sessions.at(name);
    if (word(ask, "reuse") == "1" && !there.open()) return there.openers.push_back(asker);
    if (word(ask, "reuse") == "1") return answer_text(asker, name);
    return answer(asker, taken(cat("there is a shell ", printable(name), " already")));
  }
  if (cell.sessions.size() >= kMostSessions) return answer(asker, make_error(ErrorCode::kLimit, cat("the cell has ", kMostSessions, " shells already")));
  auto session = std::make_shared<Session>(*this, cell.record.id, name, agent);
  ExecOrder order;
  order.terminal = true;
  order.plain = agent;
  order.rows = static_cast<unsigned>(number(ask, "rows", 24));
  order.columns = static_cast<unsigned>(number(ask, "columns", 80));
  order.env = environment(cell, ask.env);
  order.env.try_emplace("TERM", agent ? "dumb" : "xterm-256color");
  order.env.try_emplace("HISTFILE", "/tmp/.bash_history");  // not among the changes of the workspace
  if (agent) {
    if (auto opened = session->open_pipes(); !opened.ok()) return answer(asker, std::move(opened).error());
    order.argv = {"bash", "--noprofile", "--noediting", "--rcfile", "/run/hotcell/shell.rc", "-i"};
    order.fds = {session->orders_theirs.get(), session->status_theirs.get(), session->scratch_theirs.get()};
  } else {
    order.argv = {"bash", "-i"};
    order.env.try_emplace("PS1", cat(cell.record.name, ":\\w\\$ "));
  }
  auto started = run(cell, order);
  if (!started.ok()) return answer(asker, std::move(started).error());
  session->execution = started.value()->id;
  session->openers.push_back(asker);
  started.value()->ours = true;
  started.value()->on_news = [this, id = cell.record.id, name](const News& news) { session_news(id, name, news); };
  cell.sessions.emplace(name, std::move(session));
}

bool Keeper::shell_verb(const Asker& asker, const Ask& ask, std::vector<sys::Fd>&) {
  if (!ask.verb.starts_with("shell.")) return false;
  auto found = find(ask.cell);
  if (!found.ok()) return answer(asker, std::move(found).error()), true;
  std::string id = found.value()->record.id;
  hold_back(asker);
  awake(*found.value(), [this, asker, ask, id](const Result<void>& r) {
    if (!goes_on(asker)) return;
    auto it = kept_.find(id);
    if (!r.ok() || it == kept_.end()) return answer(asker, r.ok() ? make_error(ErrorCode::kNotFound, "the cell is gone") : r.error());
    Kept& cell = *it->second;
    if (ask.verb == "shell.open") return open_session(asker, cell, ask);
    std::string name = word(ask, "session");
    auto s = cell.sessions.find(name);
    if (s == cell.sessions.end()) return answer(asker, not_there(cat("the cell has no shell ", printable(name))));
    std::shared_ptr<Session> session = s->second;
    bool stop_on_input = word(ask, "stop_on_input") == "1";
    Result<void> done = make_error(ErrorCode::kInvalid, cat("the keeper knows no ", printable(ask.verb)));
    if (ask.verb == "shell.run")
      done = session->run(asker, ask.words.empty() ? "" : ask.words[0], Nanoseconds(static_cast<std::int64_t>(number(ask, "timeout_ns", 30'000'000'000))), stop_on_input);
    else if (ask.verb == "shell.wait") done = session->wait(asker, stop_on_input);
    else if (ask.verb == "shell.attach") done = session->attach(asker);
    if (ask.verb == "shell.run" || ask.verb == "shell.wait" || ask.verb == "shell.attach") {
      if (!done.ok()) answer(asker, std::move(done).error());
      return;
    }
    if (ask.verb == "shell.input") done = session->input(ask.words.empty() ? "" : ask.words[0]);
    else if (ask.verb == "shell.resize") done = session->resize(static_cast<unsigned>(number(ask, "rows", 24)), static_cast<unsigned>(number(ask, "columns", 80)));
    else if (ask.verb == "shell.interrupt") done = session->interrupt();
    else if (ask.verb == "shell.history") return answer_text(asker, session->history_json());
    else if (ask.verb == "shell.close") {
      auto e = cell.executions.find(session->execution);
      if (e != cell.executions.end()) kill_execution(cell, e->second, "cancelled");
      done = {};
    }
    answer(asker, done);
  });
  return true;
}

}  // namespace hotcell::cells
