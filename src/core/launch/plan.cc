#include "core/launch/plan.h"

#include <sched.h>

#include "base/strings.h"
#include "core/kernel/caps.h"
#include "core/kernel/lsm.h"
#include "core/kernel/namespaces.h"
#include "core/kernel/rlimits.h"
#include "core/kernel/rootfs.h"
#include "core/kernel/seccomp.h"
#include "core/policy/validate.h"
#include "sys/file.h"

namespace hotcell {
namespace {

// A kernel layer under `observe` is off, and is reported as none: there is no such thing as a wall that only watches.
Result<bool> wanted(const Policy& policy, Layer layer) {
  auto it = policy.audit.find(std::string(to_string(layer)));
  if (it == policy.audit.end() || it->second == AuditMode::kEnforce) return true;
  if (layer == Layer::kLandlock || layer == Layer::kLandlockBroad || layer == Layer::kSeccomp) return false;
  return make_error(ErrorCode::kUnsupported, cat("audit mode observe: ", to_string(layer), " cannot be switched off alone"));
}

Result<void> check_observable(const Policy& policy) {
  for (std::size_t i = 0; i < kLayerCount; ++i) TRY(wanted(policy, static_cast<Layer>(i)));
  return {};
}

Result<void> plan_seccomp_op(const Policy& policy, const Host& host, Plan& plan) {
  SeccompRequest request;
  request.base = policy.syscalls.base;
  request.allow = policy.syscalls.allow;
  request.deny = policy.syscalls.deny;
  request.network_on = policy.network.mode != NetworkMode::kNone;
  request.isolated_network = plan.backend == BackendKind::kNative && policy.network.mode != NetworkMode::kHost;
  request.own_namespaces = plan.backend == BackendKind::kNative;
  request.counted_memory = host.cgroup.memory;
  request.notify = true;
  request.observe_files = policy.explain_denials;
  if (!policy.syscalls.oci_file.empty()) {
    TRY_SET(request.oci_json, sys::read_file(policy.syscalls.oci_file.c_str(), 4 << 20).context("syscalls.file"));
  }
  TRY_SET(SeccompProgram program, plan_seccomp(request));
  plan.seccomp = true;
  // Somebody outside may hold sockets of a network with a door.
  if (policy.network.mode != NetworkMode::kProxy) plan.builder.set_reuse_nets();
  plan.listener = program.has_notify;
  plan.observed = std::move(program.observed);
  plan.marks = std::move(program.marks);
  std::string_view bytes(reinterpret_cast<const char*>(program.insns.data()), program.insns.size() * sizeof(program.insns[0]));
  plan.builder.add({.kind = OpKind::kSeccomp, .layer = Layer::kSeccomp, .data = bytes, .flags = plan.listener ? kWantListener : 0},
                   cat(program.source, ", ", program.insns.size(), " instructions", plan.listener ? ", denied calls are recorded" : ""));
  return {};
}

Result<void> plan_native(const Policy& policy, const Host& host, Plan& plan) {
  PlanBuilder& b = plan.builder;
  plan_lsm(choose_lsm(host.lsm), b);
  plan.clone_flags = cell_namespaces(policy);
  b.set_cell(policy.uid, policy.gid, plan.clone_flags);
  plan_first_identity(policy, host, b);
  auto begin_cell = [&] {
    b.add({.kind = OpKind::kTemplateEnd, .layer = Layer::kMountNs}, "from here on each cell for itself");
    plan_namespaces(policy, host, b);
  };
  plan_native_root(policy, host, plan.grants, b, begin_cell, [&] { plan_own_cgroup(policy, host, b); });
  plan_rlimits(policy, host, b);
  plan_caps(host, b);
  // After no_new_privs, before seccomp: restrict_self needs the first, and a filter could forbid the call.
  LandlockSlots slots = plan_landlock(policy, host, plan.grants, b);
  plan_open_files(policy, host, b);
  TRY_SET(bool broad, wanted(policy, Layer::kLandlockBroad));
  TRY_SET(bool tight, wanted(policy, Layer::kLandlock));
  if (slots.broad != kNoSlot && broad) {
    b.add({.kind = OpKind::kRestrict, .layer = Layer::kLandlockBroad, .slot = slots.broad}, "init and program");
    plan.landlock_broad = true;
  }
  b.add({.kind = OpKind::kFork, .layer = Layer::kPidNs}, "the program's process; init stays pid 1");
  b.add({.kind = OpKind::kSession, .layer = Layer::kPidNs}, "own session: no controlling terminal, own process group");
  b.add({.kind = OpKind::kChdir, .path = "/work"}, "/work");
  if (slots.tight != kNoSlot && tight) {
    b.add({.kind = OpKind::kRestrict, .layer = Layer::kLandlock, .slot = slots.tight}, "the program alone");
    plan.landlock_tight = true;
    plan.landlock_rules = std::move(slots.rules);
  }
  return {};
}

Result<void> plan_flat(const Policy& policy, const Host& host, const FlatCell& cell, Plan& plan) {
  PlanBuilder& b = plan.builder;
  const std::string& workspace = cell.workspace;
  plan.workspace = workspace;
  b.set_flat();
  plan_lsm(choose_lsm(host.lsm), b);
  // Not PDEATHSIG: a killed init would leave its descendants behind. Init sees the launcher's end of the socket close.
  b.add({.kind = OpKind::kSubreaper, .layer = Layer::kPidNs}, "orphans of the program come back to init, which ends them");
  plan_join_cgroups(policy, host, b);
  plan_rlimits(policy, host, b);
  if (cell.id != 0) {
    b.add({.kind = OpKind::kDropCaps, .layer = Layer::kCapabilities, .flags = kOnlyBounding, .a = host.last_cap}, "the bounding set empty");
    b.add({.kind = OpKind::kIdentity, .layer = Layer::kGroups, .flags = kClearGroups, .a = cell.id, .b = cell.id}, cat("uid and gid ", cell.id));
    b.add({.kind = OpKind::kDropCaps, .layer = Layer::kCapabilities, .flags = kOnlyHeld}, "nothing held");
    b.add({.kind = OpKind::kNoNewPrivs, .layer = Layer::kNoNewPrivs}, "no exec raises privileges");
  } else {
    b.add({.kind = OpKind::kNoNewPrivs, .layer = Layer::kNoNewPrivs}, "no exec raises privileges");
  }
  b.add({.kind = OpKind::kHoldFolder, .slot = kWorkSlot, .path = workspace}, workspace);
  TRY_SET(LandlockSlots slots, plan_landlock_flat(policy, host, plan.grants, workspace, b));
  plan_open_files(policy, host, b);
  b.add({.kind = OpKind::kFork, .layer = Layer::kPidNs}, "the program's process");
  b.add({.kind = OpKind::kSession, .layer = Layer::kPidNs}, "own session");
  b.add({.kind = OpKind::kChdir, .path = workspace}, workspace);
  b.add({.kind = OpKind::kRestrict, .layer = Layer::kLandlockBroad, .slot = slots.broad}, "files and TCP");
  b.add({.kind = OpKind::kRestrict, .layer = Layer::kLandlock, .slot = slots.tight}, "and signals");
  plan.landlock_broad = plan.landlock_tight = true;
  plan.landlock_rules = std::move(slots.rules);
  return {};
}

Result<void> plan_outer(const Policy& policy, const Host& host, const FlatCell& cell, Plan& plan) {
  PlanBuilder& b = plan.builder;
  plan.workspace = cell.workspace;
  b.set_flat();
  b.add({.kind = OpKind::kSubreaper, .layer = Layer::kPidNs}, "orphans of the tool come back to init, which ends them");
  plan_join_cgroups(policy, host, b);
  if (!cell.own_rlimits) plan_rlimits(policy, host, b);
  if (cell.id != 0) {
    // A tool that needs no privilege gets none: what it would start as root is then no root of the host either.
    b.add({.kind = OpKind::kDropCaps, .layer = Layer::kCapabilities, .flags = kOnlyBounding, .a = host.last_cap}, "the bounding set empty");
    b.add({.kind = OpKind::kIdentity, .layer = Layer::kGroups, .flags = kClearGroups, .a = cell.id, .b = cell.id}, cat("uid and gid ", cell.id));
    b.add({.kind = OpKind::kDropCaps, .layer = Layer::kCapabilities, .flags = kOnlyHeld}, "nothing held");
    b.add({.kind = OpKind::kNoNewPrivs, .layer = Layer::kNoNewPrivs}, "no exec raises privileges");
  }
  b.add({.kind = OpKind::kHoldFolder, .slot = kWorkSlot, .path = cell.workspace}, cell.workspace);
  if (!cell.own_rlimits) plan_open_files(policy, host, b);
  b.add({.kind = OpKind::kFork, .layer = Layer::kPidNs}, "the tool's process");
  b.add({.kind = OpKind::kSession, .layer = Layer::kPidNs}, "own session: no controlling terminal");
  b.add({.kind = OpKind::kChdir, .path = cell.workspace}, cell.workspace);
  if (cell.many_threads) b.add({.kind = OpKind::kRoomForFiles, .layer = Layer::kPidNs}, "a table for 512 descriptors");
  return {};
}

}  // namespace

Result<std::shared_ptr<Plan>> make_plan(const Policy& policy, const Host& host, BackendKind backend, PlanPurpose purpose,
                                        const FlatCell& flat) {
  TRY(validate(policy));
  TRY(check_observable(policy));
  if (policy.network.mode == NetworkMode::kProxy && backend != BackendKind::kNative)
    return make_error(ErrorCode::kUnsupported, "network mode proxy needs a network namespace: without one nothing would hold the program to the proxy");
  if (policy.lasting && backend != BackendKind::kNative)
    return make_error(ErrorCode::kUnsupported, "a workspace that lasts needs a mount namespace; the landlock backend has none");
  auto plan = std::make_shared<Plan>();
  plan->policy = policy;
  plan->backend = backend;
  TRY_SET(plan->grants, resolve_grants(policy.filesystem, purpose == PlanPurpose::kRun));
  if (backend == BackendKind::kNative) {
    TRY(plan_native(policy, host, *plan));
  } else if (backend == BackendKind::kLandlock) {
    TRY(plan_flat(policy, host, flat, *plan));
  } else {
    TRY(plan_outer(policy, host, flat, *plan));
  }
  TRY_SET(bool seccomp, wanted(policy, Layer::kSeccomp));
  if (seccomp && backend != BackendKind::kOuter) TRY(plan_seccomp_op(policy, host, *plan));
  plan->builder.add({.kind = OpKind::kExec, .layer = Layer::kRootfs}, "the program");
  if (purpose == PlanPurpose::kRun) {
    TRY_SET(std::string bytes, plan->builder.bytes());
    TRY_SET(plan->bytes, sys::memfd("hotcell-plan", bytes, false, true));
  }
  return plan;
}

}  // namespace hotcell
