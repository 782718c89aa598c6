// Usage and events of lasting cells.
//
// The launcher samples every cell it runs: often while something happens in it, every two seconds while nothing does. Those
// samples come here; no clock of ours runs for a cell. The files of a workspace are counted by a thread, and only after the
// cell has used CPU since the last count (where no control group tells that: while a program is there), or when a program has
// ended: what it wrote in a moment between two samples is seen before its end is told. So a cell that is idle costs a few reads of its control group every two seconds.
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <memory>
#include <utility>

#include "base/json_write.h"
#include "base/strings.h"
#include "cells/files/copy.h"
#include "cells/keeper/cell_usage.h"
#include "cells/keeper/keeper.h"
#include "cells/keeper/layers_disk.h"

namespace hotcell::cells {
namespace {

constexpr auto kBetweenKept = std::chrono::seconds(1);       // ten minutes of them are kept
constexpr auto kBetweenLooks = std::chrono::milliseconds(250);
constexpr int kLookShare = 20;                               // counting files takes a twentieth of the time at most
constexpr auto kShortLook = std::chrono::milliseconds(20);   // and what takes no longer is done at the end of every program
constexpr int kMostUncounted = 4;                            // looks in which the files could not be counted
constexpr std::size_t kMostListeners = 32;

// Of the host's making, not of a program's that does not want to be counted.
bool is_shortage(const Error& e) { return e.err == EMFILE || e.err == ENFILE || e.err == ENOMEM; }

bool is_number(std::string_view key) {
  return key == "current" || key == "max" || key == "exit_code" || key == "signal" || key == "duration" || key == "execution";
}

// The schema of --status-fd and the daemon's streams.
std::string event_line(const Event& event) {
  JsonWriter w;
  w.begin_object();
  w.field("type", std::string_view(event.type));
  w.field("id", std::string_view(event.id));
  w.field("time", std::string_view(rfc3339(std::chrono::time_point_cast<std::chrono::nanoseconds>(event.time))));
  for (const auto& [key, text] : event.fields) {
    auto number = is_number(key) ? parse_u64(text) : std::nullopt;
    if (number) w.field(key, *number);
    else w.field(key, std::string_view(text));
  }
  w.end_object();
  return w.take();
}

// Empty files and links take no bytes and still are the host's to keep: as many as a tmpfs of that size would take.
std::uint64_t most_names(Bytes disk) { return disk.n / 2048 + 1024; }

std::uint64_t permille(double cpus) { return cpus > 0 ? static_cast<std::uint64_t>(cpus * 1000) : 0; }

}  // namespace

void Keeper::watch_usage(Kept& cell) {
  const Limits& l = cell.policy.limits;
  cell.usage = std::make_shared<CellUsage>(cell.record.id, WatchLimits{permille(l.cpus), l.memory, l.disk, l.processes > 1 ? l.processes : 0});
}

void Keeper::tell(Kept& cell, std::string type, std::map<std::string, std::string> fields) {
  if (cell.listeners.empty()) return;
  tell(cell, Event{std::move(type), cell.record.id, std::chrono::system_clock::now(), std::move(fields)});
}

void Keeper::tell(Kept& cell, const Event& event) {
  if (cell.listeners.empty()) return;
  std::string line = event_line(event);
  auto to = cell.listeners;
  for (const auto& asker : to) answer(asker, Told{.number = 0, .last = false, .error = {}, .fields = {}, .text = line});
  std::erase_if(cell.listeners, [&](const Asker& a) { return !clients_.contains(a.client); });
}

void Keeper::tell_end(Kept& cell, const Execution& e, const News& n) {
  if (cell.listeners.empty()) return;
  std::map<std::string, std::string> fields = {{"execution", cat(e.id)}};
  if (n.kind == NewsKind::kExited && WIFEXITED(n.status)) fields["exit_code"] = cat(WEXITSTATUS(n.status));
  if (n.kind == NewsKind::kExited && WIFSIGNALED(n.status)) fields["signal"] = cat(WTERMSIG(n.status));
  fields["exit_reason"] = !e.killed_for.empty() ? e.killed_for : n.kind != NewsKind::kExited ? "sandbox_error" : WIFSIGNALED(n.status) ? "signal" : "exited";
  fields["duration"] = cat(static_cast<std::uint64_t>(std::max<std::int64_t>((now() - e.started).count(), 0)));
  tell(cell, e.killed_for.empty() ? "execution.completed" : "execution.killed", std::move(fields));
}

void Keeper::on_usage(const std::string& id, const LiveUsage& now_used) {
  auto it = kept_.find(id);
  if (it == kept_.end() || !it->second->usage) return;
  Kept& cell = *it->second;
  CellUsage& u = *cell.usage;
  UsageSample s;
  s.at = std::chrono::time_point_cast<std::chrono::milliseconds>(std::chrono::system_clock::now());
  s.cpu = now_used.cpu;
  s.memory = now_used.memory;
  s.read = now_used.io_read;
  s.written = now_used.io_written;
  // The spawner and a minder for each execution are ours; the limit is for the user's programs.
  std::uint64_t ours = 1 + cell.executions.size();
  s.processes = now_used.tasks > ours ? now_used.tasks - ours : 0;
  if (auto disk = cell.disk ? cell.disk->used() : std::nullopt) u.disk = disk->bytes, u.inodes = disk->inodes;
  // What was given back between the sample and the count is not counted with what has taken its place: the less of two samples counts.
  u.nameless = std::min(std::exchange(u.nameless_seen, now_used.disk), now_used.disk);
  s.disk = u.disk;
  u.last = s;
  const Limits& l = cell.policy.limits;
  bool notable = s.memory.n >= l.memory.n - l.memory.n / 5 || s.processes >= l.processes - l.processes / 5;
  auto at = Clock::now();
  const bool was_notable = std::exchange(u.notable, notable);
  if (notable || was_notable || at - u.kept >= kBetweenKept) {
    u.kept = at;
    u.watch.add(s);
    for (const auto& warning : u.watch.take_warnings()) tell(cell, warning);
  }
  // Hundreds of megabytes are allocated in less than a tick of the clock. Where no control group counts CPU time it is a number of whole
  // ticks, in which that does not show: there it is looked while any program is there.
  static const std::int64_t kTick = 1'000'000'000 / ::sysconf(_SC_CLK_TCK);
  const bool hidden = s.cpu.count() % kTick == 0 && (s.processes > 0 || !cell.executions.empty());
  if (!cell.disk && !u.looking && at >= u.next_look && (s.cpu != u.cpu_at_look || u.stale || hidden || u.nameless != u.nameless_at_look)) look_at_disk(cell, {});
  for (auto& then : std::exchange(u.on_sample, {})) then();
}

void Keeper::look_at_disk(Kept& cell, std::function<void()> then, bool open_files) {
  std::shared_ptr<CellUsage> u = cell.usage;
  if (!u || cell.disk || u->looking) {
    if (then) then();
    return;
  }
  u->looking = true;
  u->stale = false;
  u->cpu_at_look = u->last.cpu;
  const Bytes nameless = open_files ? u->nameless : Bytes{};
  u->nameless_at_look = nameless;
  struct Looked {
    Result<DiskUsage> found = DiskUsage{};
    Nanoseconds took{0};
  };
  auto looked = std::make_shared<Looked>();
  work([looked, upper = cat(cell.folder, "/upper")] {
         auto begun = Clock::now();
         looked->found = usage(upper);
         looked->took = Clock::now() - begun;
       },
       [this, looked, u, nameless, id = cell.record.id, then = std::move(then)] {
         u->looking = false;
         u->took = looked->took;
         u->next_look = Clock::now() + std::max<Nanoseconds>(kBetweenLooks, looked->took * kLookShare);
         auto it = kept_.find(id);
         if (looked->found.ok()) {
           u->uncounted = 0;
           u->disk = {looked->found.value().bytes.n + nameless.n};
           u->inodes = looked->found.value().inodes;
           u->last.disk = u->disk;
           if (it != kept_.end() && it->second->usage == u && judge_disk(*it->second)) ++u->stops;
         } else if (it != kept_.end() && it->second->usage == u && !is_shortage(looked->found.error()) && ++u->uncounted >= kMostUncounted) {
           // What nobody can count may be any size. In between there is time to remove it.
           ::dprintf(2, "%s: %s\n", id.c_str(), looked->found.error().message.c_str());
           u->uncounted = 0;
           ++u->stops;
           stop_for_disk(*it->second);
         }
         if (then) then();
         auto waiting = std::exchange(u->next_look_told, {});
         if (waiting.empty()) return;
         auto all = [waiting = std::move(waiting)] {
           for (const auto& told : waiting) told();
         };
         it = kept_.find(id);
         if (it != kept_.end() && it->second->usage == u) look_at_disk(*it->second, all, false);
         else all();
       });
}

// For a program that has just ended. Without CPU time to speak of it may have filled the disk between two samples, so this does
// not ask for any. Where counting takes long it is left to the next sample: programs that end often would do nothing else.
void Keeper::look_once_more(Kept& cell, std::function<void(bool)> then) {
  std::shared_ptr<CellUsage> u = cell.usage;
  if (!u || cell.disk) return then(false);
  u->stale = true;
  if (u->took > kShortLook && Clock::now() < u->next_look) return then(false);
  auto told = [u, before = u->stops, then = std::move(then)] { then(u->stops != before); };
  if (u->looking) u->next_look_told.push_back(std::move(told));
  else look_at_disk(cell, std::move(told), false);  // it holds nothing open any more, and the last sample may say that it does
}

// Where no file system holds the limit: programs are stopped when they have passed it. What removes files goes on: only
// growing further is an offence once they were stopped.
bool Keeper::judge_disk(Kept& cell) {
  CellUsage& u = *cell.usage;
  u.last.at = std::chrono::time_point_cast<std::chrono::milliseconds>(std::chrono::system_clock::now());
  const Bytes most = cell.policy.limits.disk;
  if (u.disk.n >= most.n - most.n / 5) {
    u.watch.add(u.last);
    for (const auto& warning : u.watch.take_warnings()) tell(cell, warning);
  }
  auto grows = [](std::uint64_t used, std::uint64_t limit, std::uint64_t& over) {
    const bool more = used > limit && (over == 0 || used > over);
    if (more || used <= limit) over = more ? used : 0;
    return more;
  };
  const bool bytes = grows(u.disk.n, most.n, u.over), names = grows(u.inodes, most_names(most), u.over_names);
  if (bytes || names) stop_for_disk(cell);
  return bytes || names;
}

void Keeper::stop_for_disk(Kept& cell) {
  std::vector<std::uint64_t> all;
  for (auto& [number, e] : cell.executions) all.push_back(number);
  for (auto number : all) {
    auto e = cell.executions.find(number);
    if (e == cell.executions.end()) continue;
    if (e->second.over) end_left_behind(cell, e->second, "disk");
    else kill_execution(cell, e->second, "disk");
  }
}

std::string Keeper::usage_json(const Kept& cell) const {
  const Limits& l = cell.policy.limits;
  const CellUsage* u = cell.usage.get();
  UsageSample s = u ? u->last : UsageSample{};
  JsonWriter w;
  w.begin_object();
  w.field("id", std::string_view(cell.record.id));
  w.field("name", std::string_view(cell.record.name));
  w.field("status", to_string(cell.record.state));
  w.key("current");
  w.begin_object();
  w.field("cpu_time_ns", static_cast<std::int64_t>(s.cpu.count()));
  w.field("memory_bytes", cell.run ? s.memory.n : 0);
  w.field("disk_bytes", u ? u->disk.n : 0);
  w.field("files", u ? u->inodes : 0);
  w.field("processes", cell.run ? s.processes : 0);
  w.field("io_read_bytes", s.read.n);
  w.field("io_written_bytes", s.written.n);
  w.end_object();
  w.key("limits");
  w.begin_object();
  w.field("cpus", l.cpus);
  w.field("memory_bytes", l.memory.n);
  w.field("disk_bytes", l.disk.n);
  w.field("processes", l.processes);
  w.end_object();
  w.field("disk_held_by", cell.disk ? "a file system of that size" : "samples");
  w.end_object();
  std::string text = w.take();
  text.pop_back();
  return cat(text, ",\"series\":", u ? u->watch.series_json() : LimitWatch("", {}).series_json(), "}\n");
}

void Keeper::answer_usage(const Asker& asker, Kept& cell) {
  if (!cell.usage) watch_usage(cell);
  auto tell_it = [this, asker, id = cell.record.id] {
    if (auto it = kept_.find(id); it != kept_.end()) answer_text(asker, usage_json(*it->second));
    else answer(asker, make_error(ErrorCode::kNotFound, "the cell is gone"));
  };
  if (cell.disk)
    if (auto disk = cell.disk->used()) cell.usage->disk = disk->bytes, cell.usage->inodes = disk->inodes;
  look_at_disk(cell, [this, id = cell.record.id, tell_it] {
    auto it = kept_.find(id);
    if (it == kept_.end() || !it->second->run || !it->second->ready || !it->second->usage) return tell_it();
    // As it is now, not as it was up to two seconds ago.
    it->second->usage->on_sample.push_back(tell_it);
    launcher_->attend(*it->second->run);
  });
}

void Keeper::usage_ended(Kept& cell) {
  if (!cell.usage) return;
  for (auto& then : std::exchange(cell.usage->on_sample, {})) then();
}

bool Keeper::monitor_verb(const Asker& asker, const Ask& ask) {
  if (ask.verb != "usage" && ask.verb != "events") return false;
  auto found = find(ask.cell);
  if (!found.ok()) return answer(asker, std::move(found).error()), true;
  Kept& cell = *found.value();
  if (ask.verb == "usage") return answer_usage(asker, cell), true;
  if (cell.listeners.size() >= kMostListeners) return answer(asker, make_error(ErrorCode::kLimit, cat(cell.record.name, " has ", kMostListeners, " listeners already"))), true;
  cell.listeners.push_back(asker);
  // Said at once: whoever waits for events knows from when on none is missed.
  answer(asker, Told{.number = 0, .last = false, .error = {}, .fields = {{"listening", "1"}}, .text = {}});
  return true;
}

}  // namespace hotcell::cells
