#include "cells/keeper/keeper.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/file.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>

#include "base/strings.h"
#include "cells/keeper/criu.h"
#include "cells/keeper/door_process.h"
#include "cells/keeper/layers_disk.h"
#include "cells/keeper/held_context.h"
#include "cells/keeper/session.h"
#include "sys/epoll.h"
#include "sys/file.h"
#include "sys/thread.h"

namespace hotcell::cells {
namespace {

// Long enough for one command after another to meet the same keeper.
constexpr auto kLinger = std::chrono::seconds(2);
constexpr std::size_t kMostClients = 256;
constexpr auto kSpawnerTime = std::chrono::seconds(1);  // without a spawner a cell ends by itself
constexpr int kWorkAgainMs = 100;  // between two tries to get a thread

}  // namespace

std::size_t Kept::living() const {
  return static_cast<std::size_t>(std::count_if(executions.begin(), executions.end(), [](const auto& e) { return !e.second.over && !e.second.ours; }));
}

bool Kept::in_use() const {
  return living() > 0 || !busy.empty() || std::any_of(sessions.begin(), sessions.end(), [](const auto& s) { return s.second->in_use(); }) ||
         std::any_of(contexts.begin(), contexts.end(), [](const auto& c) { return c.second->busy || c.second->starting; });
}

Result<int> Keeper::serve(const std::string& state) {
  Keeper keeper;
  auto opened = keeper.open(state);
  if (!opened.ok()) {
    if (opened.error().err == EWOULDBLOCK) return 0;
    return std::move(opened).error();
  }
  auto served = keeper.loop();
  // Cells end with the launcher, and their ends are written down while the rest is still there.
  for (auto& [id, cell] : keeper.kept_) {
    if (!cell->run) continue;
    cell->record.was_paused = cell->record.state == CellState::kPaused;
    keeper.stop(*cell, "the keeper ended: its processes are gone, its files are here", [](const Result<void>&) {});
  }
  for (int i = 0; i < 200 && keeper.launcher_->running() > 0; ++i)
    keeper.launcher_->step(std::chrono::milliseconds(10)).ignore("it is over either way");
  // What is being done to files is done: its threads have us in hand.
  while (keeper.working_ > 0) {
    pollfd ready{keeper.wakeup_.get(), POLLIN, 0};
    ::poll(&ready, 1, keeper.unstarted_.empty() ? 1000 : kWorkAgainMs);
    keeper.on_worked();
    keeper.start_work();
  }
  // What went through the doors of those cells is still to be told; a second is enough for who answers at all.
  for (int i = 0; i < 100 && !keeper.doors_.empty(); ++i) {
    auto all = keeper.doors_;
    for (auto& door : all) door->on_readable();
    keeper.sweep_doors();
    if (!keeper.doors_.empty()) ::poll(nullptr, 0, 10);
  }
  for (auto& door : keeper.doors_) door->end("the keeper has ended");
  keeper.launcher_.reset();
  if (!served.ok()) return std::move(served).error();
  return 0;
}

Result<void> Keeper::open(const std::string& state) {
  TRY_SET(cells_, make_cells_folder(state));
  // Told to end, it stops its cells in order; killed, it takes them with it. Blocked before there is any other thread, which
  // would be ended by them.
  sigset_t ends;
  ::sigemptyset(&ends);
  for (int s : {SIGTERM, SIGINT, SIGHUP}) ::sigaddset(&ends, s);
  ::sigprocmask(SIG_BLOCK, &ends, nullptr);
  signals_ = sys::Fd(::signalfd(-1, &ends, SFD_CLOEXEC | SFD_NONBLOCK));
  if (!signals_.valid()) return errno_error("signalfd", errno);
  TRY_SET(lock_, sys::open(cat(cells_, "/", std::string_view(kLockName)).c_str(), O_RDWR | O_CREAT | O_NOFOLLOW, 0600));
  if (::flock(lock_.get(), LOCK_EX | LOCK_NB) < 0) return errno_error("another keeper is there", errno);
  rlimit files{};
  if (::getrlimit(RLIMIT_NOFILE, &files) == 0) {
    files.rlim_cur = files.rlim_max;
    ::setrlimit(RLIMIT_NOFILE, &files);
  }
  sweep(cells_);
  TRY_SET(launcher_, Launcher::create());
  wakeup_ = sys::Fd(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
  if (!wakeup_.valid()) return errno_error("eventfd", errno);
  epoll_ = sys::Fd(::epoll_create1(EPOLL_CLOEXEC));
  if (!epoll_.valid()) return errno_error("epoll_create1", errno);
  TRY(recover());
  TRY_SET(listener_, listen_in(cells_, kSocketName));
  watch(listener_.get(), EPOLLIN, [this](std::uint32_t) { on_connect(); });
  watch(launcher_->poll_fd(), EPOLLIN, [](std::uint32_t) {});  // step() in the loop
  watch(wakeup_.get(), EPOLLIN, [this](std::uint32_t) { on_worked(); });
  watch(signals_.get(), EPOLLIN, [this](std::uint32_t) { told_to_end_ = true; });
  if (const char* most = ::getenv("HOTCELL_MAX_CELLS"))
    if (auto n = parse_u64(most); n && *n > 0 && *n <= kMostMaxCells) most_cells_ = static_cast<std::size_t>(*n);
  auto found = std::make_shared<std::string>();
  work([found] { *found = look_for_criu(); }, [this, found] { criu_ = *found; });
  idle_since_ = Clock::now();
  return {};
}

std::uint64_t Keeper::watch(int fd, std::uint32_t events, Handler handler) {
  std::uint64_t key = ++last_key_;
  epoll_event event{};
  event.events = events;
  event.data.u64 = key;
  if (::epoll_ctl(epoll_.get(), EPOLL_CTL_ADD, fd, &event) < 0) return 0;
  handlers_.emplace(key, std::move(handler));
  return key;
}
void Keeper::rewatch(std::uint64_t key, int fd, std::uint32_t events) {
  epoll_event event{};
  event.events = events;
  event.data.u64 = key;
  ::epoll_ctl(epoll_.get(), EPOLL_CTL_MOD, fd, &event);
}
void Keeper::unwatch(std::uint64_t key, int fd) {
  if (handlers_.erase(key) > 0 && fd >= 0) ::epoll_ctl(epoll_.get(), EPOLL_CTL_DEL, fd, nullptr);
}

void Keeper::work(std::function<void()> task, std::function<void()> then) {
  ++working_;
  unstarted_.push_back(std::make_shared<Undone>(std::move(task), std::move(then)));
  start_work();
}

// A host that gives us no thread now may give one later: what is to be done waits in its order, and our cells live on.
void Keeper::start_work() {
  for (; !unstarted_.empty(); unstarted_.pop_front()) {
    auto thread = sys::quiet_thread([this, what = unstarted_.front()]() mutable {
      what->task();
      auto then = std::move(what->then);
      what.reset();
      // With the mutex to the last: whoever takes this from the list may be ending, and the keeper with it.
      std::lock_guard hold(mutex_);
      finished_.push_back(std::move(then));
      std::uint64_t one = 1;
      (void)!::write(wakeup_.get(), &one, sizeof one);
    });
    if (!thread.ok()) return;
    thread.value().detach();
  }
}

void Keeper::on_worked() {
  std::uint64_t count;
  (void)!::read(wakeup_.get(), &count, sizeof count);
  std::deque<std::function<void()>> done;
  {
    std::lock_guard hold(mutex_);
    done.swap(finished_);
  }
  for (auto& then : done) {
    --working_;
    then();
  }
}

bool Keeper::idle() const {
  if (!clients_.empty() || working_ > 0 || !doors_.empty()) return false;
  return std::none_of(kept_.begin(), kept_.end(), [](const auto& k) { return k.second->run.has_value(); });
}

Clock::time_point Keeper::next_due() const {
  auto due = Clock::now() + std::chrono::seconds(60);
  if (idle()) due = std::min(due, idle_since_ + kLinger);
  due = std::min({due, doors_due(), parked_due()});
  if (!unstarted_.empty()) due = std::min(due, Clock::now() + std::chrono::milliseconds(kWorkAgainMs));
  for (const auto& [id, cell] : kept_) {
    if (cell->record.ttl.count() > 0 && cell->record.state != CellState::kTerminated && !cell->stopping) {
      auto left = cell->record.created + cell->record.ttl - now();
      due = std::min(due, Clock::now() + std::max<Nanoseconds>(left, std::chrono::milliseconds(1)));
    }
    if (!cell->run) continue;
    if (cell->spawner_gone != Clock::time_point{}) due = std::min(due, cell->spawner_gone + kSpawnerTime);
    // What stands still has no deadlines.
    if (cell->record.state == CellState::kPaused) continue;
    for (const auto& [number, e] : cell->executions)
      if (!e.over) due = std::min(due, e.deadline);
    for (const auto& [name, session] : cell->sessions) due = std::min(due, session->due());
    if (cell->record.idle_pause.count() > 0 && cell->record.state == CellState::kRunning)
      due = std::min(due, cell->last_use + cell->record.idle_pause);
  }
  return due;
}

Result<void> Keeper::loop() {
  std::vector<epoll_event> events(64);
  for (;;) {
    TRY(launcher_->step(std::chrono::milliseconds(0)));
    if (told_to_end_) return {};
    timers();
    bool resting = idle();
    if (!resting) idle_since_ = Clock::now();
    else if (Clock::now() - idle_since_ >= kLinger) {
      // Somebody may be connecting at this very moment: they are served, or find nobody and start anew.
      ::unlinkat(AT_FDCWD, cat(cells_, "/", std::string_view(kSocketName)).c_str(), 0);
      on_connect();
      if (clients_.empty()) return {};
      TRY_SET(listener_, listen_in(cells_, kSocketName));
      watch(listener_.get(), EPOLLIN, [this](std::uint32_t) { on_connect(); });
    }
    auto wait = std::chrono::ceil<std::chrono::milliseconds>(next_due() - Clock::now()).count();
    int n = ::epoll_wait(epoll_.get(), events.data(), static_cast<int>(events.size()), static_cast<int>(std::clamp<long long>(wait, 0, 60'000)));
    if (n < 0 && errno != EINTR) return errno_error("epoll_wait", errno);
    for (int i = 0; i < n; ++i) {
      auto it = handlers_.find(events[static_cast<std::size_t>(i)].data.u64);
      if (it == handlers_.end()) continue;
      Handler handler = it->second;  // it may take itself out
      handler(events[static_cast<std::size_t>(i)].events);
    }
  }
}

void Keeper::on_connect() {
  for (;;) {
    sys::Fd socket(::accept4(listener_.get(), nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK));
    if (!socket.valid()) return;
    ucred who{};
    socklen_t size = sizeof who;
    // Root may, and whoever the cells belong to; the folder's mode says the same.
    if (::getsockopt(socket.get(), SOL_SOCKET, SO_PEERCRED, &who, &size) < 0 || (who.uid != ::geteuid() && who.uid != 0)) continue;
    if (clients_.size() >= kMostClients) continue;
    std::uint64_t id = ++last_client_;
    Client& client = clients_[id];
    client.id = id;
    client.socket = std::move(socket);
    client.watch = watch(client.socket.get(), EPOLLIN, [this, id](std::uint32_t) { on_client(id); });
    answer({id, 0}, hello());
  }
}

void Keeper::on_client(std::uint64_t id) {
  for (int rounds = 0; rounds < 16; ++rounds) {
    auto it = clients_.find(id);
    if (it == clients_.end()) return;
    auto got = receive_message(it->second.socket.get(), MSG_DONTWAIT);
    if (got.ok() && got.value().again) return;
    Ask ask;
    if (!got.ok() || got.value().closed || !unpack(got.value().bytes, ask)) return drop(id);
    dispatch({id, ask.number}, ask, std::move(got.value().fds));
  }
}

void Keeper::drop(std::uint64_t id) {
  auto it = clients_.find(id);
  if (it == clients_.end()) return;
  unwatch(it->second.watch, it->second.socket.get());
  clients_.erase(it);
  forget_parked({id, 0}, true);
  forget_unfilled(id);
  // Nobody waits for what it started: an execution ends with its client, unless it was told to go on.
  for (auto& [cell_id, cell] : kept_) {
    for (auto& [name, session] : cell->sessions) session->forget_client(id);
    forget_caller(*cell, id);
    for (auto& [number, e] : cell->executions) {
      if (!e.asker || e.asker->client != id) continue;
      e.asker.reset();
      if (!e.over) kill_execution(*cell, e, "cancelled");
      else drain(e);
    }
  }
}

void Keeper::answer(const Asker& asker, Told told, std::span<const int> fds) {
  auto it = clients_.find(asker.client);
  if (it == clients_.end()) return;
  told.number = asker.number;
  clean_told(told);
  // A client that does not read what it asked for is not waited for.
  if (!send_message(it->second.socket.get(), pack(told), fds, MSG_DONTWAIT).ok()) drop(asker.client);
}

void Keeper::answer(const Asker& asker, const Result<void>& result, std::string text) {
  if (result.ok()) answer_text(asker, std::move(text));
  else answer(asker, result.error());
}

void Keeper::dispatch(const Asker& asker, const Ask& ask, std::vector<sys::Fd> fds, bool decided) {
  auto reply = [this, asker](const Result<void>& r) { answer(asker, r); };
  auto noting = [this, asker](std::string note) {
    return [this, asker, note = std::move(note)](const Result<void>& r) {
      if (!r.ok() || note.empty()) return answer(asker, r);
      answer(asker, Told{.number = 0, .last = true, .error = {}, .fields = {{"note", note}}, .text = {}});
    };
  };
  if (ask.verb == "bind") {
    if (!bind(asker, ask)) drop(asker.client);
    return;
  }
  if (auto allowed = may(asker, ask); !allowed.ok()) return answer(asker, std::move(allowed).error());
  if (hold(asker, ask, fds)) return;
  if (!decided && judged(asker, ask, fds)) return;
  auto wants_cell = [&](auto body) {
    auto cell = find(ask.cell);
    if (!cell.ok()) return answer(asker, std::move(cell).error());
    Result<void> done = body(*cell.value());
    if (!done.ok()) answer(asker, std::move(done).error());
  };
  if (ask.verb == "exec") return exec(asker, ask, std::move(fds));
  if (ask.verb == "list") return answer_text(asker, list_json(ask));
  if (ask.verb == "create") {
    if (auto made = create(asker, ask); !made.ok()) answer(asker, std::move(made).error());
    return;
  }
  if (ask.verb == "clean") {
    if (auto done = clean(asker, ask); !done.ok()) answer(asker, std::move(done).error());
    return;
  }
  if (ask.verb == "end") {
    told_to_end_ = true;
    return answer_text(asker, "");
  }
  if (ask.verb == "kill" || ask.verb == "drained") {
    if (ask.verb == "kill")
      for (auto& [id, cell] : kept_) interrupt_caller(*cell, asker);
    for (auto& [id, cell] : kept_)
      for (auto& [number, e] : cell->executions)
        if (e.asker && e.asker->client == asker.client && e.asker->number == asker.number) {
          if (ask.verb == "kill") return kill_execution(*cell, e, ask.words.empty() ? "cancelled" : ask.words[0]);
          e.asker.reset();
          return drain(e);
        }
    return;
  }
  if (ask.verb == "inspect") return wants_cell([&](Kept& c) -> Result<void> { return answer_text(asker, inspect_json(c)), Result<void>(); });
  if (ask.verb == "start") return wants_cell([&](Kept& c) -> Result<void> {
    TRY(renew_secrets(c, ask));
    return start(c, reply);
  });
  if (ask.verb == "pause")
    return wants_cell([&](Kept& c) { return pause(c, false, noting(cat("the processes of ", c.record.name, " are kept in memory alone, and gone when the keeper goes: ", criu_))); });
  if (ask.verb == "resume")
    return wants_cell([&](Kept& c) { return resume(c, noting(c.run || !c.record.was_paused ? std::string() : cat(c.record.name, ": ", kStartedAnew))); });
  if (ask.verb == "filled") return wants_cell([&](Kept& c) { return filled(asker, c); });
  if (ask.verb == "stop") return wants_cell([&](Kept& c) -> Result<void> { return stop(c, "stopped by request", reply), Result<void>(); });
  if (ask.verb == "rm") return wants_cell([&](Kept& c) -> Result<void> { return remove(c, reply), Result<void>(); });
  if (monitor_verb(asker, ask) || network_verb(asker, ask) || desk_verb(asker, ask)) return;
  if (file_verb(asker, ask) || shell_verb(asker, ask, fds) || context_verb(asker, ask)) return;
  answer(asker, make_error(ErrorCode::kInvalid, cat("the keeper knows no ", printable(ask.verb))));
}

bool Keeper::bind(const Asker& asker, const Ask& ask) {
  auto it = clients_.find(asker.client);
  if (it == clients_.end() || it->second.bounds) return false;
  auto bounds = read_bounds(ask);
  if (!bounds.ok()) return false;
  it->second.bounds = std::make_shared<const Bounds>(std::move(bounds).value());
  most_cells_ = it->second.bounds->most;
  // One connection for all callers of a daemon: much may be on its way at once.
  const int size = 8 << 20;
  if (::setsockopt(it->second.socket.get(), SOL_SOCKET, SO_SNDBUFFORCE, &size, sizeof size) < 0) ::setsockopt(it->second.socket.get(), SOL_SOCKET, SO_SNDBUF, &size, sizeof size);
  answer_text(asker, "");
  return true;
}

Result<void> Keeper::may(const Asker& asker, const Ask& ask) {
  auto it = clients_.find(asker.client);
  if (it == clients_.end() || !it->second.bounds) return {};
  TRY(check_ask(ask));
  if (only_looks(ask.verb) || ask.verb == "create") return {};  // create looks at the policy it was given
  auto cell = find(ask.cell);
  if (!cell.ok()) return std::move(cell).error();
  const CellRecord& r = cell.value()->record;
  TRY(may_use_secrets(r));
  auto words = r.network.find("ceiling");
  return check_cell(*it->second.bounds, cell.value()->policy, r.project, words == r.network.end() ? std::string() : words->second);
}

void Keeper::timers() {
  auto at = Clock::now();
  start_work();
  door_timers(at);
  parked_timers(at);
  for (auto& [id, cell] : kept_) {
    if (cell->record.ttl.count() > 0 && cell->record.state != CellState::kTerminated && !cell->stopping && now() >= cell->record.created + cell->record.ttl) {
      stop(*cell, "its time to live is over", [this, gone = id](const Result<void>&) {
        auto it = kept_.find(gone);
        if (it == kept_.end()) return;
        it->second->record.state = CellState::kTerminated;
        it->second->record.reason = "its time to live is over";
        save(*it->second);
      });
      continue;
    }
    context_timers(*cell);
    if (cell->run && cell->spawner_gone != Clock::time_point{} && at >= cell->spawner_gone + kSpawnerTime) {
      cell->spawner_gone = at;
      launcher_->cancel(*cell->run);
    }
    if (!cell->run || !cell->ready || cell->record.state == CellState::kPaused) continue;
    for (auto& [number, e] : cell->executions)
      if (!e.over && e.deadline <= at) kill_execution(*cell, e, "timeout_wall");
    session_timers(*cell, at);
    if (cell->record.idle_pause.count() > 0 && cell->record.state == CellState::kRunning && at >= cell->last_use + cell->record.idle_pause) {
      cell->last_use = at;
      if (!cell->in_use()) pause(*cell, true, [](const Result<void>&) {}).ignore("it stays awake, and is tried again when it is next idle");
    }
  }
}

}  // namespace hotcell::cells
