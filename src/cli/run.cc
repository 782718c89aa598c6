// `hotcell run`: one cell, its output passed on as it flows, its limits held whatever our own readers do.
#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <filesystem>
#include <optional>
#include <utility>

#include "backends/kept.h"
#include "backends/probe.h"
#include "backends/tool_launcher.h"
#include "base/strings.h"
#include "cli/commands.h"
#include "cli/event_writer.h"
#include "cli/help.h"
#include "cli/inspected.h"
#include "cli/job.h"
#include "cli/network.h"
#include "cli/output_sink.h"
#include "cli/progress.h"
#include "cli/run_by_daemon.h"
#include "manager/report_json.h"
#include "cli/say.h"
#include "cli/signals.h"
#include "cli/verdict_words.h"
#include "sys/uuid.h"

namespace hotcell {

namespace {

constexpr int kExitSuspended = 128 + SIGTSTP;  // as shells say of what was stopped
constexpr int kExitBrokenPipe = 128 + 13;  // as if SIGPIPE had ended us, which is what a shell expects in a pipeline

JsonStyle json_style() { return ::isatty(STDOUT_FILENO) == 1 ? JsonStyle::kPretty : JsonStyle::kOneLine; }

int refuse_run(const Error& error, bool json) {
  int code = refuse(error);
  if (json) print(report_json(failed_report(error), json_style()));
  return code;
}

// A program as files: where it is to go, where it comes from, who does it.
struct Suspension {
  std::string to, from;
  backends::Suspends* by = nullptr;
};

class Run {
 public:
  Run(const Parsed& parsed, CliJob& job, Launcher& launcher, std::optional<EventWriter>& events, const OutputInspector& inspector, const Suspension& suspension)
      : json_(parsed.has(Opt::kJson)),
        verify_(!parsed.has(Opt::kNoVerify)),
        cache_(!parsed.has(Opt::kNoCache)),
        talk_(parsed.has(Opt::kVerbose) ? Talk::kVerbose : Talk::kBrief),
        job_(job),
        launcher_(launcher),
        events_(events),
        inspector_(inspector),
        suspension_(suspension),
        parsed_(parsed),
        progress_(::isatty(STDERR_FILENO) == 1, job.policy.limits.wall) {}

  int operator()() {
    if (auto stopped = prepare(); stopped) return *stopped;
    auto& request = job_.request;
    if (auto attached = network_.attach(job_.policy, parsed_, request); !attached.ok()) return refuse_run(attached.error(), json_);
    request.collect_output = json_ || inspector_.on();
    if (!json_ && !inspector_.holds()) request.on_output = [this](Stream stream, std::string_view bytes) { pass_on(stream, bytes); };
    request.on_event = [this](const Event& event) {
      progress_.note(event);
      if (events_) events_->write(event);
    };
    if (progress_.on()) request.on_usage = [this](const LiveUsage& usage) { progress_.note(usage); };
    deadline_ = OutputSink::Clock::now() + job_.policy.limits.wall;
    // Not before: until then whoever stops us at a terminal stops us and what helps us.
    if (!suspension_.to.empty())
      if (auto caught = catch_suspension(); !caught.ok()) return refuse_run(caught.error(), json_);
    auto done = [this](RunId, Result<Report> result) { result_.emplace(std::move(result)); };
    auto started = suspension_.from.empty() ? launcher_.start(job_.policy, std::move(request), done)
                                            : suspension_.by->resume(job_.policy, suspension_.from, std::move(request), done);
    if (!started.ok()) return refuse_run(started.error(), json_);
    auto ended = watch(started.value());
    progress_.erase();
    if (result_ && result_->ok()) network_.conclude(result_->value(), [this](const Event& event) {
      if (events_) events_->write(event);
    });
    if (network_.has_secrets() && !json_) {
      out_.push(network_.rest(Stream::kStdout), deadline_);
      err_.push(network_.rest(Stream::kStderr), deadline_);
    }
    out_.finish();
    err_.finish();
    if (events_) events_->finish();
    if (!ended.ok()) return refuse_run(ended.error(), json_);
    return conclude();
  }

 private:
  // Verifies and compiles. The exit code when the program is not to be started.
  std::optional<int> prepare() {
    if (!job_.source) return std::nullopt;
    PipelineOptions options;
    options.verify = verify_;
    options.cache = cache_;
    options.cancelled = [] { return caught_signal() != 0; };
    pipeline_.emplace(launcher_, std::move(options));
    auto prepared = pipeline_->prepare(*job_.source, job_.policy, job_.request);
    if (!prepared.ok()) return refuse_run(prepared.error(), json_);
    prepared_ = std::move(prepared).value();
    if (!prepared_.stopped) return std::nullopt;
    Report report = *std::move(prepared_.stopped);
    pipeline_->complete(std::exchange(prepared_, {}), report);
    pipeline_.reset();
    found_ = inspector_.look(report);
    if (!json_ && report.compile) {
      err_.push(report.compile->err, OutputSink::Clock::now() + std::chrono::seconds(10));
      err_.finish();
    }
    for (const auto& line : finding_words(report)) say(line);
    result_.emplace(std::move(report));
    return conclude();
  }

  void pass_on(Stream stream, std::string_view bytes) {
    auto& sink = stream == Stream::kStdout ? out_ : err_;
    if (sink.tty()) progress_.output();
    if (network_.has_secrets()) sink.push(network_.clean(stream, bytes), deadline_);
    else sink.push(bytes, deadline_);
  }

  Result<void> watch(RunId id) {
    while (!result_) {
      // A broken stdout is noticed at the next write, as any program would; one that nobody can deliver to ends the
      // run.
      if (!cancelled_ && (caught_signal() != 0 || out_.failed() != 0 || err_.failed() != 0)) {
        launcher_.cancel(id);
        cancelled_ = true;
      }
      if (!suspension_.to.empty() && !suspended_) maybe_suspend(id);
      // A signal interrupts the wait in step(); the short limit covers one that came just before it.
      auto wait = std::chrono::milliseconds(100);
      if (out_.waiting() || err_.waiting()) {
        wait = std::chrono::milliseconds(0);
        TRY(wait_for_room());
      }
      TRY(launcher_.step(wait));
      if (!result_) progress_.tick((!out_.tty() || out_.at_line_start()) && (!err_.tty() || err_.at_line_start()));
    }
    return {};
  }

  // A program that is about to start cannot be kept yet: that is tried again for a while.
  void maybe_suspend(RunId id) {
    const auto now = OutputSink::Clock::now();
    if (take_suspension() && !suspend_until_) {
      suspend_until_ = now + std::chrono::seconds(5);
      next_try_ = now;
    }
    if (!suspend_until_ || now < next_try_) return;
    progress_.erase();
    auto kept = suspension_.by->suspend(id, suspension_.to);
    suspended_ = kept.ok();
    next_try_ = OutputSink::Clock::now() + std::chrono::milliseconds(500);
    if (kept.ok() || next_try_ < *suspend_until_) return;
    suspend_until_.reset();
    say(cat("it goes on, since it could not be suspended: ", kept.error().message));
  }

  // Until the cell or one of our readers has something for us. The cell's own timers are step()'s, so not for long.
  Result<void> wait_for_room() {
    std::array<struct pollfd, 3> fds = {{{launcher_.poll_fd(), POLLIN, 0},
                                         {out_.waiting() ? out_.fd() : -1, POLLOUT, 0},
                                         {err_.waiting() ? err_.fd() : -1, POLLOUT, 0}}};
    if (::poll(fds.data(), fds.size(), 10) < 0 && errno != EINTR) return errno_error("poll", errno);
    out_.flush_some();
    err_.flush_some();
    return {};
  }

  // What was held back until it was looked at.
  void look(Report& report) {
    found_ = inspector_.look(report);
    if (json_ || !inspector_.holds()) return;
    const auto deadline = OutputSink::Clock::now() + std::chrono::seconds(10);
    out_.push(report.out, deadline);
    err_.push(report.err, deadline);
    out_.finish();
    err_.finish();
  }

  // With what stderr was told before anything ran.
  std::string as_json(Report report) const {
    report.notices.insert(report.notices.begin(), job_.about.begin(), job_.about.end());
    return report_json(report, json_style(), found_);
  }

  int conclude() {
    const int signal = caught_signal();
    if (!result_->ok()) {
      if (signal != 0) return 128 + signal;
      return refuse_run(result_->error(), json_);
    }
    Report& report = result_->value();
    if (pipeline_) pipeline_->complete(std::exchange(prepared_, {}), report);
    if (!found_) look(report);
    audit_findings(parsed_, report, found_, {});
    const int broken = out_.failed() != 0 ? out_.failed() : err_.failed();
    if (json_) {
      if (int failed = print(as_json(report)); failed != 0) return failed;
    }
    if (signal != 0) return 128 + signal;
    if (broken == EPIPE) return kExitBrokenPipe;
    if (broken != 0) return refuse(errno_error("cannot pass on the output", broken));
    if (!json_) show(report.outputs);
    if (suspended_ && report.verdict.reason == ExitReason::kCancelled) {
      say(cat(report.error, "; hotcell run --resume ", suspension_.to, " goes on"));
      if (found_)
        for (const auto& sentence : inspection_words(*found_)) say(sentence);
      return inspected_exit_code(found_, kExitSuspended);
    }
    for (const auto& sentence : verdict_words(report, job_.policy, talk_)) say(sentence);
    if (found_)
      for (const auto& sentence : inspection_words(*found_)) say(sentence);
    return inspected_exit_code(found_, report.verdict.cli_exit_code());
  }

  // The value goes to stdout, as from an interactive interpreter; the rest needs somebody who can show it.
  void show(const std::vector<RichOutput>& outputs) {
    std::string names;
    for (const auto& o : outputs) {
      if (o.type != RichType::kText) names += cat(names.empty() ? "" : ", ", o.name);
      else if (o.name != "value.txt") say(o.bytes);
      else out_.push(cat(o.bytes, "\n"), OutputSink::Clock::now() + std::chrono::seconds(10));
    }
    out_.finish();
    if (!names.empty()) say(cat("to show: ", names, " (--json holds them)"));
  }

  bool json_, verify_, cache_;
  Talk talk_;
  CliJob& job_;
  Launcher& launcher_;
  std::optional<EventWriter>& events_;
  const OutputInspector& inspector_;
  const Suspension& suspension_;
  const Parsed& parsed_;
  RunNetwork network_;
  std::optional<Pipeline> pipeline_;
  Prepared prepared_;
  OutputSink out_{STDOUT_FILENO}, err_{STDERR_FILENO};
  Progress progress_;
  OutputSink::Clock::time_point deadline_;
  bool cancelled_ = false, suspended_ = false;
  std::optional<OutputSink::Clock::time_point> suspend_until_;
  OutputSink::Clock::time_point next_try_;
  std::optional<Result<Report>> result_;
  std::optional<OutputInspection> found_;
};

// Before anything runs, so that no end of ours leaves it out: what is waived is in the audit log, or it is not waived.
Result<void> audit_waivers(const Parsed& parsed, CliJob& job) {
  const backends::Backend* tool = backends::find(job.launcher.backend);
  if (tool == nullptr || job.waived.empty()) return {};
  if (job.request.id.empty()) job.request.id = sys::random_id();
  std::vector<AuditEvent> events;
  for (const auto& h : tool->judge(job.policy)) {
    if (std::find(job.waived.begin(), job.waived.end(), h.statement) == job.waived.end()) continue;
    events.push_back({"waiver", "statement_waived", AuditEffect::kObserved, h.status == LayerStatus::kNone ? AuditSeverity::kHigh : AuditSeverity::kMedium,
                      cat(h.statement, " was waived: ", h.detail),
                      {{"backend", std::string(tool->name())}, {"statement", h.statement}, {"status", std::string(to_string(h.status))}}, job.request.id, "local"});
  }
  FindingAudit audit(parsed);
  audit.tell(std::move(events));
  auto why = audit.finish();
  return why.empty() ? Result<void>() : make_error(ErrorCode::kUnsupported, cat("--waive: it cannot be put into the audit log: ", why));
}

Result<std::string> from_the_root(std::string_view option, std::string_view folder) {
  std::error_code failed;
  auto path = std::filesystem::absolute(std::filesystem::path(std::string(folder)), failed).lexically_normal();
  if (folder.empty() || failed) return make_error(ErrorCode::kInvalid, cat(option, ": expected a folder"));
  std::string text = path.string();
  if (text.size() > 1 && text.ends_with('/')) text.pop_back();
  return text;
}

// What goes on has its program, its policy and its files; only how it is watched can be said anew.
Result<CliJob> job_from(const Parsed& parsed, const std::string& folder) {
  constexpr std::array kAllowed = {Opt::kResume, Opt::kSuspendTo, Opt::kJson, Opt::kStatusFd, Opt::kVerbose, Opt::kBackendOption, Opt::kBackend};
  for (const auto& [option, value] : parsed.values())
    if (std::find(kAllowed.begin(), kAllowed.end(), option) == kAllowed.end())
      return make_error(ErrorCode::kInvalid, "--resume goes on with the program, the policy and the input it was suspended with: nothing of them can be given");
  if (!parsed.words.empty() || parsed.dashes) return make_error(ErrorCode::kInvalid, "--resume goes on with what was suspended: no program can be given");
  if (auto backend = parsed.last(Opt::kBackend); backend && *backend != "runsc") return make_error(ErrorCode::kInvalid, "--resume is of backend runsc");
  TRY_SET(CliJob job, make_job(parsed, JobFor::kExplaining));
  TRY_SET(job.policy, backends::kept_policy(folder));
  job.launcher.backend = "runsc";
  return job;
}

Result<Suspension> suspension_of(const Parsed& parsed, Launcher& launcher, std::string_view backend, std::string from) {
  Suspension out{{}, std::move(from), backends::suspends(launcher)};
  if (auto to = parsed.last(Opt::kSuspendTo)) {
    TRY_SET(out.to, from_the_root("--suspend-to", *to));
    if (::access(out.to.c_str(), F_OK) == 0) return make_error(ErrorCode::kInvalid, cat("--suspend-to: ", printable(out.to), " is there already"));
    // None of these is in what is kept, and it would go on without.
    constexpr std::pair<Opt, std::string_view> kUnkept[] = {{Opt::kInspectOutput, "--inspect"}, {Opt::kRules, "--rules"}, {Opt::kWaive, "--waive"}, {Opt::kSecret, "--secret"}};
    for (auto [option, name] : kUnkept)
      if (parsed.has(option)) return make_error(ErrorCode::kInvalid, cat("--suspend-to: not with ", name, ", which would not hold when it goes on"));
  }
  if (out.by == nullptr && !(out.to.empty() && out.from.empty()))
    return make_error(ErrorCode::kUnsupported, cat("backend ", backend, " cannot keep a program that runs; --backend runsc can"));
  return out;
}

Result<int> run_one(const Parsed& parsed) {
  std::optional<EventWriter> events;
  if (auto fd = parsed.last(Opt::kStatusFd)) {
    TRY_SET(EventWriter writer, EventWriter::create(*fd));
    events.emplace(std::move(writer));
  }
  std::string from;
  if (auto folder = parsed.last(Opt::kResume)) {
    TRY_SET(from, from_the_root("--resume", *folder));
  }
  TRY_SET(CliJob job, from.empty() ? make_job(parsed, JobFor::kRunning) : job_from(parsed, from));
  TRY_SET(OutputInspector inspector, OutputInspector::create(parsed, job.policy));
  for (const auto& note : job.notes) say(note);
  // Before the first cell exists: a signal that came between start and here would leave it behind.
  TRY(catch_signals());
  TRY(audit_waivers(parsed, job));
  TRY_SET(auto launcher, backends::open_backend(job.launcher.backend, job.launcher, {.waived = job.waived, .settings = job.settings.of(job.launcher.backend), .patience = backends::patience_for(job.launcher.backend, job.settings, backends::ToolOptions().patience), .cancelled = [] { return caught_signal() != 0; }}));
  TRY_SET(Suspension suspension, suspension_of(parsed, *launcher, job.launcher.backend, std::move(from)));
  Run run(parsed, job, *launcher, events, inspector, suspension);
  int code = run();
  launcher.reset();  // while what its last events are told to still exists
  return code;
}

}  // namespace

int cmd_run(Args args) {
  auto parsed = parse(Command::kRun, args);
  if (!parsed.ok()) return refuse_run(parsed.error(), wants_json(Command::kRun, args));
  if (parsed.value().has(Opt::kHelp)) return print(help_text(Command::kRun));
  auto done = parsed.value().has(Opt::kDaemon) ? run_by_daemon(parsed.value()) : run_one(parsed.value());
  return done.ok() ? done.value() : refuse_run(done.error(), parsed.value().has(Opt::kJson));
}

}  // namespace hotcell
