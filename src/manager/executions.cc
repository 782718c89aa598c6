#include "manager/executions.h"

#include <algorithm>
#include <atomic>
#include <deque>
#include <thread>

#include "base/json_write.h"
#include "base/strings.h"
#include "core/remote/remote_launcher.h"
#include "manager/code_runner.h"
#include "manager/ended_executions.h"
#include "manager/fair_queue.h"
#include "manager/live_execution.h"
#include "manager/reading.h"
#include "manager/report_json.h"
#include "manager/stock.h"
#include "manager/strong_tier.h"
#include "manager/workers.h"
#include "sys/uuid.h"

namespace hotcell {
namespace {

using LivePtr = std::shared_ptr<LiveExecution>;
using Clock = LiveExecution::Clock;

std::string state_json(const ExecutionRecord& r) {
  JsonWriter w;
  w.begin_object();
  w.field("id", r.id);
  w.field("status", to_string(r.status));
  w.field("time", rfc3339(std::chrono::system_clock::now()));
  w.end_object();
  return w.take();
}

void count(const Report& report, ExecutionRecord& r) {
  for (const auto& f : report.findings) {
    if (f.severity == "error") ++r.findings_error;
    if (f.severity == "warning") ++r.findings_warning;
  }
  r.denials = static_cast<std::uint32_t>(report.denials.size());
}

class ExecutionsImpl final : public Executions {
 public:
  ExecutionsImpl(ExecutionsOptions options, JobRules rules, History& history, Loop& loop, ExecutionHooks hooks)
      : options_(with_defaults(std::move(options))),
        rules_(std::move(rules)),
        history_(history),
        loop_(loop),
        hooks_(std::move(hooks)),
        ended_([this](const LiveExecution& live) { live_.erase(live.record.id); }),
        code_(options_.cache_folder, options_.journal_folder, loop),
        strong_(loop, most_running(), hooks_.want_strong),
        workers_(most_running()),
        reading_(workers_, loop, most_running()) {
    last_number_ = history_.last_number();
  }
  ~ExecutionsImpl() override {
    *alive_ = false;
    for (auto& [id, live] : live_) live->cancelled = true;
  }

  void attach(std::unique_ptr<RemoteLauncher> launcher) override {
    lose_launcher();
    launcher_ = std::move(launcher);
    workers_.use(launcher_.get());
    watch_launcher_ = loop_.watch(launcher_->poll_fd(), [this] { step(); });
    launcher_->watch_stock();
    if (hooks_.launcher) hooks_.launcher(true);
    park();
    pump();
  }

  void attach_strong(std::unique_ptr<RemoteLauncher> launcher) override { strong_.attach(std::move(launcher)); }
  void refuse_strong(std::string why) override { strong_.refuse(make_error(ErrorCode::kUnsupported, std::move(why))); }
  void set_strong(bool works, std::string reason) override {
    rules_.strong = works;
    rules_.strong_reason = std::move(reason);
  }

  Result<Submitted> submit(JobSpec spec) override {
    if (draining_) return make_error(ErrorCode::kLimit, "this server is shutting down");
    if (!spec.idempotency_key.empty()) {
      if (spec.idempotency_key.size() > 256) return make_error(ErrorCode::kInvalid, "Idempotency-Key: more than 256 bytes");
      for (const auto& [id, live] : live_)
        if (live->record.client == spec.client && live->record.idempotency_key == spec.idempotency_key) return again(id, std::move(spec));
      TRY_SET(auto known, history_.find_key(spec.client, spec.idempotency_key));
      if (known) return again(known->id, std::move(spec));
    }
    if (spec.max_running > 0) {
      auto own = std::count_if(live_.begin(), live_.end(), [&](const auto& l) {
        return !l.second->record.ended_already() && l.second->record.client == spec.client;
      });
      if (own >= static_cast<std::ptrdiff_t>(spec.max_running)) {
        ++stats_.refused;
        return make_error(ErrorCode::kLimit, "this key may have no more executions at once");
      }
    }
    if (queue_.size() >= options_.max_queued || queue_.size(spec.client) >= options_.max_queued_each) {
      ++stats_.refused;
      return make_error(ErrorCode::kLimit, "too many executions are waiting already");
    }
    const std::size_t size = job_bytes(spec);
    if (queued_bytes_ + size > options_.max_queued_bytes) {
      ++stats_.refused;
      return make_error(ErrorCode::kLimit, "too much is waiting already");
    }
    TRY_SET(Job job, make_job(std::move(spec), rules_));
    ExecutionRecord record;
    record.number = ++last_number_;
    record.id = sys::random_id();
    if (record.id.empty()) return make_error(ErrorCode::kInternal, "getrandom failed");
    record.door = job.spec.door;
    record.client = job.spec.client;
    record.language = job.spec.language;
    record.profile = job.policy.name;
    record.tier = job.spec.tier.empty() ? "light" : job.spec.tier;
    record.command = job_line(job.spec);
    record.created = std::chrono::system_clock::now();
    record.idempotency_key = job.spec.idempotency_key;
    record.trace_parent = job.spec.trace_parent;
    const bool recorded_first = job.spec.recorded_first || !record.idempotency_key.empty();   // who comes with the same key must find it
    auto live = std::make_shared<LiveExecution>(std::move(job), record);
    live->words = hooks_.words;
    live_.emplace(live->record.id, live);
    // Before anything is started, so that a front that is killed leaves a trace of it.
    // What is recorded first is not announced as well: a front that is killed in between would leave a trace without its key, and who
    // comes again with that key would find nothing and have two.
    bool announced = !recorded_first && history_.announce(live->record);
    if (!announced) {
      auto refused = std::make_shared<std::atomic<bool>>(false);
      begin(*live, [refused](const Result<void>& written) { *refused = !written.ok(); });
      history_.flush();
      // A disk that is full takes no row. With a note its end is kept all the same, and its key with that.
      announced = *refused && history_.announce(live->record);
    }
    ++stats_.submitted;
    if (hooks_.submitted) hooks_.submitted(live->record);
    live->update("state", state_json(live->record));
    changed(*live);
    live->job_size = size;
    queued_bytes_ += size;
    queue_.push(live->record.client, live);
    pump();
    if (announced) begin_later(live);   // a timer is set for it: the launcher need not wait for that
    return Submitted{live->record.id, false};
  }

  Result<Subscription> await(std::string_view id, Ended ended) override {
    if (auto live = find_live(id)) {
      if (live->told_end) {
        loop_.post([live, ended = std::move(ended)] { ended(live->record); });
        return Subscription();
      }
      auto waiter = live->await(std::move(ended));
      return Subscription([live, waiter] { live->forget(waiter); });
    }
    TRY_SET(auto known, history_.find(id));
    if (!known) return make_error(ErrorCode::kNotFound, "execution not found");
    loop_.post([record = *std::move(known), ended = std::move(ended)] { ended(record); });
    return Subscription();
  }

  std::optional<ExecutionRecord> find(std::string_view id) override {
    if (auto live = find_live(id)) return live->record;
    auto known = history_.find(id);
    return known.ok() ? std::move(known).value() : std::nullopt;
  }

  std::optional<std::string> result(std::string_view id) const override {
    auto live = find_live(id);
    if (!live || !live->told_end || live->result.empty()) return std::nullopt;
    return live->result;
  }

  std::vector<ExecutionRecord> live() const override {
    std::vector<ExecutionRecord> out;
    for (const auto& [id, one] : live_)
      if (!one->told_end) out.push_back(one->record);
    std::sort(out.begin(), out.end(), [](const auto& a, const auto& b) { return a.number > b.number; });
    return out;
  }

  Result<void> kill(std::string_view id) override {
    auto live = find_live(id);
    if (!live) {
      if (!find(id)) return make_error(ErrorCode::kNotFound, "execution not found");
      return make_error(ErrorCode::kInvalid, "the execution has ended already");
    }
    if (live->record.ended_already()) return make_error(ErrorCode::kInvalid, "the execution has ended already");
    live->cancelled = true;
    if (queue_.remove(live->record.client, [&](const LivePtr& q) { return q == live; })) {
      queued_bytes_ -= live->job_size;
      Report report;
      report.verdict.reason = ExitReason::kCancelled;
      report.error = "cancelled while it waited";
      report.start_time = report.end_time = std::chrono::system_clock::now();
      finish(live, std::move(report));
    } else if (launcher_ && live->run) {
      launcher_->cancel(*live->run);
    } else if (launcher_) {
      launcher_->cancel_id(live->record.id);
    }
    return {};
  }

  Result<Subscription> watch(std::string_view id, std::uint64_t after, OnUpdate update) override {
    if (auto live = find_live(id)) {
      auto watcher = live->watch(after, update);
      if (!live->told_end) return Subscription([live, watcher] { live->unwatch(watcher); });
      live->unwatch(watcher);
      TRY_SET(std::string result, result_of(*live));
      update(Update{std::max(live->last_seq(), after + 1), "done", std::move(result)});
      return Subscription();
    }
    TRY_SET(auto known, history_.find(id));
    if (!known) return make_error(ErrorCode::kNotFound, "execution not found");
    TRY_SET(ExecutionDetails details, history_.details(id));
    // Only its end is still there; it holds all of the output.
    loop_.post([update = std::move(update), seq = after + 1, result = std::move(details.result)] {
      update(Update{seq, "done", result.empty() ? "{}" : result});
    });
    return Subscription();
  }

  Subscription watch_all(OnChange change) override {
    auto id = ++last_watcher_;
    watchers_.emplace(id, std::move(change));
    return Subscription([this, id, alive = alive_] {
      if (*alive) watchers_.erase(id);
    });
  }

  void verify(VerifyQuestion question, std::function<void(Verification)> done) override { reading_.verify(std::move(question), std::move(done)); }
  void inspect(InspectQuestion question, std::function<void(Result<std::string>)> done) override { reading_.inspect(std::move(question), std::move(done)); }
  void inspect_output(Report report, OutputOrder order, Inspected done) override {
    order.rules.insert(order.rules.begin(), rules_.inspect_rules.begin(), rules_.inspect_rules.end());
    reading_.inspect_output(std::move(report), std::move(order), std::move(done));
  }

  void check_launcher(std::function<void()> answered) override {
    if (launcher_) launcher_->ask_if_alive(std::move(answered));
  }

  ExecutionsStats stats() const override {
    ExecutionsStats s = stats_;
    s.queued = queue_.size();
    s.running = running_;
    s.launcher_up = launcher_ != nullptr;
    s.draining = draining_;
    if (launcher_) {
      const auto stock = launcher_->stock();
      s.parked = stock.cells, s.parked_runtimes = stock.runtimes;
    }
    return s;
  }
  const JobRules& rules() const override { return rules_; }
  void set_rules(JobRules rules) override {
    rules.strong = rules_.strong, rules.strong_reason = rules_.strong_reason;  // facts of this host
    rules_ = std::move(rules);
    if (launcher_) park();
  }

  void drain(std::chrono::milliseconds at_most, std::function<void()> drained) override {
    draining_ = true;
    drained_ = std::move(drained);
    drain_timer_ = loop_.after(at_most, [this] {
      std::vector<std::string> ids;
      for (const auto& [id, live] : live_)
        if (!live->record.ended_already()) ids.push_back(id);
      for (const auto& id : ids) kill(id).ignore("it has ended meanwhile");
    });
    look_if_drained();
  }

 private:
  static ExecutionsOptions with_defaults(ExecutionsOptions options) {
    if (options.max_running == 0) options.max_running = std::max<std::size_t>(4, 2 * std::thread::hardware_concurrency());
    return options;
  }
  std::size_t most_running() const { return options_.max_running; }

  // The same key for something else is a mistake of whoever asks, who must not take another program's result for its own.
  Result<Submitted> again(std::string id, JobSpec spec) {
    // What would be refused today was taken then, and whoever asks again is to have its result.
    auto job = make_job(std::move(spec), rules_);
    const std::string asked = history_.details(id).value_or({}).request;
    if (job.ok() && asked.find("\"digest\":") != std::string::npos && asked != job_json(job.value().spec))
      return make_error(ErrorCode::kUnsupported, "Idempotency-Key: this key was used for another request");
    return Submitted{std::move(id), true};
  }

  LivePtr find_live(std::string_view id) const {
    auto it = live_.find(id);
    return it == live_.end() ? nullptr : it->second;
  }

  void changed(const LiveExecution& live) {
    std::vector<std::uint64_t> who;
    for (const auto& [id, on] : watchers_) who.push_back(id);
    for (auto id : who)
      if (auto it = watchers_.find(id); it != watchers_.end()) {
        auto on = it->second;
        on(live.record);
      }
  }

  // --- the history ---

  // Most executions end before anybody but the history would know that they began: those are announced, and their row is
  // written once, whole. Nobody has been told an id before it is in the history.
  static constexpr auto kBeginWithin = std::chrono::milliseconds(20);

  void begin(LiveExecution& live, History::Committed done = {}) {
    live.in_history = true;
    history_.begin(live.record, job_json(live.job.spec), std::move(done));
  }

  void begin_later(LivePtr live) {
    to_begin_.push_back(std::move(live));
    if (to_begin_.size() == 1) begin_timer_ = loop_.after(kBeginWithin, [this] { begin_what_is_due(); });
  }

  void begin_what_is_due() {
    const auto due = Clock::now() - kBeginWithin;
    while (!to_begin_.empty()) {
      LiveExecution& live = *to_begin_.front();
      if (!live.record.ended_already()) {
        if (live.submitted > due) break;
        begin(live);
      }
      to_begin_.pop_front();
    }
    if (!to_begin_.empty()) begin_timer_ = loop_.after(kBeginWithin, [this] { begin_what_is_due(); });
  }

  // --- the launcher process ---

  void step() {
    if (!launcher_) return;
    launcher_->step(std::chrono::milliseconds(0)).ignore("a lost connection is seen below");
    if (launcher_ && !launcher_->connected()) lose_launcher();
  }

  void lose_launcher() {
    if (!launcher_) return;
    watch_launcher_.reset();
    workers_.use(nullptr);
    auto gone = std::move(launcher_);
    launcher_.reset();
    gone->give_up();  // what it said last is heard, and its runs are told that it is gone
    if (hooks_.launcher) hooks_.launcher(false);
  }

  void park() { keep_stock(options_, rules_, workers_, code_); }

  // --- running ---

  // The last place is kept for a client that runs nothing: long runs of one must not keep all others waiting.
  bool may_begin(const std::string& client) const {
    const std::size_t kept = most_running() >= 4 ? 1 : 0;
    return running_ + kept < most_running() || !running_of_.contains(client);
  }

  void pump() {
    while (launcher_ && launcher_->connected() && queue_.size() > 0 && running_ < most_running()) {
      auto next = queue_.pop([this](const std::string& client) { return may_begin(client); });
      if (!next) break;
      LivePtr live = *std::move(next);
      queued_bytes_ -= live->job_size;
      ++running_, ++running_of_[live->record.client];
      live->begun = Clock::now();
      live->record.status = RunStatus::kRunning;
      live->record.started = std::chrono::system_clock::now();
      live->update("state", state_json(live->record));
      changed(*live);
      if (live->job.spec.tier == "strong" || live->job.source || live->job.policy.network.mode == NetworkMode::kProxy ||
          live->job.inspect.mode != InspectMode::kOff) run_on_worker(live);
      else run_command(live);
    }
    // A connection that broke while we sent is seen at the next step, which nothing else would bring about.
    if (launcher_ && !launcher_->connected())
      loop_.post([this, alive = alive_] {
        if (*alive) step();
      });
  }

  void run_command(const LivePtr& live) {
    Request& request = live->job.request;
    request.id = live->record.id;
    request.on_output = [live](Stream stream, std::string_view bytes) { live->output(stream, bytes); };
    request.on_event = [live](const Event& e) { live->event(e); };
    request.on_usage = [this, live](const LiveUsage& u) { note_usage(*live, u); };
    auto started = launcher_->start(live->job.policy, std::move(request), [this, live](RunId, Result<Report> result) {
      live->run.reset();
      live->from_stock = launcher_ && launcher_->last_from_stock();
      finish(live, result, Tell::kAtOnce);
    });
    if (!started.ok()) {
      Result<Report> failed = std::move(started).error();
      return finish(live, failed);
    }
    live->run = started.value();
  }

  // Code, what needs a proxy, and what is looked at afterwards.
  void run_on_worker(const LivePtr& live) {
    auto task = [this, live](Result<Workers::Tools*> tools) {
      auto usage = [this, live, alive = alive_](const LiveUsage& u) {
        if (*alive) note_usage(*live, u);
      };
      Result<Report> ran = tools.ok() ? code_.run(live, *tools.value(), usage) : Result<Report>(tools.error());
      auto report = std::make_shared<Report>(ran.ok() ? std::move(ran).value() : failed_report(ran.error()));
      report->id = live->record.id;
      std::optional<OutputInspection> found;
      if (ran.ok()) found = hotcell::inspect_output(*report, live->job.inspect, inspector_of(tools));
      reword(*report);
      // Here, since much output takes a while to be written as JSON.
      auto text = std::make_shared<std::string>(report_json(*report, JsonStyle::kOneLine, found));
      loop_.post([this, live, report, text, found = std::move(found), alive = alive_] {
        if (!*alive) return;
        if (found && hooks_.inspected) hooks_.inspected(live->record, *found);
        if (holds_output(live->job.inspect.mode)) {  // whoever watches has seen nothing of it so far
          if (!report->out.empty()) live->output(Stream::kStdout, report->out);
          if (!report->err.empty()) live->output(Stream::kStderr, report->err);
        }
        finish(live, std::move(*report), std::move(*text));
      });
    };
    if (live->job.spec.tier == "strong") strong_.run(std::move(task));
    else workers_.run(std::move(task));
  }

  void reword(Report& report) const {
    if (!hooks_.words) return;
    for (auto& denial : report.denials) denial.fix = hooks_.words(denial.fix);
    if (report.verdict.reason == ExitReason::kSandboxError) report.error = hooks_.words(report.error);
  }

  void note_usage(LiveExecution& live, const LiveUsage& u) {
    live.record.memory_peak = std::max(live.record.memory_peak, u.memory);
    live.record.cpu = u.cpu;
    live.record.duration = u.elapsed;
    live.usage(u);
    changed(live);
  }

  // When whoever waits hears of it. At once only where nobody is called who is in the middle of something: where the launcher told us.
  enum class Tell { kLater, kAtOnce };

  void finish(const LivePtr& live, Result<Report>& result, Tell tell = Tell::kLater) {
    finish(live, result.ok() ? std::move(result).value() : failed_report(result.error()), tell);
  }

  void finish(const LivePtr& live, Report report, Tell tell = Tell::kLater) {
    report.id = live->record.id;
    reword(report);
    auto text = report_json(report, JsonStyle::kOneLine);
    finish(live, std::move(report), std::move(text), tell);
  }

  void finish(const LivePtr& live, Report report, std::string text, Tell tell = Tell::kLater) {
    if (live->begun != Clock::time_point{}) {
      --running_;
      auto of = running_of_.find(live->record.client);
      if (of != running_of_.end() && --of->second == 0) running_of_.erase(of);
    }
    ExecutionRecord& r = live->record;
    r.status = report.verdict.status();
    r.exit_reason = std::string(to_string(report.verdict.reason));
    r.exit_code = report.verdict.exit_code;
    r.signal = report.verdict.signal;
    r.error = result_error(report);
    r.verified_in = live->verified_in;
    r.ended = std::chrono::system_clock::now();
    r.duration = report.duration;
    r.cpu = report.usage.cpu;
    r.memory_peak = report.usage.memory_peak;
    count(report, r);
    live->result = std::move(text);
    if (live->from_stock) ++stats_.warm_hits;
    else if (live->begun != Clock::time_point{}) ++stats_.warm_misses;
    ++stats_.ended;
    auto waited = live->begun == Clock::time_point{} ? Nanoseconds(0) : Nanoseconds(live->begun - live->submitted);
    if (hooks_.ended) hooks_.ended(r, &report, waited, live->from_stock);
    // What is kept says of its times what the result says. Of what did not run it has no more than the moment of the refusal.
    if (report.end_time > report.start_time) r.started = report.start_time, r.ended = report.end_time;
    ExecutionDetails details{job_json(live->job.spec), live->result, live->usage_json(), live->events_json()};
    const auto here = std::this_thread::get_id();
    // The writer may come to it when we are gone: until it is back on the loop's thread, it has nothing of ours.
    history_.end(r, std::move(details), [this, &loop = loop_, live, alive = alive_, tell, here](const Result<void>& written) {
      // A disk that is full is no reason to keep the answer from whoever waits; the store has told the log.
      const bool kept = written.ok();
      // We are on it when it was noted there and then.
      if (tell == Tell::kAtOnce && std::this_thread::get_id() == here) {
        if (*alive) committed(live, kept);
        return;
      }
      loop.post([this, live, alive, kept] {
        if (*alive) committed(live, kept);
      });
    });
    pump();
  }

  void committed(const LivePtr& live, bool in_history) {
    live->told_end = true;
    live->ended = Clock::now();
    live->done();
    changed(*live);
    const bool waited_for = live->tell_waiters();
    live->job = {};
    // The history has all of it: what was not watched, and was told to whoever asked, nobody will want to go on with.
    if (in_history) std::string().swap(live->result);
    if (in_history && waited_for && !live->was_watched()) live_.erase(live->record.id);
    else ended_.add(live);
    forget_later();
    look_if_drained();
  }

  Result<std::string> result_of(const LiveExecution& live) {
    if (!live.result.empty()) return live.result;
    TRY_SET(ExecutionDetails details, history_.details(live.record.id));
    return details.result.empty() ? std::string("{}") : std::move(details.result);
  }

  void forget_later() {
    if (forgetting_ || ended_.size() == 0) return;
    forgetting_ = true;
    forget_timer_ = loop_.after(std::chrono::seconds(10), [this] {
      forgetting_ = false;
      ended_.trim();
      forget_later();
    });
  }

  void look_if_drained() {
    if (!draining_ || !drained_ || ended_.size() < live_.size()) return;
    auto call = std::exchange(drained_, nullptr);
    loop_.post(std::move(call));
  }

  ExecutionsOptions options_;
  JobRules rules_;
  History& history_;
  Loop& loop_;
  ExecutionHooks hooks_;
  std::shared_ptr<bool> alive_ = std::make_shared<bool>(true);
  std::unique_ptr<RemoteLauncher> launcher_;
  Subscription watch_launcher_, drain_timer_, forget_timer_, begin_timer_;
  std::deque<LivePtr> to_begin_;
  std::map<std::string, LivePtr, std::less<>> live_;
  EndedExecutions ended_;
  FairQueue<LivePtr> queue_;
  std::size_t queued_bytes_ = 0;
  std::size_t running_ = 0;
  std::map<std::string, std::size_t, std::less<>> running_of_;  // by client
  ExecutionsStats stats_;
  std::uint64_t last_number_ = 0, last_watcher_ = 0;
  std::map<std::uint64_t, OnChange> watchers_;
  bool draining_ = false, forgetting_ = false;
  std::function<void()> drained_;
  CodeRunner code_;
  StrongTier strong_;
  Workers workers_;   // these two last: their threads use all of the above
  Reading reading_;   // asks them, and need not be there when they answer
};

}  // namespace

// Who has no inspector fails closed.
void Executions::inspect_output(Report report, OutputOrder order, Inspected done) {
  auto found = hotcell::inspect_output(report, order, [] { return Result<std::unique_ptr<InspectorChild>>(make_error(ErrorCode::kUnsupported, "output cannot be inspected here")); });
  done(std::move(report), std::move(found));
}

std::unique_ptr<Executions> Executions::create(ExecutionsOptions options, JobRules rules, History& history, Loop& loop,
                                               ExecutionHooks hooks) {
  return std::make_unique<ExecutionsImpl>(std::move(options), std::move(rules), history, loop, std::move(hooks));
}

}  // namespace hotcell
