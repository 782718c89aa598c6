// Programs in a cell: started by its spawner, ended by their own end, a deadline or their client's.
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>

#include "base/strings.h"
#include "cells/keeper/keeper.h"
#include "core/policy/proxy_env.h"

namespace hotcell::cells {
namespace {

std::string word(const Ask& ask, const std::string& name) {
  auto it = ask.fields.find(name);
  return it == ask.fields.end() ? std::string() : it->second;
}

Error not_started(const News& n, const Execution& e) {
  std::string program = e.argv.empty() ? "" : printable(e.argv[0]);
  switch (n.step) {
    case Step::kDirectory: return Error{ErrorCode::kInvalid, n.err, cat("working directory: ", ::strerror(n.err), " in the cell")};
    case Step::kTerminal: return Error{ErrorCode::kIo, n.err, cat("a terminal in the cell: ", ::strerror(n.err))};
    case Step::kFork:
      return Error{ErrorCode::kLimit, n.err, cat("no further process may be started in the cell: ", ::strerror(n.err), " (see --processes)")};
    case Step::kExec: break;
    default: return Error{ErrorCode::kInternal, n.err, cat("the spawner refused an order: ", ::strerror(n.err))};
  }
  if (n.err == ENOENT || n.err == ENOTDIR) return Error{ErrorCode::kNotFound, n.err, cat(program, ": not found in the cell")};
  if (n.err == ENOEXEC) return Error{ErrorCode::kNotExecutable, n.err, cat(program, ": not an executable format (a script without #!?)")};
  if (n.err == EACCES || n.err == EPERM || n.err == EISDIR) return Error{ErrorCode::kNotExecutable, n.err, cat(program, ": ", ::strerror(n.err))};
  if (n.err == E2BIG) return Error{ErrorCode::kInvalid, n.err, "the arguments and environment are larger than this kernel takes"};
  return Error{ErrorCode::kIo, n.err, cat(program, ": ", ::strerror(n.err))};
}

}  // namespace

std::map<std::string, std::string> Keeper::environment(const Kept& cell, const Fields& more) const {
  std::map<std::string, std::string> env = {{"PATH", "/usr/local/bin:/usr/bin:/bin:/usr/local/sbin:/usr/sbin:/sbin"}, {"HOME", "/work"},
                                            {"TMPDIR", "/tmp"}, {"LANG", "C.UTF-8"}, {"USER", "cell"}, {"HOTCELL_ID", cell.record.id}};
  if (cell.policy.network.mode == NetworkMode::kProxy && cell.record.network_phase != "agent") env.merge(cell_proxy_environment());
  secret_variables(cell, env);
  for (const auto& [k, v] : cell.policy.env.set) env[k] = v;
  for (const auto& [k, v] : cell.record.env) env[k] = v;
  for (const auto& [k, v] : more) env[k] = v;
  return env;
}

Result<Execution*> Keeper::run(Kept& cell, const ExecOrder& order) {
  std::uint64_t number = ++last_execution_;
  const RecordTime before = now();
  TRY(cell.spawned->exec(number, order).context("the cell's spawner"));
  Execution& e = cell.executions[number];
  e.id = number;
  e.argv = order.argv;
  e.started = before;
  if (cell.run) launcher_->attend(*cell.run);
  tell(cell, "execution.started", {{"execution", cat(number)}, {"program", e.argv.empty() ? std::string() : e.argv[0]}});
  return &e;
}

void Keeper::exec(const Asker& asker, const Ask& ask, std::vector<sys::Fd> fds) {
  auto found = find(ask.cell);
  if (!found.ok()) return answer(asker, std::move(found).error());
  for (const auto& w : ask.words)
    if (w.find('\0') != w.npos) return answer(asker, make_error(ErrorCode::kInvalid, "an argument contains a NUL byte"));
  for (const auto& [k, v] : ask.env)
    if (k.empty() || k.find('=') != k.npos || k.find('\0') != k.npos || v.find('\0') != v.npos)
      return answer(asker, make_error(ErrorCode::kInvalid, cat("not a name for an environment variable: ", printable(k))));
  if (ask.words.empty() || ask.words[0].empty()) return answer(asker, make_error(ErrorCode::kInvalid, "nothing to run"));
  bool detached = word(ask, "detach") == "1";
  if (fds.size() != (detached ? 3u : 5u)) return answer(asker, make_error(ErrorCode::kInvalid, "an execution comes with its descriptors"));
  auto shared = std::make_shared<std::vector<sys::Fd>>(std::move(fds));
  std::string id = found.value()->record.id;
  hold_back(asker);
  awake(*found.value(), [this, id, asker, ask, shared, detached](const Result<void>& r) {
    if (!goes_on(asker)) return;
    auto it = kept_.find(id);
    if (!r.ok() || it == kept_.end()) return answer(asker, r.ok() ? make_error(ErrorCode::kNotFound, "the cell is gone") : r.error());
    Kept& cell = *it->second;
    ExecOrder order;
    order.argv = ask.words;
    order.env = environment(cell, ask.env);
    if (auto directory = word(ask, "workdir"); !directory.empty()) order.directory = directory;
    for (std::size_t i = 0; i < 3; ++i) order.fds.push_back((*shared)[i].get());
    order.cpu_seconds = static_cast<std::uint64_t>(std::chrono::ceil<std::chrono::seconds>(cell.policy.limits.cpu_time).count());
    std::vector<sys::Fd> ends;  // until the spawner has its own
    std::shared_ptr<OutputRelay> relay;
    if (cell.secrets && !detached) {
      auto made = relay_output(cell, *shared, order, ends);
      if (!made.ok()) return answer(asker, made.error());
      relay = std::move(made).value();
    }
    auto started = run(cell, order);
    if (!started.ok()) return answer(asker, started.error());
    Execution& e = *started.value();
    auto limit = parse_u64(word(ask, "timeout_ns"));
    if (limit && *limit > 0) e.deadline = Clock::now() + std::min<Nanoseconds>(Nanoseconds(static_cast<std::int64_t>(*limit)), std::chrono::hours(24 * 365));
    cell.record.used = now();
    if (detached) {
      answer(asker, Told{.number = 0, .last = true, .error = {}, .fields = {{"execution", cat(e.id)}}, .text = {}});
    } else {
      e.asker = asker;
      e.relay = std::move(relay);
      if (e.relay) return;
      e.out = std::move((*shared)[3]);
      e.err = std::move((*shared)[4]);
    }
  });
}

void Keeper::on_spawner(const std::string& id) {
  for (int rounds = 0; rounds < 64; ++rounds) {
    auto it = kept_.find(id);
    if (it == kept_.end() || !it->second->spawned) return;
    auto heard = it->second->spawned->hear();
    if (!heard) {
      // Init notices the same, and the launcher tells us why. What closed its socket or talks nonsense and lives is ended (timers).
      if (it->second->spawned->gone() && it->second->watch != 0) {
        unwatch(std::exchange(it->second->watch, 0), it->second->spawned->fd());
        it->second->spawner_gone = Clock::now();
      }
      return;
    }
    on_news(*it->second, std::move(*heard));
  }
}

void Keeper::on_news(Kept& cell, Spawned::Heard heard) {
  const News& n = heard.news;
  if (n.kind == NewsKind::kReady) {
    cell.ready = true;
    cell.last_use = Clock::now();
    cell.record.state = CellState::kRunning;
    cell.record.reason = std::exchange(cell.record.was_paused, false) ? std::string(kStartedAnew) : std::string();
    if (cell.record.being_made == "starting") cell.record.being_made.clear();
    cell.record.resumed = cell.record.stopped.time_since_epoch().count() != 0 ? now() : RecordTime{};
    save(cell);
    for (auto& then : std::exchange(cell.on_ready, {})) then({});
    return;
  }
  if (n.kind == NewsKind::kDone) {
    if (cell.on_done.empty()) return;
    auto done = std::move(cell.on_done.front());
    cell.on_done.erase(cell.on_done.begin());
    return done(true);
  }
  auto it = cell.executions.find(n.id);
  if (it == cell.executions.end()) return;
  Execution& e = it->second;
  if (n.kind == NewsKind::kTerminal || n.kind == NewsKind::kTty) {
    if (e.on_news) {
      News copy = n;
      copy.err = heard.fd.valid() ? heard.fd.release() : -1;  // the session's from now on
      e.on_news(copy);
    }
    return;
  }
  bool was_over = e.over;
  if (!was_over && (n.kind == NewsKind::kExited || n.kind == NewsKind::kFailed || n.kind == NewsKind::kGone)) {
    e.over = true;
    cell.last_use = Clock::now();
    cell.record.used = now();
    if (e.on_news) e.on_news(n);
    e.ending = n;
    if (n.kind != NewsKind::kExited || e.ours || !e.killed_for.empty()) return tell_ending(cell, e, n.kind == NewsKind::kGone);
    look_once_more(cell, [this, id = cell.record.id, number = n.id](bool stopped) {
      auto cell_there = kept_.find(id);
      if (cell_there == kept_.end()) return;
      auto ended = cell_there->second->executions.find(number);
      if (ended == cell_there->second->executions.end() || !ended->second.ending) return;
      if (stopped) ended->second.killed_for = "disk";
      tell_ending(*cell_there->second, ended->second, ended->second.gone);
    });
    return;
  }
  if (n.kind != NewsKind::kGone) return;
  if (e.ending) e.gone = true;
  else forget(cell, n.id);
}

void Keeper::tell_ending(Kept& cell, Execution& e, bool gone) {
  const News n = *std::exchange(e.ending, std::nullopt);
  tell_end(cell, e, n);
  if (e.asker && n.kind == NewsKind::kFailed) {
    answer(*e.asker, not_started(n, e));
    e.asker.reset();
  } else if (e.asker && n.kind == NewsKind::kGone) {
    answer(*e.asker, make_error(ErrorCode::kInternal, "a program of the cell killed the minder of this execution; how it ended is not known"));
    e.asker.reset();
  } else if (e.asker) {
    Told told;
    told.fields = {{"status", cat(n.status)}, {"user_us", cat(n.user_us)}, {"system_us", cat(n.system_us)}, {"max_rss_kib", cat(n.max_rss_kib)},
                   {"blocks_in", cat(n.blocks_in)}, {"blocks_out", cat(n.blocks_out)}, {"pid", cat(n.pid)}};
    if (!e.killed_for.empty()) told.fields["reason"] = e.killed_for;
    answer_exec(cell, e, std::move(told));
  }
  if (gone) forget(cell, e.id);
}

void Keeper::kill_execution(Kept& cell, Execution& e, std::string why) {
  if (e.over) return;
  if (e.killed_for.empty()) e.killed_for = std::move(why);
  e.deadline = Clock::now() + std::chrono::seconds(1);  // should it need repeating
  if (cell.record.state == CellState::kPaused && e.asker) {
    // What stands still ends when it goes on; whoever waits for it need not.
    answer(*e.asker, Told{.number = 0, .last = true, .error = {}, .fields = {{"status", cat(SIGKILL)}, {"reason", e.killed_for}}, .text = {}});
    e.asker.reset();
    drain(e);
  }
  if (cell.spawned) cell.spawned->tell(OrderKind::kKill, e.id).ignore("the spawner is gone, and the cell with it");
}

// How the program itself ended has been told, or is about to be: this is about what it left running.
void Keeper::end_left_behind(Kept& cell, const Execution& e, const std::string& why) {
  if (cell.spawned) cell.spawned->tell(OrderKind::kKill, e.id).ignore("the spawner is gone, and the cell with it");
  if (!e.ending) tell(cell, "execution.killed", {{"execution", cat(e.id)}, {"exit_reason", why}});
}

// What is still running behind an execution that is over writes into nobody's pipe: read and dropped, so that it is not
// ended by SIGPIPE.
void Keeper::drain(Execution& e) {
  for (sys::Fd* fd : {&e.out, &e.err}) {
    if (!fd->valid()) continue;
    if (!sys::set_nonblocking(fd->get()).ok()) continue;
    int raw = fd->get();
    auto key = std::make_shared<std::uint64_t>(0);
    *key = watch(raw, EPOLLIN, [this, raw, key](std::uint32_t) {
      char bytes[16 << 10];
      ssize_t n = ::read(raw, bytes, sizeof bytes);
      if (n == 0 || (n < 0 && errno != EAGAIN && errno != EINTR)) unwatch(*key, raw);
    });
    e.drains.emplace_back(*key, raw);
  }
}

void Keeper::forget(Kept& cell, std::uint64_t number) {
  auto it = cell.executions.find(number);
  if (it == cell.executions.end()) return;
  // By hand: the client may hold the same pipe still, and a closed descriptor would stay watched for as long.
  for (auto [key, fd] : it->second.drains) unwatch(key, fd);
  cell.executions.erase(it);
}

}  // namespace hotcell::cells
