#include <fcntl.h>
#include <linux/magic.h>
#include <signal.h>
#include <sys/ioctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/vfs.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstddef>
#include <cstring>
#include <utility>

#include "base/strings.h"
#include "core/launch/cell.h"
#include "core/launch/enforcement.h"
#include "sys/file.h"

namespace hotcell {
namespace {

constexpr unsigned long kPidfdGetMountNamespace = _IO(0xFF, 3);
constexpr std::size_t kChunk = 64 << 10;

Error step_error(const Plan& plan, const Record& record) {
  const auto& entries = plan.builder.entries();
  auto index = static_cast<std::size_t>(record.op);
  if (index >= entries.size()) return make_error(ErrorCode::kInternal, "init reported an operation that is not in the plan");
  const auto& e = entries[index];
  std::string note = record.err == ESTALE ? cat(e.note, " changed while the cell was being made") : e.note;
  Error error = errno_error(cat(to_string(e.layer), ": ", to_string(e.kind), note.empty() ? "" : cat(" (", printable(note), ")")), record.err);
  return error;
}

Error exec_error(const std::string& program, int err) {
  std::string what = cat(printable(program), ": ", ::strerror(err));
  if (err == ENOENT || err == ENOTDIR) return Error{ErrorCode::kNotFound, err, cat(printable(program), ": not found in the cell")};
  if (err == EACCES || err == ENOEXEC || err == EPERM || err == EISDIR)
    return Error{ErrorCode::kNotExecutable, err, err == ENOEXEC ? cat(printable(program), ": not an executable format (a script without #!?)") : what};
  if (err == E2BIG) return Error{ErrorCode::kInvalid, err, "the arguments and environment are larger than this kernel takes"};
  return Error{ErrorCode::kIo, err, what};
}

}  // namespace

Result<void> Cell::on_ctl() {
  if (!ctl_.valid()) return {};  // closed by an event earlier in the same round
  Record record;
  TRY_SET(sys::Message m, sys::receive(ctl_.get(), {reinterpret_cast<char*>(&record), sizeof record}, MSG_DONTWAIT));
  if (m.again) return {};
  if (m.size == 0) {
    ctl_.reset();
    return {};
  }
  if (m.size < offsetof(Record, op_ns)) return make_error(ErrorCode::kInternal, "init sent a short record");
  if (record.type == RecordType::kFailed) return step_error(*plan_, record);
  if (record.type == RecordType::kExited && !wait_status_) {
    wait_status_ = record.status;
    user_us_ = record.user_us;
    system_us_ = record.system_us;
    rss_kib_ = record.max_rss_kib;
    // The program is over; what it left behind is being killed as init exits.
    end_ = std::max(started_, Clock::time_point(Nanoseconds(record.end_ns)));
  }
  return {};
}

Error Cell::failure_of(const Record& record) const {
  if (record.op < 0)
    return Error{ErrorCode::kInvalid, record.err, cat("working directory ", printable(request_.workdir), ": ", ::strerror(record.err), " in the cell")};
  const auto& entries = plan_->builder.entries();
  auto index = static_cast<std::size_t>(record.op);
  bool exec = index < entries.size() && entries[index].kind == OpKind::kExec && state_ != State::kSettingUp;
  return exec ? exec_error(request_.argv[0], record.err) : step_error(*plan_, record);
}

Result<void> Cell::limit_open_files(int program) {
  for (int pid : {program, child_.pid}) {
    rlimit64 most{};
    if (::syscall(SYS_prlimit64, pid, RLIMIT_NOFILE, nullptr, &most) < 0) return errno_error("prlimit64 (open files)", errno);
    // A ceiling of the caller's that is lower already stays, as with the other limits.
    most.rlim_max = most.rlim_cur = std::min<rlim64_t>(most.rlim_max, plan_->policy.limits.open_files);
    if (::syscall(SYS_prlimit64, pid, RLIMIT_NOFILE, &most, nullptr) < 0) return errno_error("prlimit64 (open files)", errno);
  }
  return {};
}

Result<void> Cell::on_prog(const Host& host) {
  if (!prog_.valid()) return {};
  Record record;
  TRY_SET(sys::Message m, sys::receive(prog_.get(), {reinterpret_cast<char*>(&record), sizeof record}, MSG_DONTWAIT));
  if (m.again) return {};
  if (!settle_stamp()) {
    // Nobody is there: whoever wants this cell makes another, in one go.
    prog_.reset();
    if (killed_for_) state_ = State::kDead;
    return {};
  }
  if (killed_for_) {
    // By somebody who did not wait for it to be there.
    if (m.size == 0) prog_.reset();
    kill(*killed_for_);
    return {};
  }
  if (m.size == 0) {
    // Close-on-exec did it: the program runs. During set-up it means that the process died before it was ready.
    prog_.reset();
    if (state_ != State::kSettingUp) return {};
    if (ctl_.valid()) TRY(on_ctl());  // init says which step it was
    return make_error(ErrorCode::kInternal, "the program's process ended before it was ready");
  }
  if (m.size < offsetof(Record, op_ns)) return make_error(ErrorCode::kInternal, "the program's process sent a short record");
  if (record.type == RecordType::kFailed) return failure_of(record);
  if (record.type != RecordType::kReady || state_ != State::kSettingUp) return make_error(ErrorCode::kInternal, "an unexpected record");
  std::size_t next = 0;
  if ((record.status & kHasWork) && next < m.fds.size()) work_ = std::move(m.fds[next++]);
  if ((record.status & kHasListener) && next < m.fds.size()) listener_ = NotifyListener(std::move(m.fds[next++]));
  if ((record.status & kHasDoor) && next + 1 < m.fds.size()) {
    door_ = std::move(m.fds[next++]);
    dns_ = std::move(m.fds[next++]);
  }
  if (plan_->listener && !listener_.valid()) return make_error(ErrorCode::kInternal, "the cell handed over no seccomp listener");
  if (!plan_->observed.empty()) listener_.observe(plan_->observed, std::make_unique<FileWatch>(m.pid, plan_->backend));
  if (!plan_->marks.empty()) listener_.do_marks(plan_->marks, std::make_unique<FileMarks>(*plan_, work_.get(), ids_.id));
  program_ = m.pid;
  // A tool that sets the program's limits itself needs its own (plan_outer).
  if (!host.privileged && !outer_.own_rlimits) TRY(limit_open_files(m.pid).context("rlimits"));
  op_ns_.assign(record.op_ns, record.op_ns + plan_->builder.entries().size());
  auto before = Clock::now();
  enforcement_ = read_back(m.pid, *plan_, host, cgroup_.get());
  parent_steps_.emplace_back("read_back", Clock::now() - before);
  TRY(check_required(plan_->policy, enforcement_));
  // While this is open init's exit does not wait for its mount namespace to be taken apart. Before 6.11 it does.
  mounts_ = sys::Fd(::ioctl(child_.pidfd.get(), kPidfdGetMountNamespace, 0));
  state_ = State::kParked;
  return {};
}

void Cell::on_output(Stream stream, bool draining) {
  sys::Fd& fd = stream == Stream::kStdout ? out_ : err_;
  if (!fd.valid() || !stdout_) return;
  OutputBuffer& buffer = stream == Stream::kStdout ? *stdout_ : *stderr_;
  static thread_local char chunk[kChunk];
  // A bounded number of reads, so that a flood on one stream starves neither the other nor the clock.
  for (int rounds = 0; rounds < (draining ? 1 << 20 : 8); ++rounds) {
    ssize_t n = ::read(fd.get(), chunk, sizeof chunk);
    if (n < 0 && errno == EINTR) continue;
    if (n < 0 && errno == EAGAIN) return;
    if (n <= 0) {
      fd.reset();
      return;
    }
    std::string_view kept = buffer.append({chunk, static_cast<std::size_t>(n)});
    if (!kept.empty() && request_.on_output) request_.on_output(stream, kept);
    if (buffer.truncated() && past_limit_ == OnOutput::kKill) {
      kill(ExitReason::kOutput);
      if (!draining) return;
    }
    if (static_cast<std::size_t>(n) < sizeof chunk / 2 && !draining) return;
  }
}

Result<void> Cell::freeze(bool frozen) {
  if (!cgroup_) return make_error(ErrorCode::kUnsupported, "without a cgroup a cell cannot be frozen");
  if (state_ != State::kRunning) return make_error(ErrorCode::kInvalid, "the cell is not running a program");
  TRY(cgroup_->freeze(frozen).context(frozen ? "freeze" : "thaw"));
  frozen_ = frozen;
  // What stands still needs little of its memory.
  if (frozen && plan_->policy.lasting) cgroup_->reclaim();
  return {};
}

void Cell::kill(ExitReason reason) {
  if (state_ == State::kDead) return;
  if (state_ == State::kRunning && ctl_.valid()) on_ctl().ignore("whether it has ended by itself is all that matters");
  if (std::exchange(frozen_, false)) cgroup_->freeze(false).ignore("on v2 it can be killed all the same");
  // Nobody waits for those that die with their namespace: what they did to disks is asked before.
  if (state_ == State::kRunning && !killed_for_ && !wait_status_) io_ = tree_io(child_.pid);
  if (!killed_for_ && !wait_status_) killed_for_ = reason;
  if (plan_->backend != BackendKind::kNative) {
    // Init must live a moment longer: only it can end the descendants that no namespace holds.
    if (cgroup_) cgroup_->kill_all();
    ::shutdown(ctl_.get(), SHUT_RDWR);
    return;
  }
  // Whether there is somebody to end is heard on its socket, sooner or later; where it is our own patience that ends, now.
  if (stamp_.awaited && reason != ExitReason::kSandboxError) return;
  if (settle_stamp(false)) sys::signal_pidfd(child_.pidfd.get(), SIGKILL).ignore("ESRCH: it is dead already");
  else state_ = State::kDead;  // it has no process whose end would be heard
}

void Cell::on_deadline() {
  if (state_ == State::kRunning && !wait_status_) {
    if (request_.on_timeout && !killed_for_) request_.on_timeout();
    kill(ExitReason::kTimeoutWall);
  }
  deadline_ = Clock::now() + std::chrono::seconds(1);  // should the kill need repeating
}

void Cell::attend() {
  if (state_ != State::kRunning) return;
  sample_every_ = std::chrono::milliseconds(5);
  next_sample_ = std::min(next_sample_, Clock::now() + sample_every_);
}

void Cell::tick(Clock::time_point now) {
  if (now >= deadline_) on_deadline();
  else sample();
}

Bytes Cell::disk_used() const {
  struct statfs fs;
  // What a lasting workspace lies on is the host's, or measured by who made it.
  if (!work_.valid() || plan_->policy.lasting || plan_->backend != BackendKind::kNative || ::fstatfs(work_.get(), &fs) < 0) return {};
  Bytes used{(fs.f_blocks - fs.f_bfree) * static_cast<std::uint64_t>(fs.f_bsize)};
  return used > disk_before_ ? Bytes{used.n - disk_before_.n} : Bytes{};
}

namespace {

// In all private folders together. Its pages are the cell's, but for those that the launcher wrote.
std::optional<Bytes> in_scratch(int work) {
  struct statfs fs;
  if (::fstatfs(work, &fs) < 0 || fs.f_type != TMPFS_MAGIC) return std::nullopt;
  return Bytes{(fs.f_blocks - fs.f_bfree) * static_cast<std::uint64_t>(fs.f_bsize)};
}

// Grants come with what is mounted below them.
bool has_tmpfs_below(const std::vector<ResolvedGrant>& grants) {
  if (std::none_of(grants.begin(), grants.end(), [](const ResolvedGrant& g) { return g.access == Access::kWrite; })) return false;
  auto mounts = sys::read_file("/proc/self/mountinfo", 16 << 20);
  if (!mounts.ok()) return true;
  for (auto line : split(mounts.value(), '\n')) {
    auto words = split(line, ' ');
    if (words.size() < 5 || line.find(" - tmpfs ") == line.npos) continue;
    for (const auto& g : grants) {
      if (g.access != Access::kWrite) continue;
      std::string folder;   // as the kernel writes names there
      for (char c : g.canonical) folder += c == ' ' ? "\\040" : c == '\t' ? "\\011" : c == '\n' ? "\\012" : c == '\\' ? "\\134" : std::string(1, c);
      if (words[4].size() > folder.size() && words[4].starts_with(folder) && (folder.ends_with('/') || words[4][folder.size()] == '/')) return true;
    }
  }
  return false;
}

// Only there is what it has in tmpfs known: not where it writes into one of the host's.
bool writes_into_its_own_alone(const Plan& plan, int work) {
  if (plan.backend != BackendKind::kNative || plan.policy.lasting || !in_scratch(work)) return false;
  for (const auto& g : plan.grants.grants) {
    struct statfs fs;
    if (g.access == Access::kWrite && (::fstatfs(g.fd.get(), &fs) < 0 || fs.f_type == TMPFS_MAGIC)) return false;
  }
  return !has_tmpfs_below(plan.grants.grants);
}

}  // namespace

// Shared mappings, memfds and segments are tmpfs to the kernel, and counted as files. What is in none of the cell's folders
// is memory; else it could hold as much of it as `disk` on top of `memory`.
CgroupSample Cell::group_sample(Bytes unless_below) {
  if (!knows_files_) knows_files_ = writes_into_its_own_alone(*plan_, work_.get());
  auto before = *knows_files_ ? in_scratch(work_.get()) : std::nullopt;
  CgroupSample s = cgroup_->cheap_sample(unless_below);
  auto after = before && s.shared.n > 0 ? in_scratch(work_.get()) : std::nullopt;
  if (!after) return s;
  // Files come and go between the looks; the larger number is the careful one.
  Bytes files = std::max(*before, *after);
  if (s.shared > files) s.anonymous.n += s.shared.n - files.n;
  return s;
}

void Cell::judge(const LiveUsage& now) {
  if (!monitor_) return;
  const Limits& limits = plan_->policy.limits;
  Usage usage;
  usage.cpu = now.cpu;
  usage.memory_peak = now.memory;
  // The kernel holds these two by itself, with an error for the program: they warn and end nothing. One task is none
  // too many, whatever the limit.
  usage.processes_peak = now.tasks > 1 ? std::min(now.tasks, limits.processes) : 0;
  monitor_->update(usage, now.elapsed, std::min(now.disk, limits.disk));
  for (const auto& warning : monitor_->take_warnings())
    if (request_.on_event) request_.on_event(warning);
  if (request_.on_usage) request_.on_usage(now);
  auto reason = monitor_->exceeded();
  if (killed_for_) kill(*killed_for_);  // should it need repeating
  else if (reason == ExitReason::kTimeoutWall) on_deadline();
  else if (reason) kill(*reason);
}

void Cell::sample() {
  const Limits& limits = plan_->policy.limits;
  CgroupSample before = last_;
  // What the program itself uses is part of what is charged: far below the limit it need not be known, unless somebody asks.
  Bytes unless_below = request_.on_usage ? Bytes{} : Bytes{limits.memory.n / 2};
  last_ = cgroup_ ? group_sample(unless_below) : tree_.sample(child_.pid);
  // Between the looks we may have been kept from the processor: nobody is ended on one word.
  if (cgroup_ && last_.shared.n > 0 && last_.anonymous > limits.memory) last_.anonymous = std::min(last_.anonymous, group_sample(unless_below).anonymous);
  if (cgroup_ && !(counts_cpu_ && counts_memory_)) {
    CgroupSample tree = tree_.sample(child_.pid);
    if (!counts_cpu_) last_.cpu = tree.cpu;
    if (!counts_memory_) last_.anonymous = tree.anonymous;
  }
  if (!cgroup_ && last_.cpu < before.cpu) {
    // What a dying process has used is gone from /proc before its parent has been told.
    last_.cpu = before.cpu;
    last_.cpu_user = before.cpu_user;
    last_.cpu_system = before.cpu_system;
  }
  if (!counts_cpu_) last_.cpu = std::max(last_.cpu - cpu_before_, Nanoseconds(0));
  if (last_.tasks > 0 && cgroup_) --last_.tasks;  // init
  tasks_seen_ = std::max(tasks_seen_, last_.tasks);
  memory_seen_ = std::max(memory_seen_, last_.anonymous);
  LiveUsage live{Clock::now() - started_, last_.cpu, last_.anonymous, disk_used(), last_.tasks, {}, {}};
  if (plan_->policy.lasting && request_.on_usage) {
    // What has used no CPU has moved no bytes, and the walk through /proc is not for nothing. In whole ticks that does not show:
    // there it is looked while anything but the spawner is there. What held open files may be gone without either.
    if (last_.cpu != before.cpu || (!counts_cpu_ && last_.tasks > 1) || io_.nameless > 0) {
      TreeIo io = tree_io(child_.pid, true);
      io_.nameless = io.nameless;
      io_.read = std::max(io_.read, io.read);
      io_.written = std::max(io_.written, io.written);
    }
    live.io_read = {io_.read};
    live.io_written = {io_.written};
    live.disk = {io_.nameless};
  }
  judge(live);
  // Often: between two looks a cell may overrun `memory` by as much as `disk` at the most, the kernel's own ceiling.
  Nanoseconds most = std::chrono::milliseconds(20);
  // One that lasts is mostly idle, and there may be many of them.
  if (plan_->policy.lasting) most = last_.cpu - before.cpu > std::chrono::milliseconds(1) ? std::chrono::milliseconds(100) : std::chrono::milliseconds(2000);
  sample_every_ = std::min<Nanoseconds>(sample_every_ * 2, most);
  // When little is left of a limit, look again when it would be reached at the earliest.
  Nanoseconds left = std::max<Nanoseconds>(limits.cpu_time - last_.cpu, std::chrono::milliseconds(1));
  next_sample_ = Clock::now() + std::min(sample_every_, left);
}

std::optional<Clock::time_point> Cell::next_timer() const {
  if (state_ == State::kSettingUp || state_ == State::kWarming) return deadline_;
  if (state_ != State::kRunning) return std::nullopt;
  return std::min(deadline_, next_sample_);
}

void Cell::on_pidfd() {
  auto reaped = sys::reap(child_.pid, false);
  // Where the caller ignores SIGCHLD, or waits for all children, somebody was quicker: how it ended we have from init.
  if (!reaped && reaped.error().err != ECHILD) return;
  if (reaped && !reaped.value()) return;
  if (reaped) {
    // Those whom init has waited for are in its account, in blocks of 512 bytes.
    io_.read = std::max(io_.read, static_cast<std::uint64_t>(reaped.value()->usage.ru_inblock) * 512);
    io_.written = std::max(io_.written, static_cast<std::uint64_t>(reaped.value()->usage.ru_oublock) * 512);
  }
  child_.pid = 0;
  // Its end of the socket is closed, so after what it said there is an end of file.
  for (int i = 0; i < 8 && ctl_.valid(); ++i)
    if (auto said = on_ctl(); !said && !error_) error_ = std::move(said).error();
  if (prog_.valid() && (state_ == State::kRunning || state_ == State::kWarming)) {
    Record record;
    auto m = sys::receive(prog_.get(), {reinterpret_cast<char*>(&record), sizeof record}, MSG_DONTWAIT);
    if (m && m.value().size >= offsetof(Record, op_ns) && record.type == RecordType::kFailed && !error_)
      error_ = failure_of(record);
  }
  drain();
  if (end_ == Clock::time_point{}) end_ = Clock::now();
  state_ = State::kDead;
}

void Cell::drain() {
  // Every writer is dead, so this ends at end of file; what is in the pipes is at most their capacity.
  on_output(Stream::kStdout, true);
  on_output(Stream::kStderr, true);
}

void Cell::tell_new_denials() {
  if (!plan_->policy.lasting) return;
  for (const auto& d : listener_.take_new()) emit("security.violation", {{"layer", d.layer}, {"what", d.what}});
}

void Cell::emit(std::string type, std::map<std::string, std::string> fields) {
  if (!request_.on_event) return;
  request_.on_event(Event{std::move(type), request_.id, std::chrono::system_clock::now(), std::move(fields)});
}

}  // namespace hotcell
