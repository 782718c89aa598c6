// The Manager of hotcell/manager.h: Executions on a thread of its own, with a launcher process that this thread keeps alive.
#include "hotcell/manager.h"

#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <future>
#include <set>
#include <thread>

#include "base/strings.h"
#include "core/remote/launcher_process.h"
#include "core/remote/remote_launcher.h"
#include "hotcell/language.h"
#include "languages/plugins.h"
#include "manager/executions.h"
#include "manager/poll_loop.h"
#include "sys/thread.h"

namespace hotcell {
namespace {

using namespace std::chrono_literals;

Execution execution_of(const ExecutionRecord& r) {
  Execution e;
  e.id = r.id, e.status = r.status, e.exit_reason = r.exit_reason, e.exit_code = r.exit_code, e.signal = r.signal, e.error = r.error;
  e.client = r.client, e.language = r.language, e.profile = r.profile, e.command = r.command;
  e.created = r.created, e.started = r.started, e.ended = r.ended;
  e.duration = r.duration, e.cpu = r.cpu, e.memory_peak = r.memory_peak, e.number = r.number;
  return e;
}

JobSpec spec_of(Submission s) {
  JobSpec spec;
  spec.door = "library";
  spec.client = std::move(s.client);
  spec.idempotency_key = std::move(s.idempotency_key);
  spec.argv = std::move(s.argv);
  spec.language = std::move(s.language), spec.code = std::move(s.code), spec.args = std::move(s.args);
  for (auto& [name, bytes] : s.files) spec.files.push_back({name, std::move(bytes), false});
  spec.env = std::move(s.env);
  spec.workdir = std::move(s.workdir), spec.stdin_bytes = std::move(s.stdin_bytes), spec.profile = std::move(s.profile);
  spec.timeout = s.timeout;
  spec.limits.memory = s.memory;
  spec.verify = s.verify;
  spec.recorded_first = true;
  return spec;
}

// Compilers need more than most programs may have; what a submission may have is held to `most` before.
remote::Ceiling ceiling_of(const ManagerOptions& o) {
  remote::Ceiling c;
  c.memory = std::max<Bytes>(o.most.memory, 4_GiB);
  c.disk = std::max<Bytes>(o.most.disk, 4_GiB);
  c.output = std::max<Bytes>(o.most.output, 64_MiB);
  c.wall = std::max<Nanoseconds>(o.max_timeout, std::chrono::minutes(10));
  c.processes = std::max<std::uint32_t>(o.most.processes, 512);
  // Tools that languages bring from outside /usr; a cell sees them read-only.
  for (const auto* language : languages())
    for (const auto& [name, path] : find_tools(*language, default_policy()))
      if (!path.starts_with("/usr/") && path.rfind('/') > 0) c.read.push_back(path.substr(0, path.rfind('/')));
  return c;
}

Error unknown() { return make_error(ErrorCode::kNotFound, "execution not found"); }

class ManagerImpl final : public Manager {
 public:
  explicit ManagerImpl(ManagerOptions options) : options_(std::move(options)) {}

  ~ManagerImpl() override {
    if (!thread_.joinable()) return;
    loop_.post([this] { stop_ = true; });
    thread_.join();
  }

  // The launcher dies with the thread that starts it, so all of it lives on one.
  Result<void> open() {
    auto opened = std::make_shared<std::promise<Result<void>>>();
    auto told = opened->get_future();
    TRY_SET(thread_, sys::quiet_thread([this, opened] {
      auto made = prepare();
      const bool good = made.ok();
      opened->set_value(std::move(made));
      if (good) serve();
      close();
    }));
    auto result = told.get();
    if (!result.ok()) thread_.join();
    return result;
  }

  Result<std::string> submit(Submission submission) override {
    return on_loop<std::string>([this, &submission]() -> Result<std::string> {
      TRY_SET(auto submitted, executions_->submit(spec_of(std::move(submission))));
      return submitted.id;
    });
  }

  Result<Execution> await(const std::string& id, std::chrono::milliseconds at_most) override {
    struct Waiting {
      std::promise<Execution> ended;
      Subscription held;
    };
    auto waiting = std::make_shared<Waiting>();
    auto future = waiting->ended.get_future();
    auto registered = on_loop<void>([&]() -> Result<void> {
      // Told later, never within the call.
      auto held = executions_->await(id, [weak = std::weak_ptr(waiting)](const ExecutionRecord& r) {
        if (auto still = weak.lock()) still->ended.set_value(execution_of(r));
      });
      if (!held.ok()) return std::move(held).error();
      waiting->held = std::move(held).value();
      return {};
    });
    if (!registered.ok()) return std::move(registered).error();
    const bool in_time = future.wait_for(at_most) == std::future_status::ready;
    // What it is registered with belongs to the loop.
    loop_.post([waiting] { waiting->held.reset(); });
    if (!in_time) return make_error(ErrorCode::kCancelled, "it has not ended yet");
    return future.get();
  }

  Result<Execution> status(const std::string& id) override {
    return on_loop<Execution>([&]() -> Result<Execution> {
      auto record = executions_->find(id);
      if (!record) return unknown();
      return execution_of(*record);
    });
  }

  Result<std::string> result(const std::string& id) override {
    return on_loop<std::string>([&]() -> Result<std::string> {
      auto record = executions_->find(id);
      if (!record) return unknown();
      if (!record->ended_already()) return make_error(ErrorCode::kInvalid, "the execution has not ended");
      if (auto live = executions_->result(id)) return *std::move(live);
      TRY_SET(auto details, history_->details(id));
      return details.result;
    });
  }

  Result<void> kill(const std::string& id) override {
    return on_loop<void>([&] { return executions_->kill(id); });
  }

  Result<std::vector<Execution>> list(const ExecutionFilter& filter) override {
    return on_loop<std::vector<Execution>>([&]() -> Result<std::vector<Execution>> {
      HistoryQuery query;
      query.client = filter.client, query.language = filter.language, query.exit_reason = filter.exit_reason;
      if (filter.status) query.status = std::string(to_string(*filter.status));
      query.before = filter.before, query.limit = filter.limit;
      TRY_SET(auto records, list_executions(*executions_, *history_, query));
      std::vector<Execution> out;
      for (const auto& r : records) out.push_back(execution_of(r));
      return out;
    });
  }

  Result<void> follow(const std::string& id, std::function<void(const ExecutionEvent&)> told) override {
    return on_loop<void>([&]() -> Result<void> {
      auto held = std::make_shared<Subscription>();
      auto watching = executions_->watch(id, 0, [this, held, told](const Update& u) {
        told({u.seq, u.type, u.data});
        // Not now: this is called from what is kept there.
        if (u.type == "done")
          loop_.post([this, held] {
            held->reset();
            followed_.erase(held);
          });
      });
      if (!watching.ok()) return std::move(watching).error();
      *held = std::move(watching).value();
      followed_.insert(held);
      return {};
    });
  }

  void drain(std::chrono::milliseconds at_most) override {
    auto drained = std::make_shared<std::promise<void>>();
    auto told = drained->get_future();
    loop_.post([this, at_most, drained] { executions_->drain(at_most, [drained] { drained->set_value(); }); });
    told.wait();
  }

 private:
  template <typename T>
  Result<T> on_loop(std::function<Result<T>()> work) {
    // Shared: whoever waits may be gone before set_value() has returned.
    auto done = std::make_shared<std::promise<Result<T>>>();
    auto future = done->get_future();
    loop_.post([&work, done] { done->set_value(work()); });
    return future.get();
  }

  Result<std::string> program(std::string_view name) const {
    if (options_.programs.empty()) return remote::find_program_of_ours(name);
    std::string path = cat(options_.programs, "/", name);
    if (::access(path.c_str(), X_OK) == 0) return path;
    return make_error(ErrorCode::kNotFound, cat(name, " is not in ", printable(options_.programs)));
  }

  Result<void> prepare() {
    if (options_.state_folder.empty()) return make_error(ErrorCode::kInvalid, "state_folder is not given");
    TRY_SET(launcher_program_, program("hotcell-launcher"));
    TRY_SET(readers_.verify, program("hotcell-verify"));
    TRY_SET(history_, History::open(cat(options_.state_folder, "/hotcell.db"), {}));
    ExecutionsOptions o;
    o.max_running = options_.max_running;
    o.max_queued = options_.max_queued;
    o.max_queued_each = options_.max_queued_each;
    o.park_cells = options_.park_cells;
    o.park_runtimes = options_.park_runtimes;
    o.cache_folder = cat(options_.state_folder, "/cache");
    JobRules rules;
    rules.profiles.built_in = language_profiles();
    rules.default_profile = options_.default_profile;
    rules.most = options_.most;
    rules.default_timeout = options_.default_timeout, rules.max_timeout = options_.max_timeout;
    rules.strong_reason = "the daemon has it, this library does not";
    ExecutionHooks hooks;
    hooks.launcher = [this](bool up) {
      if (!up && !stop_) loop_.post([this] { replace_launcher(); });
    };
    executions_ = Executions::create(std::move(o), std::move(rules), *history_, loop_, std::move(hooks));
    return start_launcher();
  }

  Result<void> start_launcher() {
    TRY_SET(auto process, remote::start_launcher(launcher_program_, ceiling_of(options_), readers_));
    child_ = std::move(process.child);
    TRY_SET(auto launcher, RemoteLauncher::open(std::move(process.socket)));
    executions_->attach(std::move(launcher));
    return {};
  }

  void replace_launcher() {
    if (stop_) return;
    reap();
    // At once at first; one that cannot stay is tried ever more rarely.
    const auto now = std::chrono::steady_clock::now();
    failures_ = now - last_start_ < 5s ? std::min(failures_ + 1, 6) : 0;
    last_start_ = now;
    again_ = loop_.after(failures_ == 0 ? 0ms : 50ms * (1 << failures_), [this] {
      if (auto started = start_launcher(); !started.ok()) loop_.post([this] { replace_launcher(); });
    });
  }

  void reap() {
    if (child_.pid <= 0) return;
    ::kill(child_.pid, SIGKILL);  // its socket is closed: whatever it still does is for nobody
    ::waitpid(child_.pid, nullptr, 0);
    child_ = {};
  }

  void serve() {
    while (!loop_.run([this] { return stop_; }, std::chrono::hours(1))) {}
    bool drained = false;
    executions_->drain(0ms, [&drained] { drained = true; });
    loop_.run([&drained] { return drained; }, 30s);
  }

  void close() {
    stop_ = true;
    again_.reset();
    for (const auto& held : std::exchange(followed_, {})) held->reset();
    executions_.reset();
    // It ends by itself when nobody is connected any more, and takes what it made with it.
    if (child_.pid > 0) {
      bool gone = false;
      for (int i = 0; i < 500 && !gone; ++i) {
        gone = ::waitpid(child_.pid, nullptr, WNOHANG) != 0;
        if (!gone) ::usleep(10'000);
      }
      if (gone) child_ = {};
      else reap();
    }
    if (history_) history_->flush();
    history_.reset();
  }

  const ManagerOptions options_;
  std::string launcher_program_;
  remote::ReaderPrograms readers_;
  PollLoop loop_;
  // From here on of the thread alone.
  std::unique_ptr<History> history_;
  std::unique_ptr<Executions> executions_;
  sys::Child child_;
  Subscription again_;
  std::set<std::shared_ptr<Subscription>> followed_;
  std::chrono::steady_clock::time_point last_start_{};
  int failures_ = 0;
  bool stop_ = false;
  std::thread thread_;
};

}  // namespace

Result<std::unique_ptr<Manager>> Manager::create(ManagerOptions options) {
  auto manager = std::make_unique<ManagerImpl>(std::move(options));
  TRY(manager->open());
  return std::unique_ptr<Manager>(std::move(manager));
}

}  // namespace hotcell
