#include <algorithm>

#include "core/policy/patch.h"
#include "core/policy/stages.h"

namespace hotcell {
namespace {

template <typename T, typename U>
void replace(T& to, const std::optional<U>& from) {
  if (from) to = *from;
}

template <typename T>
void add_missing(std::vector<T>& to, const std::vector<T>& from) {
  for (const auto& item : from)
    if (std::find(to.begin(), to.end(), item) == to.end()) to.push_back(item);
}

void apply_limits(const LimitsPatch& from, Limits& to) {
  replace(to.memory, from.memory);
  replace(to.disk, from.disk);
  replace(to.output, from.output);
  replace(to.stack, from.stack);
  replace(to.cpu_time, from.cpu_time);
  replace(to.wall, from.wall);
  replace(to.cpus, from.cpus);
  replace(to.processes, from.processes);
  replace(to.open_files, from.open_files);
  replace(to.address_space, from.address_space);
}

// One entry per path: of "read /a" and "write /a" the wider stands, since write implies read.
void add_grant(std::vector<FsGrant>& grants, const FsGrant& grant) {
  for (auto& have : grants) {
    if (have.path != grant.path) continue;
    if (have.access == Access::kRead && grant.access == Access::kWrite) have = grant;
    return;
  }
  grants.push_back(grant);
}

// Order carries no meaning; one fixed order lets a policy be compared and written out.
void reads_first(std::vector<FsGrant>& grants) {
  std::vector<FsGrant> out;
  for (auto access : {Access::kRead, Access::kWrite})
    for (const auto& grant : grants)
      if (grant.access == access) out.push_back(grant);
  grants = std::move(out);
}

}  // namespace

std::string origin_of(const Origins& origins, std::string_view field) {
  auto it = origins.find(field);
  return it == origins.end() ? std::string() : it->second;
}

void apply(const PolicyPatch& patch, Policy& policy) {
  replace(policy.name, patch.name);
  replace(policy.description, patch.description);
  replace(policy.language, patch.language);
  apply_limits(patch.limits, policy.limits);
  replace(policy.on_output, patch.on_output);
  for (const auto& grant : patch.grants) add_grant(policy.filesystem.grants, grant);
  reads_first(policy.filesystem.grants);
  add_missing(policy.filesystem.deny, patch.deny);
  replace(policy.filesystem.writable_scratch, patch.writable_scratch);
  replace(policy.network.mode, patch.network_mode);
  replace(policy.network.rules, patch.network_rules);
  add_missing(policy.network.allow, patch.network_allow);
  add_missing(policy.network.block, patch.network_block);
  replace(policy.syscalls.base, patch.syscalls_base);
  replace(policy.syscalls.oci_file, patch.oci_file);
  add_missing(policy.syscalls.allow, patch.syscalls_allow);
  add_missing(policy.syscalls.deny, patch.syscalls_deny);
  add_missing(policy.env.pass, patch.env_pass);
  for (const auto& [name, value] : patch.env_set) policy.env.set[name] = value;
  replace(policy.uid, patch.uid);
  replace(policy.gid, patch.gid);
  replace(policy.time_ns, patch.time_ns);
  replace(policy.warm, patch.warm);
  replace(policy.fast, patch.fast);
  policy.required.insert(patch.required.begin(), patch.required.end());
  replace(policy.audit, patch.audit);
  replace(policy.rules.level, patch.rules_level);
  add_missing(policy.rules.off, patch.rules_off);
  add_missing(policy.rules.functions, patch.rules_functions);
  add_missing(policy.rules.modules, patch.rules_modules);
  add_missing(policy.rules.patterns, patch.rules_patterns);
  add_missing(policy.rules.allowed_paths, patch.rules_allowed_paths);
  replace(policy.imports_allowed, patch.imports_allowed);
  add_missing(policy.imports_allowed, patch.imports_additional);
  add_missing(policy.blocklist, patch.blocklist);
  replace(policy.stages_pre, patch.stages_pre);
  // Who adds to a blocklist means it to be looked at, though the parent had no use for that stage.
  if (!patch.blocklist.empty() && !patch.stages_pre && !stage_runs(policy, kBlocklistAudit))
    policy.stages_pre.emplace_back(kBlocklistAudit);
  replace(policy.stages_post, patch.stages_post);
  replace(policy.preimport, patch.preimport);
}

void apply(const PolicyPatch& patch, Policy& policy, Origins& origins) {
  apply(patch, policy);
  for (const auto& [field, origin] : patch.origins) origins[field] = origin;
}

bool path_contains(std::string_view outer, std::string_view inner) {
  if (outer == "/") return inner.starts_with('/');
  return inner.starts_with(outer) && (inner.size() == outer.size() || inner[outer.size()] == '/');
}

}  // namespace hotcell
