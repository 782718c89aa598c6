// Making a cell and handing it its request. Watching it is cell_watch.cc, the account cell_account.cc.
#include "core/launch/cell.h"

#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/fsuid.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstddef>
#include <cstring>

#include "base/strings.h"
#include "core/launch/child.h"
#include "core/launch/enforcement.h"
#include "core/launch/idmap.h"
#include "core/launch/workspace.h"
#include "core/policy/patch.h"
#include "core/policy/proxy_env.h"
#include "sys/file.h"

namespace hotcell {
namespace {

constexpr auto kSetupTime = std::chrono::seconds(10);  // set-up takes a millisecond; a stuck file system must not hang us

constexpr auto kWarmUpTime = std::chrono::seconds(30);

class StepTimer {
 public:
  explicit StepTimer(std::vector<std::pair<std::string, Nanoseconds>>& steps) : steps_(steps), last_(Clock::now()) {}
  void mark(const char* name) {
    auto now = Clock::now();
    steps_.emplace_back(name, now - last_);
    last_ = now;
  }

 private:
  std::vector<std::pair<std::string, Nanoseconds>>& steps_;
  Clock::time_point last_;
};

}  // namespace

Result<std::unique_ptr<Cell>> Cell::spawn(std::shared_ptr<Plan> plan, const Host& host, int init_fd, CellParts parts) {
  std::unique_ptr<Cell> cell(new Cell);
  cell->plan_ = std::move(plan);
  cell->template_ = std::move(parts.from);
  cell->cgroup_ = std::move(parts.cgroup);
  if (parts.outer != nullptr) cell->outer_ = *parts.outer;
  TRY(cell->build(host, init_fd, parts.will_wait, parts.stdin_socket).context("start cell"));
  return cell;
}

Result<void> Cell::build(const Host& host, int init_fd, bool will_wait, int stdin_socket) {
  born_ = Clock::now();
  deadline_ = born_ + kSetupTime;
  StepTimer timer(parent_steps_);
  counts_cpu_ = host.cgroup.cpuacct;
  counts_memory_ = host.cgroup.memory;
  // v1: init joins after it has built the root, and meanwhile there is time to make the groups.
  bool late = plan_->backend == BackendKind::kNative && !template_ && host.cgroup.version == CgroupVersion::kV1;
  if (!late) {
    TRY(make_cgroup(host));
    timer.mark("cgroup");
  }
  if (host.privileged && plan_->backend != BackendKind::kOuter) {
    TRY_SET(ids_, take_ids());
  }
  if (plan_->backend == BackendKind::kOuter) {
    if (outer_.workspace.empty()) return make_error(ErrorCode::kInvalid, "a tool's cell needs a place");
    ids_.id = outer_.id;
    TRY_SET(plan_, make_plan(plan_->policy, host, BackendKind::kOuter, PlanPurpose::kRun, {outer_.workspace, outer_.id, outer_.own_rlimits, outer_.many_threads}));
  }
  if (plan_->backend == BackendKind::kLandlock) {
    // Its plan names the workspace and the ids, so it can only be finished here.
    TRY_SET(flat_workspace_, make_flat_workspace(ids_.id));
    TRY_SET(plan_, make_plan(plan_->policy, host, BackendKind::kLandlock, PlanPurpose::kRun, {flat_workspace_, ids_.id}));
  }
  TRY_SET(sys::SocketPair ctl, sys::seqpacket_pair());
  TRY_SET(sys::SocketPair prog, sys::seqpacket_pair());
  TRY_SET(sys::Pipe in, sys::make_pipe(0));
  TRY_SET(sys::Pipe out, sys::make_pipe(0));
  TRY_SET(sys::Pipe err, sys::make_pipe(0));
  for (int fd : {in.write.get(), out.read.get(), err.read.get()}) TRY(sys::set_nonblocking(fd));
  // Scripts open /dev/stderr by its name; under another uid the pipes would not be theirs to open.
  for (int fd : {in.read.get(), out.write.get(), err.write.get()})
    if (ids_.id != 0 && ::fchown(fd, ids_.id, ids_.id) < 0) return errno_error("fchown of a pipe", errno);
  timer.mark("pipes");
  std::vector<sys::Fd> grants, layers;
  if (plan_->backend == BackendKind::kNative) {
    TRY_SET(grants, open_grants(*plan_, host, init_fd, ids_.id));
    TRY_SET(layers, open_layers(*plan_, host, init_fd, ids_.id));
  }
  sys::Fd device;
  std::vector<int> tasks = cgroup_ ? cgroup_->tasks_fds() : std::vector<int>{};
  std::vector<int> inherited;
  for (const auto& i : plan_->builder.inherited()) {
    if (late && i.kind == Inherited::Kind::kCgroupTasks) continue;
    if (i.kind == Inherited::Kind::kCgroupTasks) {
      if (i.index >= tasks.size()) return make_error(ErrorCode::kInternal, "the plan wants a descriptor that was not made");
      inherited.push_back(tasks[i.index]);
      continue;
    }
    if (i.kind == Inherited::Kind::kDevice) {
      TRY_SET(device, make_kvm_node(ids_.id));
      inherited.push_back(device.get());
      continue;
    }
    const auto& opened = i.kind == Inherited::Kind::kGrant ? grants : layers;
    if (i.index >= opened.size()) return make_error(ErrorCode::kInternal, "the plan wants a descriptor that was not made");
    inherited.push_back(opened[i.index].get());
  }
  ChildFds fds;
  fds.standard[0] = stdin_socket >= 0 ? stdin_socket : in.read.get();
  fds.standard[1] = out.write.get();
  fds.standard[2] = err.write.get();
  fds.ctl = ctl.theirs.get();
  fds.prog = prog.theirs.get();
  fds.lock = ids_.lock.get();
  fds.inherited = inherited;
  if (!grants.empty()) timer.mark("grants");
  if (template_) {
    TRY(template_->ask_for_cell(fds, ids_.id, will_wait, stamp_));
  } else {
    TRY_SET(child_, start_init(*plan_, plan_->clone_flags, init_fd, cgroup_ ? cgroup_->clone_fd() : -1, fds));
  }
  timer.mark(template_ ? "stamp" : "clone");
  ctl_ = std::move(ctl.ours);
  prog_ = std::move(prog.ours);
  stdin_sink_ = std::move(in.write);
  out_ = std::move(out.read);
  err_ = std::move(err.read);
  // From here on a failure must also end the child: the destructor does.
  if (template_) return {};
  if (plan_->clone_flags != 0) TRY(write_id_maps(child_.pid, plan_->policy, host, ids_.id));
  timer.mark("id_maps");
  TRY(sys::send(ctl_.get(), {&kBeCell, 1}));
  if (!late) return {};
  TRY(make_cgroup(host));
  timer.mark("cgroup");
  tasks = cgroup_->tasks_fds();
  // An init that has failed and gone has said why.
  if (auto sent = sys::send(ctl_.get(), {&kBeCell, 1}, tasks); !sent && sent.error().err != EPIPE) return std::move(sent).error();
  return {};
}

Result<void> Cell::make_cgroup(const Host& host) {
  if (cgroup_ || host.cgroup.version == CgroupVersion::kNone) return {};
  TRY_SET(cgroup_, create_cgroup(host.cgroup, group_limits(plan_->policy.limits, plan_->backend)));
  return {};
}

bool Cell::settle_stamp(bool wait) {
  if (!stamp_.awaited) return !not_stamped();
  template_->settle(stamp_, wait);
  stamp_.awaited = false;
  if (!stamp_.made || !stamp_.made->ok()) return false;
  child_ = std::move(stamp_.made->value().child);
  net_ = stamp_.made->value().net;
  return true;
}

void Cell::end() {
  if (!settle_stamp() || child_.pid == 0) return;
  if (frozen_) cgroup_->freeze(false).ignore("on v2 it can be killed all the same");
  // Without a pid namespace only init itself can end its descendants, and does so when this closes.
  if (plan_->backend == BackendKind::kNative) sys::signal_pidfd(child_.pidfd.get(), SIGKILL).ignore("it may be dead already");
  ctl_.reset();
  sys::reap(child_.pid, true).ignore("nobody is there to tell");
  child_.pid = 0;
}

Cell::~Cell() {
  end();
  if (!flat_workspace_.empty()) remove_flat_workspace(flat_workspace_);
}

int Cell::fd(Source source) const {
  switch (source) {
    case Source::kProg: return prog_.get();
    case Source::kStdout: return out_.get();
    case Source::kStderr: return err_.get();
    case Source::kStdin: return stdin_.active() ? stdin_.sink_fd() : -1;
    case Source::kStdinSource: return stdin_.source_fd();  // also when it is no longer wanted: epoll must be told by it
    case Source::kPidfd: return child_.pidfd.get();
    case Source::kListener: return listener_.fd();
    case Source::kMemory: return cgroup_ ? cgroup_->memory_event_fd() : -1;
  }
  return -1;
}

// Set-up takes a millisecond: one that has taken a second hangs, and would have its request hang with it.
bool Cell::gets_on() const { return state_ == State::kSettingUp && !killed_for_ && !error_ && Clock::now() < born_ + std::chrono::seconds(1); }

bool Cell::setup_timed_out() const { return (state_ == State::kSettingUp || state_ == State::kWarming) && Clock::now() >= deadline_; }

void Cell::fail(Error error) {
  // What breaks because we were told to end it is no failure of ours.
  if (!error_ && killed_for_ != ExitReason::kCancelled) error_ = std::move(error);
  kill(ExitReason::kSandboxError);
  deadline_ = std::max(deadline_, Clock::now() + std::chrono::seconds(1));  // should the kill need repeating
}

Result<void> Cell::write_files(const std::vector<InputFile>& files) {
  if (files.empty()) return {};
  if (!work_.valid()) return make_error(ErrorCode::kInternal, "the cell handed over no workspace");
  for (const auto& f : files) TRY(write_input_file(work_.get(), f, ids_.id));
  return {};
}

std::map<std::string, std::string> Cell::environment() const {
  const Policy& policy = plan_->policy;
  std::map<std::string, std::string> env = {{"PATH", "/usr/local/bin:/usr/bin:/bin:/usr/local/sbin:/usr/sbin:/sbin"},
                                            {"HOME", plan_->workspace}, {"TMPDIR", flat_workspace_.empty() ? "/tmp" : flat_workspace_},
                                            {"LANG", "C.UTF-8"}, {"USER", "cell"}, {"HOTCELL_ID", request_.id}};
  if (policy.network.mode == NetworkMode::kProxy) env.merge(cell_proxy_environment());
  for (const auto& grant : policy.filesystem.grants)
    if (path_contains(grant.path, "/run")) env.erase("NODE_OPTIONS");  // the host's covers the file
  for (const auto& name : policy.env.pass)
    if (const char* value = ::getenv(name.c_str())) env[name] = value;
  for (const auto& [k, v] : policy.env.set) env[k] = v;
  for (const auto& [k, v] : request_.env) env[k] = v;
  return env;
}

std::string Cell::orders() const {
  std::string fields;
  auto add = [&](std::string_view s) { (fields += s) += '\0'; };
  add(cat(request_.runtime_argv.size()));
  for (const auto& a : request_.runtime_argv) add(a);
  add(request_.workdir.empty() ? plan_->workspace : request_.workdir);
  auto env = environment();
  add(cat(env.size()));
  for (const auto& [k, v] : env) add(cat(k, "=", v));
  std::string length = cat(fields.size());
  return cat(std::string(10 - std::min<std::size_t>(length.size(), 10), '0'), length, fields);
}

Result<void> Cell::send_exec() {
  std::string strings;
  auto add = [&](std::string_view s) { (strings += s) += '\0'; };
  ExecHeader header{};
  header.magic = kExecMagic;
  for (const auto& a : request_.argv) add(a);
  header.argc = static_cast<std::uint32_t>(request_.argv.size());
  auto env = environment();
  for (const auto& [k, v] : env) add(cat(k, "=", v));
  header.envc = static_cast<std::uint32_t>(env.size());
  header.workdir = static_cast<std::uint32_t>(request_.workdir.empty() ? 0 : 1);
  if (header.workdir) add(request_.workdir);
  if (strings.size() > 0xffffffffu) return make_error(ErrorCode::kInvalid, "arguments and environment are larger than 4 GiB");
  header.bytes = static_cast<std::uint32_t>(strings.size());
  std::string message(reinterpret_cast<const char*>(&header), sizeof header);
  if (strings.size() <= kExecInline) {
    message += strings;
    return sys::send(prog_.get(), message);
  }
  header.in_memfd = 1;
  std::memcpy(message.data(), &header, sizeof header);
  TRY_SET(sys::Fd big, sys::memfd("hotcell-exec", strings, false, true));
  int fd = big.get();
  return sys::send(prog_.get(), message, {&fd, 1});
}

Result<void> Cell::warm_up(const Runtime& runtime, std::string id) {
  request_ = {};
  request_.id = std::move(id);
  request_.argv = runtime.argv;
  request_.env = runtime.env;
  TRY(write_files(runtime.files).context("workspace"));
  runtime_files_ = runtime.files;
  TRY(send_exec());
  deadline_ = Clock::now() + kWarmUpTime;
  state_ = State::kWarming;
  return {};
}

Result<void> Cell::on_warm() {
  char byte = 1;
  ssize_t n = ::read(out_.get(), &byte, 1);
  if (n < 0 && (errno == EAGAIN || errno == EINTR)) return {};
  if (n != 1 || byte != 0) return make_error(ErrorCode::kInvalid, cat("the runtime ", printable(request_.argv[0]), " does not wait for a program"));
  state_ = State::kWarm;
  return {};
}

// The limit is per process, and a runtime has used some of it already. Where we may not raise it, the second that it is
// above the policy's must do; the policy's own is held by the samples.
void Cell::allow_cpu_time() {
  rlimit64 most{};
  if (::syscall(SYS_prlimit64, program_, RLIMIT_CPU, nullptr, &most) < 0 || most.rlim_max == RLIM64_INFINITY) return;
  constexpr std::uint64_t kStartUp = 2;
  most.rlim_cur += kStartUp;
  most.rlim_max += kStartUp;
  ::syscall(SYS_prlimit64, program_, RLIMIT_CPU, &most, nullptr);
}

void Cell::rest() {
  if (cgroup_ && !std::exchange(rests_, true)) cgroup_->rest();
}

Result<void> Cell::start(Request request, OnOutput past_limit) {
  bool warm = state_ == State::kWarm;
  past_limit_ = past_limit;
  request_ = std::move(request);
  if (request_.argv.empty() || request_.argv[0].empty()) return make_error(ErrorCode::kInvalid, "nothing to run");
  for (const auto* list : {&request_.argv, &request_.runtime_argv})
    for (const auto& s : *list)
      if (s.find('\0') != std::string::npos) return make_error(ErrorCode::kInvalid, "an argument contains a NUL byte");
  for (const auto& [k, v] : request_.env)
    if (k.empty() || k.find('=') != std::string::npos || k.find('\0') != std::string::npos || v.find('\0') != std::string::npos)
      return make_error(ErrorCode::kInvalid, cat("not a name for an environment variable: ", printable(k)));
  if (!flat_workspace_.empty()) {
    // Requests call the workspace /work. Where it has another name, the files put there and a folder in it are meant.
    auto in_workspace = [&](std::string& path) { path = cat(flat_workspace_, path.substr(sizeof "/work" - 1)); };
    // A file, a folder with files in it, or what is to come out of it.
    auto meant = [&](const std::string& word) {
      if (!word.starts_with("/work/")) return false;
      std::string_view name = std::string_view(word).substr(sizeof "/work/" - 1);
      for (const auto& f : request_.files)
        if (f.name == name || (f.name.starts_with(name) && f.name[name.size()] == '/')) return true;
      for (const auto* list : {&request_.outputs, &request_.outputs_if_there})
        if (std::find(list->begin(), list->end(), name) != list->end()) return true;
      return false;
    };
    for (auto& word : request_.argv)
      if (meant(word)) in_workspace(word);
    for (auto& [name, value] : request_.env)
      if (meant(value)) in_workspace(value);
    if (request_.workdir == "/work" || request_.workdir.starts_with("/work/")) in_workspace(request_.workdir);
  }
  StepTimer timer(parent_steps_);
  if (warm) TRY(remove_input_files(work_.get(), std::exchange(runtime_files_, {}), ids_.id).context("workspace"));
  TRY(write_files(request_.files).context("workspace"));
  Limits limits = plan_->policy.limits;
  if (request_.wall) limits.wall = std::min(limits.wall, *request_.wall);
  stdout_ = std::make_unique<OutputBuffer>(limits.output, request_.collect_output);
  stderr_ = std::make_unique<OutputBuffer>(limits.output, request_.collect_output);
  stdin_ = StdinPump(std::move(stdin_sink_), std::move(request_.stdin_source), warm ? orders() : std::string());
  if (cgroup_) TRY(cgroup_->start_counting().context("cgroup"));
  if (warm) {
    listener_.forget();
    if (!counts_cpu_) cpu_before_ = tree_.sample(child_.pid).cpu;
    allow_cpu_time();
  }
  monitor_.emplace(limits, request_.id);
  disk_before_ = disk_used();
  timer.mark("hand_over");
  start_wall_ = std::chrono::system_clock::now();
  started_ = Clock::now();
  deadline_ = started_ + limits.wall;
  next_sample_ = started_ + sample_every_;
  if (plan_->policy.network.mode == NetworkMode::kProxy) {
    if (!request_.on_network || !door_.valid()) return make_error(ErrorCode::kUnsupported, "network mode proxy: nobody is there to serve the cell's door");
    request_.on_network(door_.release(), dns_.release());
  }
  if (request_.on_enforcement) request_.on_enforcement(enforcement_);
  if (!warm) TRY(send_exec());
  state_ = State::kRunning;
  emit("sandbox.created");
  emit("execution.started");
  return {};
}

}  // namespace hotcell
