#include "core/kernel/namespaces.h"

#include <sched.h>

#include <algorithm>

#include "base/strings.h"
#include "core/policy/proxy_env.h"

#ifndef CLONE_NEWTIME
#define CLONE_NEWTIME 0x00000080
#endif
#ifndef CLONE_NEWCGROUP
#define CLONE_NEWCGROUP 0x02000000
#endif

namespace hotcell {

void plan_join_cgroups(const Policy& policy, const Host& host, PlanBuilder& plan) {
  if (host.cgroup.version == CgroupVersion::kV1) {
    unsigned index = 0;
    for (const auto& j : host.cgroup.joined(policy.limits.cpus > 0)) {
      unsigned slot = plan.inherit({Inherited::Kind::kCgroupTasks, index++});
      const std::string& first = j.controllers.front();
      Layer layer = first == "memory" ? Layer::kMemory : first == "pids" ? Layer::kProcesses : Layer::kCpu;
      plan.add({.kind = OpKind::kJoinCgroup, .layer = layer, .slot = slot}, cat("cgroup v1 ", join(j.controllers, ",")));
    }
  }
}

namespace {

void become(std::uint32_t uid, std::uint32_t gid, std::uint32_t flags, const Host& host, PlanBuilder& plan) {
  plan.add({.kind = OpKind::kIdentity, .layer = Layer::kGroups, .flags = flags | (host.privileged ? kClearGroups : 0), .a = uid, .b = gid},
           cat("uid ", uid, ", gid ", gid, " inside", host.privileged ? ", no supplementary groups" : ""));
  // A change of ids clears it, so it comes after.
  plan.add({.kind = OpKind::kDeathSignal, .layer = Layer::kPidNs, .flags = flags}, "dies with the launcher");
}

}  // namespace

std::uint64_t cell_namespaces(const Policy& policy) {
  std::uint64_t flags = CLONE_NEWUSER | CLONE_NEWPID | CLONE_NEWNS | CLONE_NEWIPC | CLONE_NEWUTS;
  if (policy.network.mode != NetworkMode::kHost) flags |= CLONE_NEWNET;
  return flags;
}

static void plan_user_limits(const Host& host, std::uint32_t role, PlanBuilder& plan) {
  // The kernel counts inotify for the user inside and for whoever made the user namespace, who may have no more than this
  // for everything on the machine.
  // An eighth: several cells together leave the caller some, and what watches a project's files has enough. All cells of an
  // ordinary user's template have half together: each for itself would cost 70 us. Under root each cell is another user to the
  // template's namespace, and has its own count there.
  std::uint64_t parts = (role & kOnlyTemplate) && !host.privileged ? 2 : 8;
  std::uint64_t instances = std::max<std::uint64_t>(host.inotify_instances / parts, 4);
  std::uint64_t watches = std::max<std::uint64_t>(host.inotify_watches / parts, 512);
  plan.add({.kind = OpKind::kUserLimits, .layer = Layer::kRlimits, .flags = role, .a = instances, .b = watches},
           cat("inotify: ", instances, " of the caller's ", host.inotify_instances, " instances, ", watches, " of its watches"));
}

void plan_first_identity(const Policy& policy, const Host& host, PlanBuilder& plan) {
  become(policy.uid, policy.gid, kOnlyDirect, host, plan);
  plan_user_limits(host, kOnlyDirect, plan);
  std::uint32_t id = host.privileged ? kTemplateId : policy.uid;
  become(id, host.privileged ? kTemplateId : policy.gid, kOnlyTemplate, host, plan);
  plan_user_limits(host, kOnlyTemplate, plan);
}

void plan_own_cgroup(const Policy& policy, const Host& host, PlanBuilder& plan) {
  // After the root is made: mounts, and what the kernel keeps for them, are ours and the same for every cell. So its group
  // begins nearly empty, is so again soon after its end, and the kernel need not switch accounts for each of a hundred calls.
  plan_join_cgroups(policy, host, plan);
  // After joining, so that the cell's own group is its root and no path of the host shows.
  plan.add({.kind = OpKind::kUnshare, .layer = Layer::kCgroupNs, .a = CLONE_NEWCGROUP}, "cgroup namespace");
}

void plan_namespaces(const Policy& policy, const Host& host, PlanBuilder& plan) {
  if (policy.time_ns) {
    plan.add({.kind = OpKind::kUnshare, .layer = Layer::kUserNs, .a = CLONE_NEWTIME}, "time namespace");
    plan.set_own_memory();  // a child that shares our memory stays in our time namespace, on older kernels past its exec
  }
  become(policy.uid, policy.gid, kOnlyStamped, host, plan);
  plan.add({.kind = OpKind::kHostname, .layer = Layer::kUtsNs, .path = "cell"}, "host name cell");
  if (cell_namespaces(policy) & CLONE_NEWNET)
    plan.add({.kind = OpKind::kLoopbackUp, .layer = Layer::kNetNs, .flags = kOnlyDirect}, "lo up, nothing else there");
  if (policy.network.mode == NetworkMode::kProxy)
    plan.add({.kind = OpKind::kDoor, .layer = Layer::kNetNs, .a = kProxyPort, .b = 53},
             cat("the proxy's door: 127.0.0.1 port ", kProxyPort, ", names on port 53"));
}

}  // namespace hotcell
