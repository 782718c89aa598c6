// The loop: one epoll over every living cell. Cells are made ahead for parked policies and on demand otherwise; both
// take the same steps, a parked one has merely taken them before it was asked for.
#include "hotcell/launcher.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/timerfd.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <map>
#include <thread>

#include "base/strings.h"
#include "core/launch/around_machine.h"
#include "core/launch/cell.h"
#include "core/launch/init_image.h"
#include "core/launch/parts.h"
#include "core/launch/stock.h"
#include "core/launch/workspace.h"
#include "core/policy/same_cell.h"
#include "sys/epoll.h"
#include "sys/file.h"
#include "sys/uuid.h"

namespace hotcell {
namespace {

// Not the control socket: what init says there is read when it is gone, or when somebody wants to kill it.
constexpr Cell::Source kSources[] = {Cell::Source::kProg,        Cell::Source::kStdout,
                                     Cell::Source::kStderr, Cell::Source::kStdin,      Cell::Source::kStdinSource,
                                     Cell::Source::kPidfd, Cell::Source::kListener,    Cell::Source::kMemory};

struct Run {
  std::unique_ptr<Cell> cell;
  std::shared_ptr<Kept> kept;      // what it is made of
  std::optional<Request> request;  // until the cell is ready for it
  OnOutput past_limit = OnOutput::kKill;  // of that request
  Launcher::Done done;
  RunId id = 0;
  std::uint64_t stock = 0;         // nobody waits: it is to be parked there
  bool for_stock() const { return stock != 0; }
};

// Whoever is told of an end passes the answer on, often on the processor that we run on: what nobody waits for comes after that.
constexpr auto kPassedOnWithin = std::chrono::microseconds(500);
constexpr std::size_t kManyLeaving = 16;  // what they hold others may want

class LauncherImpl final : public Launcher {
 public:
  ~LauncherImpl() override {
    runs_.clear();
    parts_.close();
  }

  Result<void> open(LauncherOptions options, bool kvm_device = false) {
    if (options.backend == "native") backend_ = BackendKind::kNative;
    else if (options.backend == "landlock") backend_ = BackendKind::kLandlock;
    else if (options.backend == "outer") backend_ = BackendKind::kOuter;
    else return make_error(ErrorCode::kInvalid, cat("unknown backend: ", printable(options.backend), " (native, landlock)"));
    TRY_SET(host_, Host::look());
    host_.kvm_device = kvm_device;
    TRY_SET(init_, load_init(options.init_path));
    timer_ = sys::Fd(::timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK));
    if (!timer_.valid()) return errno_error("timerfd_create", errno);
    // Edge: it need not be read, setting it again re-arms it.
    TRY_SET(epoll_, sys::epoll_with(timer_.get(), EPOLLIN | EPOLLET));
    at_once_ = sys::Fd(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
    if (!at_once_.valid()) return errno_error("eventfd", errno);
    epoll_event event{};
    event.events = EPOLLIN | EPOLLET;
    if (::epoll_ctl(epoll_.get(), EPOLL_CTL_ADD, at_once_.get(), &event) < 0) return errno_error("epoll_ctl", errno);
    parts_.open(&host_, init_.get(), backend_);
    sweep_ = options.sweep;
    if (sweep_) sweep_cgroups(host_.cgroup);
    if (sweep_ && backend_ == BackendKind::kLandlock) sweep_flat_folders();
    return {};
  }

  Result<RunId> start(const Policy& policy, Request request, Done done) override {
    last_busy_ = Clock::now();
    if (Stock* stock = stock_with_cells(policy, request.runtime.get()))
      return hand_over(*stock, std::move(request), policy.on_output, std::move(done));
    TRY(give_id(request));
    const auto* socket = std::get_if<StdinSocket>(&request.stdin_source);
    Run* run = socket == nullptr ? take_coming(policy) : nullptr;
    if (run == nullptr) {
      TRY_SET(std::shared_ptr<Kept> kept, parts_.plan_for(policy));
      TRY_SET(run, spawn(kept, false, request.outer.get(), socket == nullptr ? -1 : socket->fd));
    }
    run->request = std::move(request);
    run->past_limit = policy.on_output;
    run->done = std::move(done);
    return run->id;
  }

  Result<void> step(std::chrono::milliseconds at_most) override {
    if (!parts_.nothing_leaving() && (Clock::now() >= passed_on_ || parts_.leaving() >= kManyLeaving)) parts_.clear_away();
    for (auto& s : stocks_) s->note_level();
    // Not a new time with every step: setting the timer is a call.
    if (auto now = Clock::now(); next_look_ <= now) next_look_ = now + std::chrono::milliseconds(2);
    epoll_event events[64];
    auto due = next_due();
    auto now = Clock::now();
    auto wait = std::min<Nanoseconds>(at_most, due ? std::max<Nanoseconds>(*due - now, Nanoseconds(0)) : Nanoseconds(at_most));
    int n = ::epoll_wait(epoll_.get(), events, 64, static_cast<int>(std::chrono::ceil<std::chrono::milliseconds>(wait).count()));
    if (n < 0 && errno != EINTR) return errno_error("epoll_wait", errno);
    bool quiet = true;
    // Those that somebody waits for come first: making a cell ahead is a hundred system calls.
    for (bool stock : {false, true}) {
      for (int i = 0; i < n; ++i) {
        auto it = runs_.find(events[i].data.u64 >> 4);
        if (it == runs_.end() || it->second->for_stock() != stock) continue;
        quiet = false;
        dispatch(*it->second, static_cast<Cell::Source>(events[i].data.u64 & 15), events[i].events);
      }
      if (!stock) finish();
    }
    if (!quiet) last_busy_ = Clock::now();
    timers();
    finish();
    if (running() == 0 ? quiet && Clock::now() >= passed_on_ : Clock::now() >= idle_at()) {
      refill();
      if (!wants_refill()) {
        if (std::exchange(restless_, false)) let_rest();
        parts_.idle_work();
      }
    } else if (quiet && running() < processors_) {
      for (auto& s : stocks_)
        if (s->fills_beside()) {
          if (keep_fresh(*s)) make_one(*s);
          else s->try_later();  // no plan can be made now, and asking at every step would spin
        }
    }
    arm_timer();
    return {};
  }

  void cancel(RunId id) override {
    if (auto it = runs_.find(id); it != runs_.end()) it->second->cell->kill(ExitReason::kCancelled);
  }
  Result<void> freeze(RunId id, bool frozen) override {
    auto it = runs_.find(id);
    if (it == runs_.end()) return make_error(ErrorCode::kNotFound, "that run is over");
    return it->second->cell->freeze(frozen);
  }
  void attend(RunId id) override {
    if (auto it = runs_.find(id); it != runs_.end()) it->second->cell->attend();
  }
  std::size_t running() const override {
    return static_cast<std::size_t>(std::count_if(runs_.begin(), runs_.end(), [](const auto& r) { return !r.second->for_stock(); }));
  }
  int poll_fd() const override {
    if (!std::exchange(polled_, true)) arm_timer();
    return epoll_.get();
  }

  Result<void> park(const Policy& policy, std::size_t count) override { return park(policy, nullptr, count); }
  Result<void> park(const Policy& policy, std::shared_ptr<const Runtime> runtime, std::size_t count) override {
    bool placed = backend_ == BackendKind::kOuter && runtime && runtime->outer;
    if (backend_ != BackendKind::kNative && !placed) return make_error(ErrorCode::kUnsupported, "only native cells can be parked");
    Stock* stock = find_stock(policy, runtime.get());
    if (stock == nullptr) {
      Stock fresh;
      fresh.id = ++last_stock_;
      fresh.runtime = std::move(runtime);
      TRY_SET(fresh.kept, parts_.plan_for(policy));
      stocks_.push_back(std::make_unique<Stock>(std::move(fresh)));
      stock = stocks_.back().get();
    }
    stock->wanted = count;
    while (stock->ready.size() > count) {
      discard(stock->ready.back());
      stock->ready.pop_back();
    }
    if (count == 0 && stock->coming == 0) std::erase_if(stocks_, [&](const auto& s) { return s.get() == stock; });
    arm_timer();
    return {};
  }
  std::size_t parked(const Policy& policy) const override { return count_parked(policy, nullptr); }
  std::size_t parked(const Policy& policy, const Runtime& runtime) const override { return count_parked(policy, &runtime); }
  void trim() override {
    parts_.trim();
    // What a launcher that was killed left was still busy when we started.
    if (!sweep_) return;
    sweep_cgroups(host_.cgroup);
    // Its cells take a moment to notice and to die.
    for (int i = 0; i < 20 && !sweep_flat_folders(); ++i) ::usleep(50'000);
  }

 private:
  // A request that names a runtime is best served by one that runs, else by a cell where it can be started.
  Stock* stock_with_cells(const Policy& policy, const Runtime* runtime) {
    for (const Runtime* wanted : {runtime, static_cast<const Runtime*>(nullptr)}) {
      Stock* stock = find_stock(policy, wanted);
      if (stock && keep_fresh(*stock) && !stock->ready.empty()) return stock;
    }
    return nullptr;
  }

  // One that is being made for the stock and will be there sooner than another that were begun now.
  Run* take_coming(const Policy& policy) {
    Stock* stock = find_stock(policy, nullptr);
    if (stock == nullptr || stock->wanted == 0 || stock->coming == 0 || !keep_fresh(*stock)) return nullptr;
    for (auto& [id, run] : runs_) {
      if (run->stock != stock->id || !run->cell->gets_on() || stock_of(*run) != stock) continue;
      --stock->coming;
      run->stock = 0;
      return run.get();
    }
    return nullptr;
  }

  static Result<void> give_id(Request& request) {
    if (request.id.empty()) request.id = sys::random_id();
    if (request.id.empty()) return make_error(ErrorCode::kInternal, "getrandom failed");
    return {};
  }

  Result<RunId> hand_over(Stock& stock, Request request, OnOutput past_limit, Done done) {
    Run& run = *runs_.at(stock.ready.front());
    // A runtime has been told an id when it was started, and not every kind can be told another.
    if (request.id.empty() && stock.runtime) request.id = run.cell->id();
    TRY(give_id(request));
    stock.ready.pop_front();
    stock.lost = 0;
    stock.not_before = {};
    run.stock = 0;
    run.done = std::move(done);
    if (auto begun = run.cell->start(std::move(request), past_limit); !begun) {
      run.cell->fail(std::move(begun).error());
    } else {
      set_up_stdin(run);
      if (stock.runtime) run.cell->stdin_pump().on_sink_ready();  // its orders: they fit into the empty pipe
    }
    watch(run);
    return run.id;
  }

  std::size_t count_parked(const Policy& policy, const Runtime* runtime) const {
    const Stock* stock = find_stock(policy, runtime);
    return stock == nullptr || !is_fresh(*stock) ? 0 : stock->ready.size();  // the others will be discarded, not given
  }

  bool is_fresh(const Stock& stock) const { return stock.kept->no_template || parts_.up_to_date(*stock.kept); }

  // Parked cells of a plan that is out of date show what the host had; false: this request shall make its own.
  bool keep_fresh(Stock& stock) {
    if (is_fresh(stock)) return true;
    auto kept = parts_.plan_for(stock.policy());
    if (!kept) return false;
    while (!stock.ready.empty()) {
      discard(stock.ready.back());
      stock.ready.pop_back();
    }
    stock.kept = std::move(kept).value();
    stock.coming = 0;  // those on their way belong to the old plan and are discarded when they arrive
    return true;
  }

  // A parked cell that nobody will ask for.
  void discard(RunId id) {
    auto it = runs_.find(id);
    it->second->cell->end();
    parts_.leave(it->second->cell->take_leavings());
    runs_.erase(it);
  }

  Stock* find_stock(const Policy& policy, const Runtime* runtime) const {
    for (auto& s : stocks_) {
      bool same = runtime == nullptr ? !s->runtime : s->runtime && (s->runtime.get() == runtime || *s->runtime == *runtime);
      if (same && same_cell(s->policy(), policy)) return s.get();
    }
    return nullptr;
  }

  Result<Run*> spawn(const std::shared_ptr<Kept>& kept, bool soon_more, const OuterPlace* outer = nullptr, int stdin_socket = -1) {
    auto run = std::make_unique<Run>();
    CellParts parts = parts_.for_cell(*kept, soon_more);
    parts.outer = outer;
    parts.stdin_socket = stdin_socket;
    auto cell = Cell::spawn(kept->plan, host_, init_.get(), std::move(parts));
    if (!cell && kept->from && (kept->from->dead() || kept->from->refuses())) {
      without_template(*kept, kept->from);
      cell = Cell::spawn(kept->plan, host_, init_.get(), {.from = {}, .cgroup = {}, .stdin_socket = stdin_socket});
    }
    TRY_SET(run->cell, std::move(cell));
    run->kept = kept;
    run->id = ++last_id_;
    Run* raw = run.get();
    runs_.emplace(raw->id, std::move(run));
    watch(*raw);
    return raw;
  }

  // A cell made in one go needs no template, and tells what is wrong if anything is. A dead one is made anew for the next;
  // one that lives and cannot clone will not learn it. Another may have taken its place meanwhile, and stays.
  static void without_template(Kept& kept, const std::shared_ptr<Template>& failed) {
    if (!failed || kept.from != failed || !(failed->dead() || failed->refuses())) return;
    kept.no_template = failed->refuses();
    kept.from.reset();
  }

  // What its template could not do is done in one go.
  Result<void> make_again(Run& run) {
    const auto* socket = run.request ? std::get_if<StdinSocket>(&run.request->stdin_source) : nullptr;
    CellLeavings left = run.cell->take_leavings();
    without_template(*run.kept, left.from);
    parts_.leave(std::move(left));
    TRY_SET(run.cell, Cell::spawn(run.kept->plan, host_, init_.get(), {.from = {}, .cgroup = {}, .stdin_socket = socket == nullptr ? -1 : socket->fd}));
    return {};
  }

  // Brings epoll's view of a cell up to date: what is open and wanted is watched, nothing else.
  void watch(Run& run) {
    Cell& cell = *run.cell;
    bool running = cell.state() == Cell::State::kRunning;
    for (auto source : kSources) {
      int fd = cell.fd(source);
      std::uint32_t bit = 1u << static_cast<unsigned>(source);
      bool want = fd >= 0;
      std::uint32_t events = EPOLLIN;
      StdinPump& pump = cell.stdin_pump();
      switch (source) {
        case Cell::Source::kStdout: want = want && (running || cell.state() == Cell::State::kWarming); break;
        case Cell::Source::kStderr:
        case Cell::Source::kMemory: want = want && running; break;
        case Cell::Source::kStdin:
          want = want && running && pump.wants_sink();
          events = EPOLLOUT;
          break;
        case Cell::Source::kStdinSource: want = want && running && pump.wants_source(); break;
        case Cell::Source::kListener: want = want && cell.next_listener == Clock::time_point{}; break;
        // Once told what to exec it closes or has failed; both are looked up at the end.
        case Cell::Source::kProg: want = want && cell.state() == Cell::State::kSettingUp; break;
        default: break;
      }
      if (want == ((cell.registered & bit) != 0)) continue;
      epoll_event event{};
      event.events = events;
      event.data.u64 = (run.id << 4) | static_cast<unsigned>(source);
      if (want) {
        if (::epoll_ctl(epoll_.get(), EPOLL_CTL_ADD, fd, &event) == 0) cell.registered |= bit;
      } else {
        if (fd >= 0) ::epoll_ctl(epoll_.get(), EPOLL_CTL_DEL, fd, nullptr);
        cell.registered &= ~bit;
      }
    }
  }

  void dispatch(Run& run, Cell::Source source, std::uint32_t events) {
    Cell& cell = *run.cell;
    Result<void> result;
    switch (source) {
      case Cell::Source::kProg:
        result = cell.on_prog(host_);
        if (cell.not_stamped() && cell.state() != Cell::State::kDead) {
          if (auto again = make_again(run); again.ok()) return watch(run);
          else result = std::move(again);
          dead_.push_back(run.id);  // it has no process whose end would be heard
        }
        if (result.ok() && cell.state() == Cell::State::kParked) result = on_ready(run);
        break;
      case Cell::Source::kStdout:
        if (cell.state() != Cell::State::kWarming) {
          cell.on_output(Stream::kStdout, false);
          break;
        }
        result = cell.on_warm();
        if (result.ok() && cell.state() == Cell::State::kWarm) into_stock(run);
        break;
      case Cell::Source::kStderr: cell.on_output(Stream::kStderr, false); break;
      case Cell::Source::kStdin: cell.stdin_pump().on_sink_ready(); break;
      case Cell::Source::kStdinSource: cell.stdin_pump().on_source_ready(); break;
      case Cell::Source::kPidfd: cell.on_pidfd(); break;
      case Cell::Source::kListener:
        if (events & (EPOLLHUP | EPOLLERR)) {
          ::epoll_ctl(epoll_.get(), EPOLL_CTL_DEL, cell.listener().fd(), nullptr);
          cell.registered &= ~(1u << static_cast<unsigned>(source));
          cell.next_listener = Clock::time_point::max();
        } else {
          cell.listener().serve();
          cell.tell_new_denials();
          if (cell.listener().flooded()) cell.next_listener = Clock::now() + std::chrono::milliseconds(1);
        }
        break;
      case Cell::Source::kMemory: {
        std::uint64_t count = 0;
        (void)!::read(cell.fd(source), &count, sizeof count);
        cell.sample();
        // The kernel took one process; a cell that lasts ends as a whole, as memory.oom.group has it on v2.
        if (count > 0 && cell.plan().policy.lasting) cell.kill(ExitReason::kMemory);
        break;
      }
    }
    if (!result.ok()) cell.fail(std::move(result).error());
    if (cell.state() == Cell::State::kDead) dead_.push_back(run.id);
    else watch(run);
  }

  Result<void> on_ready(Run& run) {
    if (!run.for_stock()) {
      TRY(run.cell->start(*std::move(run.request), run.past_limit));
      run.request.reset();
      set_up_stdin(run);
      return {};
    }
    Stock* stock = stock_of(run);
    if (stock != nullptr && stock->runtime) return run.cell->warm_up(*stock->runtime, sys::random_id());
    into_stock(run);
    return {};
  }

  // Null: its plan has become out of date meanwhile, or nobody wants such cells any more.
  Stock* stock_of(const Run& run) {
    for (auto& s : stocks_)
      if (s->id == run.stock && (s->placed() || s->kept->plan.get() == &run.cell->plan())) return s.get();
    return nullptr;
  }

  void into_stock(Run& run) {
    Stock* stock = stock_of(run);
    if (stock != nullptr) --stock->coming;
    // Nobody wants it any more: it was on its way when that was said.
    if (stock == nullptr || stock->ready.size() >= stock->wanted) {
      run.cell->kill(ExitReason::kCancelled);
      run.stock = UINT64_MAX;  // none: its end says nothing of those that are wanted
      if (stock != nullptr && stock->wanted == 0 && stock->coming == 0)
        std::erase_if(stocks_, [&](const auto& s) { return s.get() == stock; });
      return;
    }
    // What is made beside programs will not wait for long; should it, there will be time.
    if (running() == 0) run.cell->rest();
    else restless_ = true;
    stock->ready.push_back(run.id);
  }

  void set_up_stdin(Run& run) {
    // A source that can be polled is read only when it has something; a plain file never blocks and cannot be polled.
    StdinPump& pump = run.cell->stdin_pump();
    if (pump.source_fd() < 0) return;
    epoll_event probe{};
    probe.data.u64 = run.id << 4;
    bool pollable = ::epoll_ctl(epoll_.get(), EPOLL_CTL_ADD, pump.source_fd(), &probe) == 0;
    if (pollable) ::epoll_ctl(epoll_.get(), EPOLL_CTL_DEL, pump.source_fd(), nullptr);
    pump.set_source_waits(pollable);
  }

  std::optional<Clock::time_point> next_due() const {
    std::optional<Clock::time_point> due;
    auto earlier = [&](Clock::time_point t) {
      if (!due || t < *due) due = t;
    };
    for (const auto& [id, run] : runs_) {
      if (auto t = run->cell->next_timer()) earlier(*t);
      if (run->cell->next_listener != Clock::time_point{}) earlier(run->cell->next_listener);
    }
    if (!parts_.nothing_leaving()) earlier(next_look_);
    if (running() < processors_ && std::any_of(stocks_.begin(), stocks_.end(), [](const auto& s) { return s->fills_beside(); })) earlier(Clock::now());
    for (const auto& s : stocks_)
      if (s->lacks() && s->not_before > Clock::now()) earlier(s->not_before);
    if (wants_refill() || restless_ || parts_.wants_idle_work()) earlier(running() == 0 ? std::max(Clock::now(), passed_on_) : idle_at());
    return due;
  }

  // What is made ahead waits until nobody is served. A program that merely runs on, and says nothing, is no reason to wait.
  Clock::time_point idle_at() const { return last_busy_ + std::chrono::seconds(1); }

  // For those who wait on poll_fd() instead of in step().
  void arm_timer() const {
    if (!polled_) return;
    auto due = next_due();
    // Setting it costs more than most of what it is set for. What is due already needs none, and one that will go off earlier is left
    // to do so, and is set again then.
    const auto now = Clock::now();
    if (due && *due <= now) {
      const std::uint64_t one = 1;
      (void)!::write(at_once_.get(), &one, sizeof one);  // an edge each time; it need not be read either
      return;
    }
    if (armed_ && *armed_ > now && (!due || *due >= *armed_)) return;
    if (due == armed_) return;
    armed_ = due;
    itimerspec spec{};
    if (due) {
      auto ns = std::max<long long>(1, std::chrono::duration_cast<Nanoseconds>(due->time_since_epoch()).count());
      spec.it_value.tv_sec = ns / 1'000'000'000;
      spec.it_value.tv_nsec = ns % 1'000'000'000;
    }
    ::timerfd_settime(timer_.get(), TFD_TIMER_ABSTIME, &spec, nullptr);
  }

  void timers() {
    auto now = Clock::now();
    for (auto& [id, run] : runs_) {
      Cell& cell = *run->cell;
      if (cell.next_listener != Clock::time_point{} && cell.next_listener <= now) {
        cell.next_listener = {};
        watch(*run);
      }
      auto next = cell.next_timer();
      if (!next || *next > now) continue;
      if (cell.setup_timed_out()) cell.fail(make_error(ErrorCode::kIo, "start cell: set-up took too long"));
      else if (cell.state() == Cell::State::kRunning) cell.tick(now);
      if (cell.state() == Cell::State::kDead) dead_.push_back(id);
      else watch(*run);
    }
  }

  void finish() {
    for (RunId id : std::exchange(dead_, {})) {
      auto it = runs_.find(id);
      if (it == runs_.end()) continue;
      std::unique_ptr<Run> run = std::move(it->second);
      runs_.erase(it);
      forget_lasting(*run->cell);
      bool cgroup_gone = false;
      if (run->for_stock()) {
        forget_stocked(*run);
      } else if (run->done) {
        auto report = run->cell->account();
        cgroup_gone = !report.ok() && report.error().err == ENODEV;
        if (report.ok() && report.value().id.empty() && run->request) report.value().id = run->request->id;  // the cell has not been told
        run->done(run->id, std::move(report));
        passed_on_ = Clock::now() + kPassedOnWithin;
      }
      // Only these wait: the cell itself holds placeholders and descriptors of granted folders.
      CellLeavings left = run->cell->take_leavings();
      // Somebody has removed the folder that this cell was to join, and may have removed the others that wait: to use them again
      // would let every cell fail from now on.
      if (cgroup_gone && left.cgroup) left.cgroup->remove();
      parts_.leave(std::move(left));
      if (cgroup_gone) parts_.trim();
    }
  }

  // What is not closed with the cell would stay in epoll for good: the caller has the same open file as its stdin, and
  // its cgroup may serve another.
  void forget_lasting(Cell& cell) {
    for (auto source : {Cell::Source::kStdinSource, Cell::Source::kMemory}) {
      std::uint32_t bit = 1u << static_cast<unsigned>(source);
      if (cell.registered & bit) ::epoll_ctl(epoll_.get(), EPOLL_CTL_DEL, cell.fd(source), nullptr);
      cell.registered &= ~bit;
    }
  }

  void forget_stocked(Run& run) {
    Stock* stock = stock_of(run);
    if (stock == nullptr) return;
    bool was_ready = std::erase(stock->ready, run.id) > 0;
    if (!was_ready) stock->coming = stock->coming > 0 ? stock->coming - 1 : 0;
    if (was_ready && !stock->placed() && ++stock->lost < kMostLost) return;
    stock->try_later();
  }

  bool wants_refill() const {
    return std::any_of(stocks_.begin(), stocks_.end(), [](const auto& s) { return s->may_try(); });
  }

  void refill() {
    for (auto& s : stocks_) {
      keep_fresh(*s);
      if (s->may_try()) make_one(*s);
    }
  }

  void let_rest() {
    for (auto& s : stocks_)
      for (RunId id : s->ready) runs_.at(id)->cell->rest();
  }

  void make_one(Stock& s) {
    auto run = spawn(s.kept, true, s.placed() ? s.runtime->outer.get() : nullptr);
    if (!run) return s.try_later();
    run.value()->stock = s.id;
    ++s.coming;
  }

  BackendKind backend_ = BackendKind::kNative;
  bool sweep_ = false;
  Host host_;
  sys::Fd init_, epoll_, timer_, at_once_;
  mutable Parts parts_;  // which notes when it was looked whether a plan is up to date
  mutable std::optional<Clock::time_point> armed_;
  bool restless_ = false;        // some cells wait that hold more than they need to
  mutable bool polled_ = false;  // somebody has asked for poll_fd()
  Clock::time_point last_busy_{}, next_look_{};  // the latter: at what dead cells have left
  Clock::time_point passed_on_{};  // by then the last end that was told will be
  std::map<RunId, std::unique_ptr<Run>> runs_;
  std::vector<std::unique_ptr<Stock>> stocks_;
  std::vector<RunId> dead_;
  std::size_t processors_ = std::max(1u, std::thread::hardware_concurrency());
  RunId last_id_ = 0;  // 0 is the timer
  std::uint64_t last_stock_ = 0;
};

}  // namespace

Result<Report> Launcher::run(const Policy& policy, Request request) {
  std::optional<Result<Report>> out;
  TRY(start(policy, std::move(request), [&](RunId, Result<Report> r) { out.emplace(std::move(r)); }));
  while (!out) TRY(step(std::chrono::milliseconds(1000)));
  return *std::move(out);
}

Result<std::unique_ptr<Launcher>> Launcher::create(LauncherOptions options) {
  auto launcher = std::make_unique<LauncherImpl>();
  TRY(launcher->open(std::move(options)));
  return std::unique_ptr<Launcher>(std::move(launcher));
}

Result<std::unique_ptr<Launcher>> create_around_machine() {
  auto launcher = std::make_unique<LauncherImpl>();
  TRY(launcher->open({}, true));
  return std::unique_ptr<Launcher>(std::move(launcher));
}

std::string_view version() { return HOTCELL_VERSION; }

}  // namespace hotcell
