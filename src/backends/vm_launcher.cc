// A Launcher whose cells are machines (vm.h): a native launcher runs QEMU and the runner in a cell, and what they tell
// becomes the account of the program.
#include <fcntl.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <map>
#include <optional>

#include "backends/posture.h"
#include "backends/tools.h"
#include "backends/vm.h"
#include "base/sha256.h"
#include "base/strings.h"
#include "core/launch/around_machine.h"
#include "core/policy/units.h"
#include "core/policy/validate.h"
#include "sys/file.h"
#include "sys/uuid.h"

namespace hotcell::backends {
namespace {

constexpr Bytes kMachineItself = 384_MiB;        // QEMU with 64 MiB of translated code, and the stacks of its threads
constexpr Bytes kOwnFiles = 1_MiB;               // in the workspace: the order, what is told
constexpr auto kBootPatience = std::chrono::seconds(180);

// What is told of a run: lines of NAME:VALUE, from the guest's kernel, the agent and the runner.
std::map<std::string, std::string> told_lines(std::string_view text) {
  std::map<std::string, std::string> out;
  for (auto line : split(text, '\n'))
    if (auto colon = line.find(':'); colon != line.npos) out[std::string(line.substr(0, colon))] = std::string(trim(line.substr(colon + 1)));
  return out;
}
std::uint64_t number(const std::map<std::string, std::string>& lines, const std::string& name) {
  auto it = lines.find(name);
  return it == lines.end() ? 0 : std::strtoull(it->second.c_str(), nullptr, 10);
}

// The cell around the machine.
Policy around(const Policy& policy, const Machine& machine, const MachineImage& image, MachineStart how) {
  Policy out = default_policy();
  out.name = policy.name;
  out.on_output = policy.on_output;
  out.uid = policy.uid;
  out.gid = policy.gid;
  out.limits = policy.limits;
  out.limits.address_space.reset();
  out.limits.memory = Bytes{(machine.memory_mib << 20) + kMachineItself.n + policy.limits.disk.n};
  out.limits.disk = Bytes{policy.limits.disk.n + kOwnFiles.n};
  // Its threads: one for each processor, and up to 64 that serve shares.
  out.limits.processes = 96 + machine.cpus;
  out.limits.open_files = 1024;
  out.limits.stack = 2_MiB;
  // What starting takes is not the program's.
  out.limits.cpu_time += how == MachineStart::kRestore ? std::chrono::seconds(1) : std::chrono::seconds(20);
  if (how != MachineStart::kRestore) out.limits.wall += std::chrono::seconds(60);
  out.filesystem.grants = policy.filesystem.grants;
  out.filesystem.grants.push_back({image.folder, Access::kRead, "backend vm"});
  if (!machine.root.empty()) out.filesystem.grants.push_back({machine.root, Access::kRead, "vm.image"});
  return out;
}

Result<std::unique_ptr<Launcher>> cells_for(Accel accel) { return accel == Accel::kKvm ? create_around_machine() : Launcher::create(); }

class VmLauncher final : public Launcher {
 public:
  VmLauncher(ToolOptions options, VmOptions vm, AccelChoice accel, std::unique_ptr<Launcher> cells, std::string qemu)
      : options_(std::move(options)), vm_(std::move(vm)), accel_(std::move(accel)), cells_(std::move(cells)), qemu_(std::move(qemu)) {}

  Result<RunId> start(const Policy& policy, Request request, Done done) override {
    TRY(validate(policy));
    if (request.argv.empty() || request.argv[0].empty()) return make_error(ErrorCode::kInvalid, "nothing to run");
    if (std::holds_alternative<StdinSocket>(request.stdin_source)) return make_error(ErrorCode::kUnsupported, "backend vm: a socket cannot be handed into a machine");
    TRY(refuse_unheld(policy));
    if (!policy.required.empty()) TRY(check_required(policy));
    if (request.id.empty()) request.id = sys::random_id();
    ToolRequest asked{policy, request, "", "/work/w", qemu_, "hotcell-vm"};
    asked.env = program_env(policy, request);
    asked.settings = options_.settings;
    TRY_SET(Machine machine, machine_of(asked));
    machine.accel = accel_.accel;
    TRY_SET(MachineImage image, machine_image(MakeImage::kYes, options_.settings));
    TRY_SET(machine.root, machine_root(MakeImage::kYes, options_.settings, options_.cancelled));
    std::string state = "-";
    if (vm_.snapshot) {
      auto kept = snapshot(policy, machine, image);
      if (!kept.ok() && kept.error().code == ErrorCode::kUnsupported && on_what_was_found()) doubt_kvm();
      TRY_SET(state, std::move(kept));
    }
    TRY_SET(std::string filter, filter_bytes(policy));
    auto how = vm_.snapshot ? MachineStart::kRestore : MachineStart::kCold;

    Request inner;
    inner.id = request.id;
    inner.argv = {image.program, "run", "/work/order", "/work/told", "/work/w", state, "--"};
    for (auto& word : machine_command(qemu_, machine, image, how)) inner.argv.push_back(std::move(word));
    inner.files.push_back({"order", machine_order(asked, machine, filter, image.folder), 0600});
    if (std::get<std::string>(inner.files[0].content).size() > kOwnFiles.n / 2) return make_error(ErrorCode::kLimit, "backend vm: the arguments and variables are too long");
    for (auto& f : request.files) {
      f.name = cat("w/", f.name);
      inner.files.push_back(std::move(f));
    }
    for (const auto& name : request.outputs) inner.outputs.push_back(cat("w/", name));
    for (const auto& name : request.outputs_if_there) inner.outputs_if_there.push_back(cat("w/", name));
    inner.outputs_if_there.emplace_back("told");
    inner.wall = request.wall;
    inner.stdin_source = std::move(request.stdin_source);
    inner.collect_output = request.collect_output;
    inner.on_output = std::move(request.on_output);
    inner.on_event = std::move(request.on_event);
    inner.on_usage = std::move(request.on_usage);
    inner.on_timeout = std::move(request.on_timeout);
    auto finished = [this, policy, state, done = std::move(done)](RunId id, Result<Report> report) {
      if (report.ok())
        if (auto accounted = account(policy, report.value()); !accounted.ok()) {
          report = std::move(accounted).error();
          // It may be the file: the next start makes a new one.
          if (state != "-") ::unlink(state.c_str());
          if (on_what_was_found()) doubt_kvm();
        }
      done(id, std::move(report));
    };
    return cells_->start(around(policy, machine, image, how), std::move(inner), std::move(finished));
  }

  Result<void> step(std::chrono::milliseconds at_most) override { return cells_->step(at_most); }
  void cancel(RunId id) override { cells_->cancel(id); }
  Result<void> freeze(RunId id, bool frozen) override { return cells_->freeze(id, frozen); }
  std::size_t running() const override { return cells_->running(); }
  int poll_fd() const override { return cells_->poll_fd(); }
  Result<void> park(const Policy&, std::size_t) override { return make_error(ErrorCode::kUnsupported, "only native cells can be parked"); }
  Result<void> park(const Policy&, std::shared_ptr<const Runtime>, std::size_t) override { return make_error(ErrorCode::kUnsupported, "only native cells can be parked"); }
  std::size_t parked(const Policy&) const override { return 0; }
  std::size_t parked(const Policy&, const Runtime&) const override { return 0; }
  void trim() override { cells_->trim(); }

 private:
  // KVM, and not by the trial itself.
  bool on_what_was_found() const { return accel_.accel == Accel::kKvm && !vm_.accel; }

  Result<void> refuse_unheld(const Policy& policy) const {
    TRY(check_waivers(options_.waived));
    for (const auto& h : unheld(*backends::vm(), policy, options_.waived))
      if (h.status == LayerStatus::kNone)
        return make_error(ErrorCode::kUnsupported, cat("backend vm cannot hold this policy: ", h.statement, ": ", h.detail, " (--waive ", h.statement, " does without)"));
    return {};
  }

  // Known only from inside: a run of its own, before the one that was asked for.
  Result<void> check_required(const Policy& policy) {
    Policy like = policy;
    like.required.clear();
    Request request;
    request.argv = {"/bin/true"};
    TRY_SET(Report trial, run(like, std::move(request)));
    for (Layer layer : policy.required) {
      const LayerReport* held = trial.enforcement.find(layer);
      if (held != nullptr && held->status == LayerStatus::kFull) continue;
      return make_error(ErrorCode::kUnsupported, cat("required layer ", to_string(layer), " is ", held == nullptr ? "none" : to_string(held->status), " here: ",
                                                     held == nullptr ? "not of this backend" : held->detail));
    }
    return {};
  }

  // The booted machine as a file, made when there is none that fits.
  Result<std::string> snapshot(const Policy& policy, const Machine& machine, const MachineImage& image) {
    auto command = machine_command(qemu_, machine, image, MachineStart::kBoot);
    Sha256 hash;
    hash.add_field(image.key);
    struct stat st {};
    auto add_file = [&](const std::string& path) {
      if (::stat(path.c_str(), &st) != 0) return;
      for (auto n : {static_cast<std::uint64_t>(st.st_dev), static_cast<std::uint64_t>(st.st_ino), static_cast<std::uint64_t>(st.st_size),
                     static_cast<std::uint64_t>(st.st_mtim.tv_sec), static_cast<std::uint64_t>(st.st_mtim.tv_nsec), static_cast<std::uint64_t>(st.st_ctim.tv_sec),
                     static_cast<std::uint64_t>(st.st_ctim.tv_nsec)})
        hash.add_number(n);
    };
    add_file(qemu_);
    // One that we have made is called after its content, and is touched when it is used.
    if (!machine.root.empty() && !machine.root.starts_with(cat(machine_roots(), "/"))) add_file(machine.root);
    // "max" is what this QEMU can emulate, whatever the host's processor is; "host" is that processor. The rest is in the words.
    if (machine.accel == Accel::kKvm) hash.add_field(processor_identity());
    for (const auto& word : command) hash.add_field(word);
    std::string path = cat(image.folder, "/", hash.finish_hex().substr(0, 24), ".state");
    if (::access(path.c_str(), R_OK) == 0) {
      ::utimensat(AT_FDCWD, path.c_str(), nullptr, 0);
      return path;
    }
    Policy boot = around(policy, machine, image, MachineStart::kBoot);
    boot.filesystem.grants = {{image.folder, Access::kRead, "backend vm"}};
    if (!machine.root.empty()) boot.filesystem.grants.push_back({machine.root, Access::kRead, "vm.image"});
    // Three times what everything else is given: an emulated machine boots in seconds, on a busy host in a minute.
    boot.limits.wall = boot.limits.cpu_time = vm_.boot_patience.count() > 0 ? vm_.boot_patience : std::min<Nanoseconds>(kBootPatience, options_.patience * 3);
    boot.limits.cpus = 0;
    boot.limits.output = 64_KiB;
    boot.limits.disk = 512_MiB;
    boot.limits.memory = Bytes{boot.limits.memory.n + boot.limits.disk.n};
    Request request;
    request.argv = {image.program, "boot", "/work/state", "--"};
    for (auto& word : command) request.argv.push_back(std::move(word));
    request.outputs = {"state"};
    TRY_SET(auto launcher, cells_for(machine.accel));
    TRY_SET(Report report, run_while(*launcher, boot, std::move(request), options_.cancelled));
    if (report.verdict.exit_code != 0 || report.files.size() != 1) {
      auto said = hotcell::trim(report.err);
      if (report.verdict.reason == ExitReason::kTimeoutWall || report.verdict.reason == ExitReason::kTimeoutCpu)
        return make_error(ErrorCode::kUnsupported, cat("backend vm: the machine does not boot here: it gave no answer within ", format_duration(boot.limits.wall), " and was ended"));
      return make_error(ErrorCode::kUnsupported, cat("backend vm: the machine does not boot here: ", to_string(report.verdict.reason), said.empty() ? "" : ": ", printable(said.substr(0, 300))));
    }
    TRY(keep_file(path, report.files[0].bytes, 0444));
    sweep_machines(image.folder);
    return path;
  }

  Result<void> account(const Policy& policy, Report& r) const {
    std::string told;
    std::vector<OutputFile> files;
    for (auto& f : r.files) {
      if (f.name == "told") told = std::move(f.bytes);
      else if (f.name.starts_with("w/")) files.push_back({f.name.substr(2), std::move(f.bytes), f.executable});
    }
    r.files = std::move(files);
    auto lines = told_lines(told);
    bool by_itself = r.verdict.reason == ExitReason::kExited || r.verdict.reason == ExitReason::kSignal;
    if (auto it = lines.find("failed"); it != lines.end()) return make_error(ErrorCode::kInternal, cat("backend vm: ", printable(it->second)));
    if (by_itself && !lines.contains("ended")) return make_error(ErrorCode::kInternal, cat("backend vm: the runner ended without a word", r.err.empty() ? "" : ": ", printable(r.err.substr(0, 300))));
    bool bad = r.verdict.signal.has_value() || r.verdict.exit_code.value_or(0) != 0;
    if (by_itself && bad) {
      if (number(lines, "oom_kills") > 0) r.verdict.reason = ExitReason::kMemory;
      else if (r.verdict.signal == SIGSYS) r.verdict.reason = ExitReason::kPolicy;
      else if (r.verdict.signal == SIGXFSZ) r.verdict.reason = ExitReason::kDisk;
      else if (number(lines, "pids_refused") > 0) r.verdict.reason = ExitReason::kProcesses;
      else if (number(lines, "tmp_full") > 0) r.verdict.reason = ExitReason::kDisk;
    }
    if (auto peak = number(lines, "memory_peak"); peak > 0) r.usage.memory_peak = Bytes{peak};
    r.usage.processes_peak = 0;  // of the machine's own threads: says nothing of the program
    r.enforcement = enforcement(policy, told, lines, std::move(r.enforcement), accel_.reason);
    r.denials.clear();
    for (const auto& h : backends::vm()->judge(policy))
      if (std::find(options_.waived.begin(), options_.waived.end(), h.statement) != options_.waived.end())
        r.denials.push_back({"waiver", cat(h.statement, " was waived: ", h.detail), h.statement, "", 1});
    r.denials_complete = false;
    return {};
  }

  // Of the program as the guest's kernel has it, and of the machine as ours has it.
  static Enforcement enforcement(const Policy& policy, std::string_view told, const std::map<std::string, std::string>& lines, Enforcement cell,
                                 std::string_view processor) {
    Enforcement out;
    out.backend = "vm";
    out.layers = read_posture(told, *backends::vm(), true);
    bool known = lines.contains("ns_pid");
    for (auto& l : out.layers) {
      // A machine that was ended before it said anything still was one; what is in it was not read.
      if (!known) l = {l.layer, LayerStatus::kNone, "not read back: it was ended before"};
      if (known && l.layer == Layer::kSeccomp) {
        bool filter = lines.contains("Seccomp") && lines.at("Seccomp") == "2";
        l = {l.layer, filter ? LayerStatus::kFull : LayerStatus::kNone, filter ? "a filter in a kernel of its own" : "no filter was read back"};
      }
    }
    auto limit = [&](Layer layer, const char* name, std::uint64_t wanted, std::string_view what) {
      bool right = number(lines, name) == wanted;
      out.layers.push_back({layer, right ? LayerStatus::kFull : LayerStatus::kNone, right ? cat("cgroup v2 of the guest: ", what) : std::string("was not read back")});
    };
    limit(Layer::kMemory, "memory_max", policy.limits.memory.n / 4096 * 4096, cat(policy.limits.memory.n >> 20, " MiB"));
    limit(Layer::kProcesses, "pids_max", policy.limits.processes + 1, cat(policy.limits.processes, " tasks"));
    for (Layer layer : {Layer::kCpu, Layer::kRlimits})
      if (const LayerReport* held = cell.find(layer)) out.layers.push_back({held->layer, held->status, cat(held->detail, ", of the machine", layer == Layer::kCpu ? cat("; ", processor) : "")});
    out.layers.push_back({Layer::kDisk, LayerStatus::kPartial, "/work, /tmp and /dev/shm each by its size"});
    return out;
  }

  ToolOptions options_;
  VmOptions vm_;
  const AccelChoice accel_;   // as long as this launcher lives: a host that changes is looked at by the next one
  std::unique_ptr<Launcher> cells_;
  std::string qemu_;
};

}  // namespace

Result<Report> run_while(Launcher& launcher, const Policy& policy, Request request, const std::function<bool()>& cancelled) {
  std::optional<Result<Report>> out;
  TRY_SET(RunId id, launcher.start(policy, std::move(request), [&](RunId, Result<Report> report) { out.emplace(std::move(report)); }));
  for (bool over = false; !out;) {
    TRY(launcher.step(std::chrono::milliseconds(100)));
    if (over || !cancelled || !cancelled()) continue;
    launcher.cancel(id);
    over = true;
  }
  if (out->ok() && out->value().verdict.reason == ExitReason::kCancelled) return make_error(ErrorCode::kCancelled, "cancelled");
  return *std::move(out);
}

Result<std::unique_ptr<Launcher>> open_vm(ToolOptions options, VmOptions vm) {
  TRY_SET(std::string qemu, backends::vm()->locate(options.settings));
  if (options.settings.said("vm.executable") && !qemu.starts_with("/usr/"))
    return make_error(ErrorCode::kUnsupported, cat("vm.executable: ", printable(qemu), ": the cell around the machine shows programs below /usr alone"));
  AccelChoice accel;
  if (vm.accel) {
    accel = *vm.accel;
  } else {
    TRY_SET(accel, accel_here(options.settings, qemu, {Believe::kLately, options.cancelled}));
  }
  TRY_SET(auto cells, cells_for(accel.accel));
  return std::unique_ptr<Launcher>(new VmLauncher(std::move(options), std::move(vm), std::move(accel), std::move(cells), std::move(qemu)));
}

}  // namespace hotcell::backends
