// A cell's life: made, started, paused, stopped, removed.
#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>

#include "base/json_write.h"
#include "base/strings.h"
#include "cells/files/layers.h"
#include "cells/keeper/keeper.h"
#include "cells/keeper/layers_disk.h"
#include "cells/keeper/session.h"
#include "core/kernel/grants.h"
#include "core/policy/profile.h"
#include "core/policy/units.h"
#include "sys/file.h"
#include "sys/socket.h"

namespace hotcell::cells {
namespace {

// What the kernel is told where a cell has no end of its own.
constexpr auto kForEver = std::chrono::hours(24 * 3650);
// The spawner, and a minder for each of some executions at once, are tasks as well.
constexpr std::uint32_t kOurTasks = 9;

std::string word(const Ask& ask, const std::string& name) {
  auto it = ask.fields.find(name);
  return it == ask.fields.end() ? std::string() : it->second;
}
Nanoseconds time_word(const Ask& ask, const std::string& name) {
  auto n = parse_u64(word(ask, name));
  return Nanoseconds(n ? static_cast<std::int64_t>(std::min<std::uint64_t>(*n, INT64_MAX)) : 0);
}

}  // namespace

std::string Kept::layers() const { return disk ? disk->path() : folder; }

Result<Kept*> Keeper::find(std::string_view name) {
  if (name.empty()) return make_error(ErrorCode::kInvalid, "which cell? give its name or its id");
  std::vector<Kept*> found;
  for (auto& [id, cell] : kept_) {
    if (id == name || cell->record.name == name) return cell.get();
    if (name.size() >= 6 && id.starts_with(name)) found.push_back(cell.get());
  }
  if (found.size() == 1) return found[0];
  if (found.size() > 1) return make_error(ErrorCode::kInvalid, cat(printable(name), " is the beginning of several ids"));
  return not_there(cat("there is no cell ", printable(name), "; see hotcell cell list"));
}

void Keeper::save(Kept& cell) {
  if (auto saved = save_record(cell.folder, cell.record); !saved.ok()) ::dprintf(2, "%s\n", saved.error().message.c_str());
}

Result<void> Keeper::create(const Asker& asker, const Ask& ask) {
  CellRecord r;
  r.name = word(ask, "name");
  if (kept_.size() >= most_cells_)
    return make_error(ErrorCode::kLimit, cat("maximum cell limit (", most_cells_, ") reached; remove one (hotcell cell rm, hotcell cell clean)"));
  r.id = new_cell_id();
  if (r.id.empty()) return make_error(ErrorCode::kInternal, "getrandom failed");
  if (r.name.empty()) r.name = cat("cell-", r.id.substr(2, 8));
  if (!is_cell_name(r.name)) return make_error(ErrorCode::kInvalid, cat(printable(r.name), " is no name (letters, digits, dot, dash, underscore; at most 64)"));
  for (const auto& [id, cell] : kept_)
    if (cell->record.name == r.name || id == r.name) return taken(cat("there is a cell ", printable(r.name), " already"));
  r.project = word(ask, "project");
  if (!r.project.empty()) {
    struct stat st {};
    if (::stat(r.project.c_str(), &st) < 0) return Error{ErrorCode::kInvalid, errno, cat("--from: ", printable(r.project), ": ", ::strerror(errno))};
    if (!S_ISDIR(st.st_mode)) return make_error(ErrorCode::kInvalid, cat("--from: ", printable(r.project), " is not a folder"));
    // Links are followed this once: what is opened later is this folder, or nothing (open_project).
    char real[PATH_MAX];
    if (::realpath(r.project.c_str(), real) == nullptr) return Error{ErrorCode::kInvalid, errno, cat("--from: ", printable(r.project), ": ", ::strerror(errno))};
    r.project = real;
    if (is_inside(cells_, r.project) || is_inside(r.project, cells_))
      return make_error(ErrorCode::kInvalid, cat("--from: ", printable(r.project), " and the folder of cells, ", cells_, ", are inside one another; choose another --state"));
  }
  ProfileSearch nothing;
  nothing.read_files = false;
  TRY_SET(Policy policy, parse_profile(word(ask, "policy"), "policy", nothing));
  // What programs here write goes straight to who asked: nothing in between could keep such a promise.
  if (!policy.stages_post.empty())
    return make_error(ErrorCode::kUnsupported, "stages.post: nothing looks at all output of a lasting cell; leave it out, and inspect what cell exec says by --inspect");
  std::shared_ptr<const Bounds> bounds;
  if (auto client = clients_.find(asker.client); client != clients_.end()) bounds = client->second.bounds;
  Ask asked = ask;
  if (bounds) asked.fields["network_words"] = join(bounds->network_words, "\n");  // not for the front to say
  TRY(plan_network(asked, policy, r));
  TRY_SET(auto secrets, plan_secrets(asked, bounds != nullptr, policy, r));
  r.own_disk = (word(ask, "own_disk") == "1" || policy.required.contains(hotcell::Layer::kDisk)) && LayersDisk::why_not().empty();
  if (bounds) TRY(check_cell(*bounds, policy, r.project, r.network.contains("ceiling") ? r.network.at("ceiling") : std::string()));
  r.env = ask.env;
  TRY_SET(r.decisions, given_decisions(ask, bounds.get()));
  for (const auto& [key, value] : ask.fields)
    if (key.starts_with("label.")) r.labels[key.substr(6)] = value;
  r.ttl = time_word(ask, "ttl_ns");
  r.idle_pause = time_word(ask, "idle_pause_ns");
  r.created = r.used = now();
  r.base = base_time_now();
  r.state = CellState::kStopped;
  r.reason = "being made";
  r.being_made = word(ask, "filling") == "1" ? "filling" : "starting";
  TRY_SET(std::string folder, make_cell(cells_, r, policy));
  auto cell = std::make_unique<Kept>();
  cell->record = r;
  cell->folder = folder;
  cell->policy = std::move(policy);
  cell->secrets = std::move(secrets);
  cell->maker = asker.client;
  Kept* raw = cell.get();
  kept_.emplace(r.id, std::move(cell));
  std::string id = r.id;
  auto then = [this, asker, id](const Result<void>& started) {
    auto it = kept_.find(id);
    if (it == kept_.end()) return;
    if (started.ok()) answer_text(asker, inspect_json(*it->second));
    if (started.ok() && !clients_.contains(asker.client)) forget_unfilled(asker.client);
    if (started.ok()) return;
    // A cell that cannot be started is none.
    remove(*it->second, [this, asker, error = started.error()](const Result<void>&) { answer(asker, error); });
  };
  auto go_on = [this, asker, then, stopped = word(ask, "stopped") == "1"](Kept& made) {
    if (stopped) {
      made.record.reason = "not started yet";
      if (made.record.being_made == "starting") made.record.being_made.clear();
      save(made);
      return answer_text(asker, inspect_json(made));
    }
    if (auto started = start(made, then); !started.ok()) then(started);
  };
  if (!r.own_disk) {
    go_on(*raw);
    return {};
  }
  // Beside the loop: making a file system takes longer than all the rest.
  raw->busy = "its disk is being made";
  auto opened = std::make_shared<Result<std::shared_ptr<LayersDisk>>>(std::shared_ptr<LayersDisk>());
  work([opened, folder, size = raw->policy.limits.disk] { *opened = LayersDisk::open(folder, size); },
       [this, id, opened, then, go_on] {
         auto it = kept_.find(id);
         if (it == kept_.end()) return;
         it->second->busy.clear();
         if (!opened->ok()) return then(std::move(*opened).error());
         it->second->disk = std::move(*opened).value();
         go_on(*it->second);
       });
  return {};
}

Policy Keeper::running_policy(const Kept& cell) const {
  Policy p = cell.policy;
  p.limits.wall = p.limits.cpu_time = kForEver;  // each execution has its own
  p.limits.processes += kOurTasks;
  if (cell.record.network_phase == "agent") p.network = {};
  LastingWorkspace w;
  w.project = cell.record.project;
  w.folder = cell.folder;
  w.files.emplace_back("spawner", std::string(spawner_image()));
  w.files.emplace_back("shell.rc", shell_driver());
  secret_files(cell, w);
  p.lasting = std::move(w);
  return p;
}

Result<void> Keeper::start(Kept& cell, std::function<void(const Result<void>&)> then) {
  if (cell.record.state == CellState::kTerminated) return not_now(cat(cell.record.name, " is terminated: ", cell.record.reason));
  if (!cell.busy.empty()) return not_now(cat(cell.record.name, " is busy: ", cell.busy));
  if (cell.run) {
    if (cell.ready) then({});
    else cell.on_ready.push_back(std::move(then));
    return {};
  }
  if (cell.record.own_disk && !cell.disk) {
    TRY_SET(cell.disk, LayersDisk::open(cell.folder, cell.policy.limits.disk));
  }
  TRY(fresh_work_folder(cell.layers()));
  TRY_SET(sys::SocketPair pair, sys::seqpacket_pair());
  Request request;
  request.id = cell.record.id;
  request.argv = {kSpawnerPath};
  request.stdin_source = StdinSocket{pair.theirs.get()};
  std::string id = cell.record.id;
  request.on_enforcement = [this, id](const Enforcement& enforcement) {
    auto it = kept_.find(id);
    if (it == kept_.end()) return;
    it->second->record.enforcement.clear();
    for (const auto& l : enforcement.layers)
      it->second->record.enforcement.push_back({std::string(hotcell::to_string(l.layer)), {std::string(hotcell::to_string(l.status)), l.detail}});
  };
  request.on_network = [this, id](int door, int dns) { open_door(id, sys::Fd(door), sys::Fd(dns)); };
  request.on_usage = [this, id](const LiveUsage& used) { on_usage(id, used); };
  request.on_event = [this, id](const Event& event) {
    // The rest of what the launcher tells is about the spawner, which is nobody's program.
    if (auto it = kept_.find(id); it != kept_.end() && event.type == "security.violation") tell(*it->second, event);
  };
  TRY(arm_secrets(cell));
  watch_usage(cell);
  Policy policy = running_policy(cell);
  sys::Fd own_disk;
  if (cell.disk) {
    TRY_SET(own_disk, cell.disk->mount());
    policy.lasting->mount = own_disk.get();
  }
  auto run = launcher_->start(policy, std::move(request), [this, id](RunId, Result<Report> report) { ended(id, std::move(report)); });
  if (!run.ok()) return disarm_secrets(cell), std::move(run).error();
  cell.run = run.value();
  cell.ready = cell.stopping = false;
  cell.spawner_gone = {};
  cell.spawned = std::make_unique<Spawned>(std::move(pair.ours));
  cell.watch = watch(cell.spawned->fd(), EPOLLIN, [this, id](std::uint32_t) { on_spawner(id); });
  cell.on_ready.push_back(std::move(then));
  return {};
}

void Keeper::ended(const std::string& id, Result<Report> report) {
  auto it = kept_.find(id);
  if (it == kept_.end()) return;
  Kept& cell = *it->second;
  // What the spawner said before it went is still there to be heard.
  if (cell.spawned) on_spawner(id);
  if (cell.watch != 0) unwatch(std::exchange(cell.watch, 0), cell.spawned ? cell.spawned->fd() : -1);
  cell.spawned.reset();
  cell.run.reset();
  bool was_ready = std::exchange(cell.ready, false);
  bool asked = std::exchange(cell.stopping, false);
  std::string why;
  Error error = make_error(ErrorCode::kCancelled, "the cell has stopped");
  if (!report.ok()) {
    why = report.error().message;
    error = report.error();
  } else {
    const Verdict& v = report.value().verdict;
    why = v.reason == ExitReason::kMemory ? cat("memory limit: its programs together used more than ", format_bytes(cell.policy.limits.memory))
          : v.reason == ExitReason::kCancelled ? "it was stopped"
          : v.signal ? cat("its spawner was killed by signal ", *v.signal, " (a program in the cell can do that)")
                     : cat("its spawner ended: ", hotcell::to_string(v.reason), report.value().error.empty() ? "" : cat(": ", report.value().error));
  }
  if (!asked) {
    cell.record.reason = why;
    cell.record.state = CellState::kStopped;
  }
  cell.record.stopped = now();
  close_door(cell, [] {});
  disarm_secrets(cell);
  usage_ended(cell);
  bool memory = report.ok() && report.value().verdict.reason == ExitReason::kMemory;
  std::vector<std::uint64_t> all;
  for (auto& [number, e] : cell.executions) all.push_back(number);
  for (auto number : all) {
    Execution& e = cell.executions.at(number);
    if (e.ending) tell_ending(cell, e, false);
    if (!e.over) {
      if (!e.ours) tell(cell, "execution.killed", {{"execution", cat(number)}, {"exit_reason", memory ? "memory" : "cancelled"}});
      News n{};
      n.kind = NewsKind::kGone;
      if (e.on_news) e.on_news(n);
      // For memory it is the program's own end; for anything else the cell's.
      if (e.asker && memory) answer(*e.asker, Told{.number = 0, .last = true, .error = {}, .fields = {{"status", "9"}, {"reason", "memory"}}, .text = {}});
      else if (e.asker) answer(*e.asker, make_error(ErrorCode::kCancelled, cat("the cell ", cell.record.name, " has stopped: ", cell.record.reason)));
    }
    forget(cell, number);
  }
  cell.sessions.clear();
  save(cell);
  tell(cell, "sandbox.destroyed", {{"reason", cell.record.reason}});
  if (!was_ready)
    for (auto& then : std::exchange(cell.on_ready, {})) then(error);
  // Answers that never came must not be taken for those of the next spawner.
  for (auto& then : std::exchange(cell.on_done, {})) then(false);
  for (auto& then : std::exchange(cell.on_stopped, {})) then({});
}

void Keeper::stop(Kept& cell, std::string reason, std::function<void(const Result<void>&)> then) {
  if (!cell.run) {
    return then({});
  }
  cell.on_stopped.push_back(std::move(then));
  if (std::exchange(cell.stopping, true)) return;
  cell.record.state = CellState::kStopped;
  cell.record.reason = std::move(reason);
  launcher_->cancel(*cell.run);
}

Result<void> Keeper::pause(Kept& cell, bool by_idleness, std::function<void(const Result<void>&)> then) {
  if (cell.record.state == CellState::kPaused) return not_now(cat(cell.record.name, " is paused already"));
  if (cell.record.state != CellState::kRunning || !cell.ready)
    return not_now(cat(cell.record.name, " is ", to_string(cell.record.state), ", only a running cell can be paused"));
  auto done = [this, id = cell.record.id, by_idleness, then](const char* how) {
    auto it = kept_.find(id);
    if (it == kept_.end()) return;
    Kept& c = *it->second;
    c.record.state = CellState::kPaused;
    c.record.paused = now();
    c.paused_since = Clock::now();
    c.record.paused_by_idleness = by_idleness;
    c.record.paused_how = how;
    save(c);
    then({});
  };
  if (auto frozen = launcher_->freeze(*cell.run, true); frozen.ok()) {
    done("cgroup freezer");
    return {};
  }
  // Without a freezer every process is told to stop, which a parent can see and a debugger could undo.
  TRY(cell.spawned->tell(OrderKind::kStopAll, 0));
  cell.on_done.push_back([done, then](bool answered) {
    if (answered) done("SIGSTOP: no freezer may be used here");
    else then(make_error(ErrorCode::kCancelled, "the cell has stopped"));
  });
  return {};
}

Result<void> Keeper::resume(Kept& cell, std::function<void(const Result<void>&)> then) {
  // What was frozen went with its keeper; what can be had of it is the files, and that is said.
  if (cell.record.state == CellState::kStopped && !cell.run && cell.record.was_paused) return start(cell, std::move(then));
  if (cell.record.state != CellState::kPaused || !cell.run)
    return not_now(cat(cell.record.name, " is ", to_string(cell.record.state), ", only a paused cell can be resumed",
                                               cell.record.state == CellState::kStopped ? "; see hotcell cell start" : ""));
  auto done = [this, id = cell.record.id, then] {
    auto it = kept_.find(id);
    if (it == kept_.end()) return;
    Kept& c = *it->second;
    c.record.state = CellState::kRunning;
    c.record.resumed = now();
    c.record.paused_by_idleness = false;
    c.last_use = Clock::now();
    // Time that stood still is nobody's: deadlines move by it.
    auto still = c.last_use - c.paused_since;
    for (auto& [number, e] : c.executions)
      if (e.deadline != Clock::time_point::max()) e.deadline += still;
    for (auto& [name, session] : c.sessions) session->later(still);
    save(c);
    then({});
  };
  if (cell.record.paused_how == "cgroup freezer") {
    TRY(launcher_->freeze(*cell.run, false));
    done();
    return {};
  }
  TRY(cell.spawned->tell(OrderKind::kGoOn, 0));
  cell.on_done.push_back([done, then](bool answered) {
    if (answered) done();
    else then(make_error(ErrorCode::kCancelled, "the cell has stopped"));
  });
  return {};
}

void Keeper::awake(Kept& cell, std::function<void(const Result<void>&)> then) {
  cell.last_use = Clock::now();
  if (cell.stopping) return then(not_now(cat(cell.record.name, " is being stopped: ", cell.record.reason)));
  if (cell.run && !cell.ready) return cell.on_ready.push_back(std::move(then));
  if (cell.record.state == CellState::kRunning && cell.run) return then({});
  if (cell.record.state == CellState::kPaused && cell.record.paused_by_idleness) {
    if (auto resumed = resume(cell, then); !resumed.ok()) then(resumed);
    return;
  }
  std::string hint = cell.record.state == CellState::kPaused ? cat("; hotcell cell resume ", cell.record.name)
                     : cell.record.state == CellState::kStopped ? cat(" (", cell.record.reason, "); hotcell cell start ", cell.record.name)
                                                                : cat(" (", cell.record.reason, ")");
  then(not_now(cat(cell.record.name, " is ", to_string(cell.record.state), hint)));
}

void Keeper::remove(Kept& cell, std::function<void(const Result<void>&)> then) {
  if (!cell.busy.empty()) return then(not_now(cat(cell.record.name, " is busy: ", cell.busy)));
  std::string id = cell.record.id;
  cell.busy = "being removed";
  forget_decisions(cell);
  stop(cell, "being removed", [this, id, then = std::move(then)](const Result<void>&) {
    // Beside the loop: there may be much of it.
    auto removed = std::make_shared<Result<void>>();
    work([this, id, removed] { *removed = remove_cell(cells_, id); },
         [this, id, removed, then] {
           if (auto it = kept_.find(id); it != kept_.end()) {
             it->second->busy.clear();
             if (removed->ok()) {
               auto listeners = std::move(it->second->listeners);
               kept_.erase(it);
               for (const auto& asker : listeners) answer_text(asker, "");  // the last they hear
             }
           }
           then(*removed);
         });
  });
}

Result<void> Keeper::clean(const Asker& asker, const Ask& ask) {
  Nanoseconds age = time_word(ask, "older_ns");
  auto keep = parse_u64(word(ask, "keep"));
  std::vector<Kept*> newest;
  for (auto& [id, cell] : kept_) newest.push_back(cell.get());
  std::sort(newest.begin(), newest.end(), [](Kept* a, Kept* b) { return a->record.created > b->record.created; });
  std::string names;
  std::vector<std::string> ids;
  for (std::size_t i = 0; i < newest.size(); ++i) {
    const CellRecord& r = newest[i]->record;
    bool old = age.count() > 0 && now() - r.created >= age;
    bool many = keep && i >= *keep;
    // One that runs is in use, however old it is.
    if ((!old && !many) || r.state == CellState::kRunning || !newest[i]->busy.empty()) continue;
    ids.push_back(r.id);
    names += cat(r.name, "\n");
  }
  auto left = std::make_shared<std::size_t>(ids.size());
  auto failed = std::make_shared<Result<void>>();
  if (ids.empty()) answer_text(asker, "");
  for (const auto& id : ids)
    remove(*kept_.at(id), [this, left, failed, asker, names](const Result<void>& r) {
      if (!r.ok()) *failed = r;
      if (--*left == 0) answer(asker, *failed, names);
    });
  return {};
}

}  // namespace hotcell::cells
