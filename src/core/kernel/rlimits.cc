#include "core/kernel/rlimits.h"

#include <sys/resource.h>

#include "base/strings.h"

namespace hotcell {

void plan_rlimits(const Policy& policy, const Host& host, PlanBuilder& plan) {
  const Limits& l = policy.limits;
  auto add = [&](int resource, std::uint64_t soft, std::uint64_t hard, std::string note) {
    plan.add({.kind = OpKind::kRlimit, .layer = Layer::kRlimits, .flags = static_cast<std::uint32_t>(resource), .a = soft, .b = hard}, std::move(note));
  };
  // Per process, so only a backstop for the cgroup's total; a second of grace between SIGXCPU and SIGKILL.
  auto cpu = static_cast<std::uint64_t>(std::chrono::ceil<std::chrono::seconds>(l.cpu_time).count());
  add(RLIMIT_CPU, cpu + 1, cpu + 2, cat("CPU ", cpu + 1, " s per process"));
  add(RLIMIT_FSIZE, l.disk.n, l.disk.n, cat("file size ", l.disk.n >> 10, " KiB"));
  // Counts per user and user namespace; init is one of them. Where a pids cgroup counts too it is to refuse first,
  // because it keeps count of what it refused.
  std::uint64_t processes = l.processes + (host.cgroup.pids ? 2u : 1u) + (host.privileged ? 0u : host.tasks_beside);
  add(RLIMIT_NPROC, processes, processes, cat("processes ", l.processes));
  // A piped core_pattern runs a host program as root whatever RLIMIT_CORE is, except at 1.
  add(RLIMIT_CORE, host.core_pipe ? 1 : 0, host.core_pipe ? 1 : 0, "no core dumps");
  add(RLIMIT_STACK, l.stack.n, l.stack.n, cat("stack ", l.stack.n >> 10, " KiB"));
  add(RLIMIT_MEMLOCK, 64 << 10, 64 << 10, "locked memory 64 KiB");
  add(RLIMIT_MSGQUEUE, 64 << 10, 64 << 10, "message queues 64 KiB");
  add(RLIMIT_SIGPENDING, 256, 256, "queued signals 256");
  add(RLIMIT_NICE, 0, 0, "priority cannot be raised");
  add(RLIMIT_RTPRIO, 0, 0, "no real-time priority");
  if (l.address_space) add(RLIMIT_AS, l.address_space->n, l.address_space->n, cat("address space ", l.address_space->n >> 10, " KiB"));
  // Without a memory cgroup: what one process may have privately writable. Unlike AS it leaves reservations alone,
  // which JVM, Go and node make by the gigabyte.
  if (!host.cgroup.memory) add(RLIMIT_DATA, l.memory.n, l.memory.n, cat("data ", l.memory.n >> 10, " KiB per process"));
}

void plan_open_files(const Policy& policy, const Host& host, PlanBuilder& plan) {
  // Descriptors under way through sockets are counted per user and held against this limit. Where all cells are the
  // caller, one could so keep the others from handing over theirs: the launcher sets it afterwards (Cell::on_prog).
  if (!host.privileged) return;
  const std::uint32_t files = policy.limits.open_files;
  plan.add({.kind = OpKind::kRlimit, .layer = Layer::kRlimits, .flags = static_cast<std::uint32_t>(RLIMIT_NOFILE), .a = files, .b = files},
           cat("open files ", files));
}

}  // namespace hotcell
