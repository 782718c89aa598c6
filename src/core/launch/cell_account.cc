#include <signal.h>
#include <sys/vfs.h>
#include <sys/wait.h>

#include <algorithm>

#include "base/strings.h"
#include "core/kernel/seccomp_names.h"
#include "core/launch/cell.h"
#include "core/launch/collect.h"
#include "core/launch/enforcement.h"

namespace hotcell {
namespace {

// The listener knows the call and its registers. Only here is known that the policy itself, or the backend, is why.
void correct_fixes(const Plan& plan, std::vector<Denial>& denials) {
  const Syscalls& calls = plan.policy.syscalls;
  for (auto& d : denials) {
    if (d.layer != "seccomp") continue;
    if (std::find(calls.deny.begin(), calls.deny.end(), d.subject) != calls.deny.end())
      d.fix = cat("remove ", d.subject, " from syscalls.deny");
    else if (!d.fix.empty() && !calls.oci_file.empty())
      d.fix = cat("allow ", d.subject, " in ", printable(calls.oci_file), ", and ", d.fix);
    else if (d.fix == kUseDefaultBase && calls.base == "default")
      d.fix = plan.backend == BackendKind::kNative ? "" : "--backend native";
  }
}

}  // namespace

bool Cell::disk_full() const {
  // A write that no longer fits takes what there is first, so next to nothing is left.
  struct statfs fs;
  if (!work_.valid() || plan_->backend != BackendKind::kNative || ::fstatfs(work_.get(), &fs) < 0) return false;
  return fs.f_bavail <= (64u << 10) / static_cast<unsigned long>(fs.f_bsize) || fs.f_ffree < 16;
}

Verdict Cell::decide() const {
  Verdict v;
  if (wait_status_) {
    if (WIFEXITED(*wait_status_)) v.exit_code = WEXITSTATUS(*wait_status_);
    else v.signal = WTERMSIG(*wait_status_);
  } else {
    v.signal = SIGKILL;
  }
  bool bad = v.signal.has_value() || v.exit_code.value_or(0) != 0;
  if (killed_for_ && *killed_for_ != ExitReason::kSandboxError) {
    v.reason = *killed_for_;
    v.exit_code.reset();
    v.signal = SIGKILL;
  } else if (last_.oom_kills > 0 && bad) {
    v.reason = ExitReason::kMemory;
  } else if (v.signal == SIGSYS) {
    v.reason = ExitReason::kPolicy;
  } else if (v.signal == SIGXCPU && std::max<Nanoseconds>(last_.cpu, std::chrono::microseconds(user_us_ + system_us_)) >= plan_->policy.limits.cpu_time) {
    // Without that it has sent the signal to itself, or lowered its own limit.
    v.reason = ExitReason::kTimeoutCpu;
  } else if (v.signal == SIGXFSZ) {
    v.reason = ExitReason::kDisk;
  } else if (bad && (last_.pids_refused > 0 || (!cgroup_ && tasks_seen_ >= plan_->policy.limits.processes && tasks_seen_ > 1))) {
    v.reason = ExitReason::kProcesses;
  } else if (bad && disk_full()) {
    v.reason = ExitReason::kDisk;
  } else {
    v.reason = v.signal ? ExitReason::kSignal : ExitReason::kExited;
  }
  return v;
}

std::vector<std::pair<std::string, Nanoseconds>> Cell::setup_times() const {
  auto out = parent_steps_;
  Nanoseconds by_layer[kLayerCount] = {};
  bool there[kLayerCount] = {};
  const auto& entries = plan_->builder.entries();
  for (std::size_t i = 0; i < op_ns_.size() && i < entries.size(); ++i) {
    auto layer = static_cast<std::size_t>(entries[i].layer);
    by_layer[layer] += Nanoseconds(op_ns_[i]);
    there[layer] = true;
  }
  for (std::size_t i = 0; i < kLayerCount; ++i)
    if (there[i]) out.emplace_back(std::string(to_string(static_cast<Layer>(i))), by_layer[i]);
  return out;
}

// User and system time are counted by ticks and say little of a short run; the total is exact. So they are shares of it.
void Cell::split_cpu(Usage& usage) const {
  auto parts = std::pair(std::max(Nanoseconds(std::chrono::microseconds(user_us_)) - cpu_before_, Nanoseconds(0)), Nanoseconds(std::chrono::microseconds(system_us_)));
  if (last_.cpu_user + last_.cpu_system > parts.first + parts.second) parts = {last_.cpu_user, last_.cpu_system};
  const auto sum = static_cast<double>((parts.first + parts.second).count());
  usage.cpu_user = sum > 0 ? Nanoseconds(static_cast<std::int64_t>(static_cast<double>(usage.cpu.count()) * (static_cast<double>(parts.first.count()) / sum))) : usage.cpu;
  usage.cpu_user = std::min(usage.cpu_user, usage.cpu);
  usage.cpu_system = usage.cpu - usage.cpu_user;
}

Result<Report> Cell::account() {
  if (error_) return *std::move(error_);
  if (!stdout_) {
    // Its program never started.
    if (killed_for_ != ExitReason::kCancelled) return make_error(ErrorCode::kInternal, "the cell ended before its program was started");
    Report r;
    r.id = request_.id;
    r.verdict.reason = ExitReason::kCancelled;
    r.error = "cancelled before it was started";
    r.start_time = r.end_time = std::chrono::system_clock::now();
    return r;
  }
  if (!wait_status_ && !killed_for_) {
    // Init died on its own account: out of memory takes the largest, and that may be all of us.
    if (cgroup_) last_ = cgroup_->full_sample();
    if (last_.oom_kills == 0) return make_error(ErrorCode::kInternal, "the cell's init ended without a word");
    killed_for_ = ExitReason::kMemory;
  }
  CgroupSample before = last_;
  if (cgroup_) last_ = cgroup_->full_sample();
  Report r;
  r.id = request_.id;
  r.verdict = decide();
  r.out_bytes = stdout_->total();
  r.err_bytes = stderr_->total();
  r.out_truncated = stdout_->truncated();
  r.err_truncated = stderr_->truncated();
  r.out = stdout_->take();
  r.err = stderr_->take();
  r.start_time = start_wall_;
  r.duration = end_ - started_;
  r.end_time = start_wall_ + std::chrono::duration_cast<std::chrono::system_clock::duration>(r.duration);
  r.usage.cpu = std::max(Nanoseconds(std::chrono::microseconds(user_us_)) - cpu_before_, Nanoseconds(0)) + std::chrono::microseconds(system_us_);
  r.usage.memory_peak = {rss_kib_ << 10};
  r.usage.processes_peak = std::max<std::uint32_t>(tasks_seen_, 1);
  if (cgroup_) {
    if (last_.cpu.count() > 0) r.usage.cpu = last_.cpu;
    if (last_.memory_peak.n > 0) r.usage.memory_peak = last_.memory_peak;
    if (last_.tasks_peak > 0) r.usage.processes_peak = last_.tasks_peak;
  } else {
    r.usage.memory_peak = std::max(r.usage.memory_peak, memory_seen_);
    if (before.cpu > r.usage.cpu) r.usage.cpu = before.cpu;
  }
  split_cpu(r.usage);
  r.usage.io_read = {io_.read};
  r.usage.io_written = {io_.written};
  r.enforcement = enforcement_;
  note_lost_masks(plan_->grants, r.enforcement);
  r.denials = listener_.denials();
  correct_fixes(*plan_, r.denials);
  r.denials_complete = false;  // Landlock and mount denials make no event
  if (FileWatch* files = listener_.files()) {
    for (auto& d : files->judge(*plan_)) r.denials.push_back(std::move(d));
    r.denials_complete = files->complete() && !listener_.dropped();
  }
  if (!request_.outputs.empty() && work_.valid() && r.verdict.reason == ExitReason::kExited && r.verdict.exit_code == 0) {
    TRY_SET(r.files, collect_outputs(work_.get(), request_.outputs, plan_->policy.limits.disk).context("output files"));
  }
  if (!request_.outputs_if_there.empty() && work_.valid())
    for (auto& file : collect_present(work_.get(), request_.outputs_if_there, 17_MiB)) r.files.push_back(std::move(file));
  r.setup_ns = setup_times();
  bool killed = r.verdict.status() == RunStatus::kKilled || r.verdict.status() == RunStatus::kTimeout;
  if (plan_->policy.lasting) tell_new_denials();
  else for (const auto& d : r.denials) emit("security.violation", {{"layer", d.layer}, {"what", d.what}});
  std::map<std::string, std::string> fields = {{"exit_reason", std::string(to_string(r.verdict.reason))},
                                               {"status", std::string(to_string(r.verdict.status()))},
                                               {"duration", cat(r.duration.count())}};
  if (r.verdict.exit_code) fields["exit_code"] = cat(*r.verdict.exit_code);
  if (r.verdict.signal) fields["signal"] = cat(*r.verdict.signal);
  emit(killed ? "execution.killed" : "execution.completed", std::move(fields));
  emit("sandbox.destroyed");
  return r;
}

}  // namespace hotcell
