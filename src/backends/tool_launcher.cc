#include "backends/tool_launcher.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <cerrno>
#include <map>

#include "backends/engine/engine.h"
#include "backends/kept.h"
#include "backends/leavings.h"
#include "backends/platform.h"
#include "backends/told.h"
#include "backends/tool_run.h"
#include "backends/view.h"
#include "backends/vm.h"
#include "backends/walls.h"
#include "backends/warm.h"
#include "base/strings.h"
#include "core/kernel/cgroup.h"
#include "core/kernel/host.h"
#include "core/launch/collect.h"
#include "core/launch/workspace.h"
#include "core/policy/units.h"
#include "core/policy/validate.h"
#include "sys/file.h"
#include "sys/process.h"
#include "sys/uuid.h"

namespace hotcell::backends {
namespace {

constexpr int kSuspending = 60;  // seconds: memory goes to a disk
constexpr std::uint32_t kAnyTasks = 1 << 22;  // as many as a kernel can have
constexpr auto kDiskLook = std::chrono::milliseconds(100);

// What is around the tool and the program together: the policy's limits, and what the tool itself needs.
Policy outer_policy(const Policy& policy, const Overhead& overhead, bool own_tasks = false) {
  Policy outer = default_policy();
  outer.name = policy.name;
  outer.limits = policy.limits;
  outer.limits.memory = Bytes{policy.limits.memory.n + overhead.memory.n};
  // Where they are counted inside, an ordinary user's other processes are not to be counted with them out here.
  outer.limits.processes = own_tasks ? kAnyTasks : policy.limits.processes + overhead.tasks;
  outer.on_output = policy.on_output;
  outer.env.set["PATH"] = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin";
  return outer;
}

int cgroup_version_here() {
  auto host = Host::look();
  if (!host.ok()) return 0;
  return host.value().cgroup.version == CgroupVersion::kV2 ? 2 : host.value().cgroup.version == CgroupVersion::kV1 ? 1 : 0;
}

class ToolLauncher final : public Launcher, public Suspends {
 public:
  ToolLauncher(const Backend& backend, ToolOptions options, std::unique_ptr<Launcher> outer, std::string tool)
      : backend_(backend), options_(std::move(options)), outer_(std::move(outer)), tool_(std::move(tool)) {
    cgroups_ = cgroup_version_here();
    backend_.sweep();
  }

  // The tools before the folders they run in.
  ~ToolLauncher() override { outer_.reset(); }

  Result<RunId> start(const Policy& policy, Request request, Done done) override {
    if (request.argv.empty() || request.argv[0].empty()) return make_error(ErrorCode::kInvalid, "nothing to run");
    if (options_.posture) TRY(backend_.permits(request, options_.settings));  // not of what we ask ourselves
    TRY_SET(auto walls, check(policy));
    if (request.id.empty()) request.id = sys::random_id();
    bool socket = std::holds_alternative<StdinSocket>(request.stdin_source);  // must be there when the tool is started
    auto warm = socket ? std::nullopt : warm_.take(*outer_, policy);
    Request inner;
    std::shared_ptr<ToolRun> run;
    if (warm) {
      run = warm->run;
      inner.runtime = warm->runtime;
      inner.argv = inner.runtime_argv = request.argv;
      inner.workdir = request.workdir.empty() ? "/work" : request.workdir;
      for (auto& [k, v] : program_env(policy, request)) inner.env[k] = std::move(v);
    } else {
      TRY_SET(Prepared made, prepare(policy, request, false));
      run = std::move(made.run);
      inner.argv = std::move(made.argv);
      inner.env = std::move(made.env);
      inner.outer = std::move(made.place);
    }
    for (const auto& f : request.files) TRY(write_input_file(run->scratch.work(), f, run->ids.id).context("workspace"));
    auto begun = begin(policy, std::move(request), std::move(inner), std::move(run), std::move(walls), std::move(done));
    if (warm) warm_.leave(*outer_, *warm);
    TRY_SET(RunId id, std::move(begun));
    if (options_.keep_warm && backend_.parks()) keep_for(policy);
    return id;
  }

  // What is the same for everything that is started: `inner` is the tool's, `request` what was asked for.
  Result<RunId> begin(const Policy& policy, Request request, Request inner, std::shared_ptr<ToolRun> run, std::vector<LayerReport> walls, Done done) {
    run->outputs = std::exchange(request.outputs, {});
    run->outputs_if_there = std::exchange(request.outputs_if_there, {});
    run->done = std::move(done);

    inner.id = request.id;
    inner.wall = request.wall;
    inner.stdin_source = std::move(request.stdin_source);
    inner.collect_output = request.collect_output;
    inner.on_output = std::move(request.on_output);
    inner.on_event = std::move(request.on_event);
    inner.on_timeout = std::move(request.on_timeout);
    auto id = std::make_shared<RunId>(0);
    inner.on_usage = [this, run, id, pass = std::move(request.on_usage)](const LiveUsage& usage) {
      if (pass) pass(usage);
      look_at_disk(*run, *id);
    };
    TRY_SET(*id, outer_->start(outer_policy(policy, backend_.overhead(), run->own_tasks), std::move(inner),
                               [this, run, walls = std::move(walls)](RunId which, Result<Report> report) { finish(*run, walls, which, std::move(report)); }));
    live_[*id] = run;
    return *id;
  }

  Result<void> suspend(RunId id, const std::string& folder) override {
    auto it = live_.find(id);
    auto run = it == live_.end() ? nullptr : it->second.lock();
    if (!run) return make_error(ErrorCode::kNotFound, "no such run");
    if (run->suspend.empty()) return cannot_keep();
    TRY(make_kept_folder(folder, run->policy));
    auto command = run->suspend;
    command[command.size() - 2] += folder;
    auto begun = std::chrono::steady_clock::now();
    if (!run_quietly(command, kSuspending)) {
      std::error_code ignored;
      std::filesystem::remove_all(folder, ignored);  // it is ours: we have made it
      // One that was given up may still come to its end, and the program with it: that would not be the program's.
      if (std::chrono::steady_clock::now() - begun >= std::chrono::seconds(kSuspending)) {
        run->broken = cat("it took longer than ", kSuspending, " s to suspend it");
        outer_->cancel(id);
      }
      return make_error(ErrorCode::kUnsupported, cat("backend ", backend_.name(), ": the program could not be kept"));
    }
    run->kept_in = folder;
    return {};
  }

  Result<RunId> resume(const Policy& policy, const std::string& folder, Request request, Done done) override {
    if (!keeps()) return cannot_keep();
    TRY_SET(auto walls, check(policy));
    TRY_SET(Kept kept, read_kept(folder, {policy, identity_, options_.settings.text()}));
    if (kept.platform != platform_) return make_error(ErrorCode::kUnsupported, cat(printable(folder), ": was kept on the platform ", printable(kept.platform)));
    if (request.id.empty()) request.id = sys::random_id();
    request.argv = {"/bin/true"};  // a bundle has a program; what goes on is in the image
    request.files.clear();
    TRY_SET(CellIds ids, take_ids_again(kept.id));
    TRY_SET(Prepared made, prepare(policy, request, false, folder, std::move(ids)));
    TRY(restore_workspace(folder, cat(made.run->scratch.path(), "/work")));
    Request inner;
    inner.argv = std::move(made.argv);
    inner.env = std::move(made.env);
    inner.outer = std::move(made.place);
    return begin(policy, std::move(request), std::move(inner), std::move(made.run), std::move(walls), std::move(done));
  }

  Result<void> step(std::chrono::milliseconds at_most) override {
    TRY(outer_->step(at_most));
    if (backend_.parks() && outer_->running() == 0) warm_.tend(*outer_);
    return {};
  }
  void cancel(RunId id) override { outer_->cancel(id); }
  Result<void> freeze(RunId id, bool frozen) override { return outer_->freeze(id, frozen); }
  std::size_t running() const override { return outer_->running(); }
  int poll_fd() const override { return outer_->poll_fd(); }
  Result<void> park(const Policy& policy, std::size_t count) override {
    if (!backend_.parks()) return make_error(ErrorCode::kUnsupported, cat("backend ", backend_.name(), " cannot be started ahead of its program"));
    if (count > 0) TRY(check(policy));
    warm_.want(policy, count);
    if (outer_->running() == 0) warm_.tend(*outer_);
    return {};
  }
  Result<void> park(const Policy&, std::shared_ptr<const Runtime>, std::size_t) override {
    return make_error(ErrorCode::kUnsupported, cat("backend ", backend_.name(), " keeps no runtimes"));
  }
  std::size_t parked(const Policy& policy) const override { return warm_.ready(*outer_, policy); }
  std::size_t parked(const Policy&, const Runtime&) const override { return 0; }
  void trim() override { outer_->trim(); }

  bool keeps() const { return backend_.parks(); }  // whoever can be started ahead is a kernel of its own

 private:
  static Error cannot_keep() { return make_error(ErrorCode::kUnsupported, "this backend cannot keep a running program"); }

  struct Prepared {
    std::shared_ptr<ToolRun> run;
    std::vector<std::string> argv, sources;
    std::map<std::string, std::string> env;
    std::shared_ptr<const OuterPlace> place;
  };

  // Before anything runs: whether it may, and behind which walls it will.
  Result<std::vector<LayerReport>> check(const Policy& policy) {
    TRY(validate(policy));
    TRY(refuse_unheld(backend_, policy, options_.waived));
    // A launcher may live for days. What was found out about one binary says nothing of another under its name.
    std::string identity = tool_identity(tool_);
    if (identity.empty()) return make_error(ErrorCode::kUnsupported, cat("backend ", backend_.name(), ": ", tool_, " is gone"));
    if (platform_.empty() || identity != identity_) {
      TRY_SET(platform_, platform_of(backend_, tool_, options_));
      identity_ = identity;
    }
    if (!options_.posture) return std::vector<LayerReport>{};
    TRY_SET(Posture found, posture_of(policy));
    TRY(check_promises(backend_, policy, options_.waived, found));
    TRY(check_required(policy, found));
    return std::move(found.walls);
  }

  Result<Posture> posture_of(const Policy& policy) {
    auto settings = platform_.empty() ? options_.settings : options_.settings.with(cat(backend_.name(), ".platform"), platform_);
    return postures_.of(backend_, policy, identity_, options_.patience, [&] { return open_tool(backend_, {options_.waived, false, settings, options_.patience}); });
  }

  // Everything that the tool is told and given. `ahead`: for a request that is not known yet.
  Result<Prepared> prepare(const Policy& policy, const Request& request, bool ahead, const std::string& resume = {}, CellIds known = {}) {
    Prepared out;
    out.run = std::make_shared<ToolRun>();
    ToolRun& run = *out.run;
    run.tool = identity_;
    bool privileged = ::geteuid() == 0;
    if (privileged && backend_.own_ids()) {
      run.ids = std::move(known);
      if (run.ids.id == 0) {
        TRY_SET(run.ids, take_ids());
      }
      TRY_SET(run.root_ids, take_ids());
    }
    TRY_SET(run.scratch, folders_.take(run.ids.id));
    ToolRequest asked{policy, request, run.scratch.path(), cat(run.scratch.path(), "/work"), tool_, cat("hotcell-", sys::random_uuid()), run.ids.id};
    asked.privileged = privileged;
    asked.env = program_env(policy, request);
    asked.root_id = run.root_ids.id;
    asked.group = new_group_name();
    asked.cgroups = cgroups_;
    asked.settings = options_.settings;
    asked.platform = platform_;
    asked.ahead = ahead;
    asked.resume = resume;
    TRY_SET(auto common, backend_.shared(asked));
    if (!common.empty()) {
      TRY_SET(run.base, bases_.of(common));
      asked.base = run.base->path();
    }
    TRY_SET(ToolPlan plan, backend_.plan(asked));
    TRY(run.scratch.write(plan.pieces));
    run.told = open_told(run.scratch);
    run.resumed = !resume.empty();
    run.own_tasks = plan.own_tasks;
    run.after = std::move(plan.after);
    run.state = std::move(plan.state);
    run.group = std::move(plan.group);
    run.suspend = std::move(plan.suspend);
    run.policy = policy;
    out.argv = std::move(plan.argv);
    for (auto& [k, v] : plan.env) out.env[k] = std::move(v);
    auto place = std::make_shared<OuterPlace>();
    place->workspace = asked.workspace;
    // A tool that can do without privileges gets none.
    place->id = backend_.without_root() ? run.ids.id : 0;
    place->own_rlimits = backend_.overhead().own_rlimits;
    place->many_threads = backend_.overhead().many_threads;
    out.place = std::move(place);
    if (!ahead) return out;
    out.sources.push_back(tool_);  // one that was replaced has other walls than those that are read back now
    TRY_SET(auto shown, view(asked));
    for (const auto& s : shown)
      if (s.kind == Shown::Kind::kBind && !s.source.starts_with(run.scratch.path())) out.sources.push_back(s.source);
    return out;
  }

  Result<Warm::Started> start_ahead(const Policy& policy) {
    TRY_SET(Prepared made, prepare(policy, {}, true));
    Warm::Started out;
    out.run = std::move(made.run);
    out.outer = outer_policy(policy, backend_.overhead());
    out.sources = std::move(made.sources);
    out.runtime = std::make_shared<const Runtime>(Runtime{std::move(made.argv), std::move(made.env), {}, std::move(made.place)});
    return out;
  }

  void keep_for(const Policy& policy) {
    if (kept_for_ && *kept_for_ != policy) warm_.want(*kept_for_, 0);
    if (kept_for_ != policy) kept_for_ = policy;
    warm_.want(policy, 1);
  }

  void look_at_disk(ToolRun& run, RunId id) {
    auto now = std::chrono::steady_clock::now();
    if (now < run.next_look) return;
    run.next_look = now + kDiskLook;
    if (run.scratch.used() <= run.policy.limits.disk.n) return;
    run.disk_full = true;
    outer_->cancel(id);
  }

  void finish(ToolRun& run, const std::vector<LayerReport>& walls, RunId id, Result<Report> report) {
    live_.erase(id);
    std::optional<Told> told;
    // Closed at the end, after the answer: the kernel takes some 20 ms to take a watch down.
    const ToldBy by = std::move(run.told);
    if (by.valid() && told_by_number()) told = take_told(by);
    if (told && run.resumed) told->started = true;
    // One that succeeds without our seal has run the program without it: that is found by its walls (check_promises), or was waived.
    if (report.ok() && told && !told->started && by_itself(report.value().verdict.reason) && report.value().verdict.exit_code != 0) report = never_began(run, report.value());
    if (report.ok()) {
      Report& r = report.value();
      if (!run.kept_in.empty()) {
        auto kept = write_kept(run.kept_in, {run.ids.id, platform_}, {run.policy, run.tool, options_.settings.text()}, cat(run.scratch.path(), "/work"));
        if (!kept.ok()) run.broken = cat("it was suspended, but could not be kept: ", kept.error().message);
        r.verdict = {ExitReason::kCancelled, std::nullopt, std::nullopt};
        r.error = cat("suspended: kept in ", run.kept_in);
      }
      if (run.disk_full) {
        r.verdict = {ExitReason::kDisk, std::nullopt, SIGKILL};
        r.error = "the workspace is larger than the disk limit";
      }
      if (told_by_number()) name_the_end(r.verdict, told);
      // A tool may have put the program into a group below ours: what is killed there is not told here, but counted.
      if (r.verdict.signal == SIGKILL && r.verdict.reason == ExitReason::kSignal && r.usage.memory_peak.n >= run.policy.limits.memory.n)
        r.verdict.reason = ExitReason::kMemory;
      account(run, walls, r);
      if (auto collected = collect(run, r); !collected.ok()) report = std::move(collected).error();
      if (!run.broken.empty()) report = make_error(ErrorCode::kIo, cat("backend ", backend_.name(), ": ", run.broken));
    }
    if (!nothing_in(run.state))
      for (const auto& command : run.after) run_quietly(command);
    // Whatever is in it is killed before the answer.
    if (!run.group.empty() && remove_group_everywhere(run.group)) run.group.clear();
    folders_.leave({std::move(run.ids), std::move(run.root_ids), std::move(run.scratch), std::move(run.group)});
    run.done(id, std::move(report));
  }

  static bool by_itself(ExitReason reason) { return reason == ExitReason::kExited || reason == ExitReason::kSignal || reason == ExitReason::kPolicy; }

  // What the tool answers is then no word of the program's.
  Error never_began(const ToolRun& run, const Report& r) const {
    return make_error(ErrorCode::kIo, cat("backend ", backend_.name(), " ended with ", r.verdict.exit_code ? cat("exit code ", *r.verdict.exit_code) : cat("signal ", r.verdict.signal.value_or(0)),
                                          " before the program was started: ", words_of_tool(r.err, run.scratch)));
  }

  static bool nothing_in(const std::string& folder) {
    if (folder.empty()) return false;
    auto names = sys::list_dir(folder.c_str());
    return names.ok() && names.value().empty();
  }

  bool told_by_number() const { return backend_.name() != "basic" && backend_.name() != "none"; }

  void account(const ToolRun& run, const std::vector<LayerReport>& walls, Report& r) const {
    Enforcement outer = std::move(r.enforcement);
    r.enforcement = {};
    r.enforcement.backend = std::string(backend_.name());
    r.enforcement.layers = walls;
    for (auto& l : r.enforcement.layers)
      if (l.layer == Layer::kSeccomp && !platform_.empty()) l.detail += cat(", platform ", platform_);
    for (Layer layer : {Layer::kRlimits, Layer::kMemory, Layer::kCpu, Layer::kProcesses}) {
      const LayerReport* held = outer.find(layer);
      if (held == nullptr || r.enforcement.find(layer) != nullptr) continue;  // seen from inside is better
      LayerReport copy = *held;
      if (layer == Layer::kProcesses && run.own_tasks) {
        copy = {layer, LayerStatus::kFull, "RLIMIT_NPROC of the program's own user namespace"};
      } else if (layer == Layer::kProcesses && backend_.overhead().tasks > 0) {
        copy.status = LayerStatus::kPartial;
        copy.detail += cat(", ", backend_.overhead().tasks, " more for the tool");
      }
      if (layer == Layer::kMemory && backend_.overhead().memory.n > 0) {
        if (roomy(backend_.overhead(), run.policy.limits)) copy.status = LayerStatus::kPartial;
        copy.detail += cat(", and files in memory; with ", backend_.overhead().memory.n >> 20, " MiB for the tool", copy.status == LayerStatus::kPartial ? ", of which the program has what is left" : "");
      }
      r.enforcement.layers.push_back(std::move(copy));
    }
    r.enforcement.layers.push_back({Layer::kDisk, LayerStatus::kPartial, "each file by RLIMIT_FSIZE, /work by samples"});
    for (auto& d : told_waivers(backend_, run.policy, options_.waived)) r.denials.push_back(std::move(d));
    r.denials_complete = false;
  }

  static Result<void> collect(ToolRun& run, Report& r) {
    r.files.clear();
    if (!run.outputs.empty() && r.verdict.reason == ExitReason::kExited && r.verdict.exit_code == 0) {
      TRY_SET(r.files, collect_outputs(run.scratch.work(), run.outputs, run.policy.limits.disk));
    }
    if (!run.outputs_if_there.empty())
      for (auto& f : collect_present(run.scratch.work(), run.outputs_if_there, run.policy.limits.disk)) r.files.push_back(std::move(f));
    return {};
  }

  const Backend& backend_;
  ToolOptions options_;
  std::unique_ptr<Launcher> outer_;
  std::string tool_;
  int cgroups_ = 0;
  Postures postures_;
  Bases bases_;
  Folders folders_;
  std::map<RunId, std::weak_ptr<ToolRun>> live_;
  std::string platform_, identity_;
  std::optional<Policy> kept_for_;
  Warm warm_{[this](const Policy& policy) { return start_ahead(policy); }};
};

}  // namespace

Result<std::unique_ptr<Launcher>> open_tool(const Backend& backend, ToolOptions options) {
  TRY_SET(std::string tool, backend.locate(options.settings));
  if (backend.needs_root() && ::geteuid() != 0) return make_error(ErrorCode::kUnsupported, cat("backend ", backend.name(), " needs root here"));
  sweep_flat_folders();
  if (::geteuid() == 0) sweep_groups_everywhere();
  LauncherOptions outer;
  outer.backend = "outer";
  TRY_SET(auto launcher, Launcher::create(outer));
  return std::unique_ptr<Launcher>(new ToolLauncher(backend, std::move(options), std::move(launcher), std::move(tool)));
}

Suspends* suspends(Launcher& launcher) {
  auto* tool = dynamic_cast<ToolLauncher*>(&launcher);
  return tool != nullptr && tool->keeps() ? tool : nullptr;
}

Result<std::unique_ptr<Launcher>> open_backend(std::string_view name, LauncherOptions options, ToolOptions tool) {
  auto foreign = [&]() -> Result<void> {
    auto why = not_for(name, tool.settings, SettingsOf::kNamed);
    return why.empty() ? Result<void>() : make_error(ErrorCode::kUnsupported, cat("backend ", name, ": ", why));
  };
  if (name == "native" || name == "landlock") TRY(foreign());
  if (name == "native" || name == "landlock") {
    options.backend = std::string(name);
    return Launcher::create(std::move(options));
  }
  const Backend* backend = find(name);
  if (backend == nullptr) {
    std::string list = "native, landlock";
    for (const Backend* b : all()) list += cat(", ", b->name());
    return make_error(ErrorCode::kInvalid, cat("unknown backend: ", printable(name), " (", list, ")"));
  }
  TRY(foreign());
  if (name == "vm") return open_vm(std::move(tool));
  return backend->engine() ? open_engine(*backend, std::move(tool)) : open_tool(*backend, std::move(tool));
}

Result<ToolPlan> plan_tool(const Backend& backend, const Policy& policy, const Request& request, const std::string& scratch, unsigned id, const Settings& settings) {
  std::string tool = backend.installed(settings);
  if (tool.empty()) tool = std::string(backend.binary());
  ToolRequest asked{policy, request, scratch, cat(scratch, "/work"), tool, "hotcell-cell", id};
  asked.privileged = ::geteuid() == 0;
  if ((asked.privileged || backend.needs_root()) && backend.own_ids()) {
    if (asked.id == 0) asked.id = kForeignId;
    asked.root_id = kForeignId + 1;
  }
  asked.env = program_env(policy, request);
  asked.settings = settings;
  asked.group = scratch.substr(scratch.rfind('/') + 1);
  asked.cgroups = cgroup_version_here();
  // To try one it must be there, and be ours to run.
  if (asked.privileged && tool.starts_with('/')) {
    TRY_SET(asked.platform, platform_of(backend, tool, {{}, true, settings}));
  }
  return backend.plan(asked);
}

void without_privileges(const Backend& backend, ToolPlan& plan, unsigned id) {
  if (::geteuid() != 0 || !backend.without_root() || !backend.own_ids()) return;
  plan.argv.insert(plan.argv.begin(), {"/usr/bin/setpriv", cat("--reuid=", id), cat("--regid=", id), "--clear-groups", "--"});
}

}  // namespace hotcell::backends
