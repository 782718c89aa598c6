#include "cli/policy_json.h"

namespace hotcell {

namespace {

template <typename List>
void write_list(JsonWriter& w, std::string_view name, const List& items) {
  w.key(name);
  w.begin_array();
  for (const auto& item : items) w.value(std::string_view(item));
  w.end_array();
}

void write_limits(JsonWriter& w, const Policy& policy) {
  const auto& limits = policy.limits;
  w.key("limits");
  w.begin_object();
  w.field("memory", limits.memory.n);
  w.field("disk", limits.disk.n);
  w.field("output", limits.output.n);
  w.field("on_output", policy.on_output == OnOutput::kKill ? "kill" : "truncate");
  w.field("cpu_time_ns", limits.cpu_time.count());
  w.field("wall_ns", limits.wall.count());
  w.key("cpus");
  if (limits.cpus > 0) w.value(limits.cpus);
  else w.null();
  w.field("processes", limits.processes);
  w.field("open_files", limits.open_files);
  w.field("stack", limits.stack.n);
  w.key("address_space");
  if (limits.address_space) w.value(limits.address_space->n);
  else w.null();
  w.end_object();
}

void write_filesystem(JsonWriter& w, const Filesystem& fs) {
  w.key("filesystem");
  w.begin_object();
  for (auto access : {Access::kRead, Access::kWrite}) {
    w.key(access == Access::kRead ? "read" : "write");
    w.begin_array();
    for (const auto& grant : fs.grants) {
      if (grant.access == access) w.value(grant.path);
    }
    w.end_array();
  }
  w.key("deny");
  w.begin_array();
  for (const auto& deny : fs.deny) w.value(deny.pattern);
  w.end_array();
  w.field("tmp", fs.writable_scratch);
  w.end_object();
}

}  // namespace

void write_policy(JsonWriter& w, const Policy& policy) {
  w.begin_object();
  w.field("name", policy.name);
  w.field("description", policy.description);
  w.field("language", policy.language);
  write_limits(w, policy);
  write_filesystem(w, policy.filesystem);
  w.key("network");
  w.begin_object();
  w.field("mode", to_string(policy.network.mode));
  w.field("rules", to_string(policy.network.rules));
  write_list(w, "allow", policy.network.allow);
  write_list(w, "block", policy.network.block);
  w.end_object();
  w.key("syscalls");
  w.begin_object();
  w.field("base", policy.syscalls.base);
  write_list(w, "allow", policy.syscalls.allow);
  write_list(w, "deny", policy.syscalls.deny);
  w.field("file", policy.syscalls.oci_file);
  w.end_object();
  w.key("env");
  w.begin_object();
  write_list(w, "pass", policy.env.pass);
  w.key("set");
  w.begin_object();
  for (const auto& [name, value] : policy.env.set) w.field(name, value);
  w.end_object();
  w.end_object();
  w.field("uid", policy.uid);
  w.field("gid", policy.gid);
  w.key("require");
  w.begin_array();
  for (auto layer : policy.required) w.value(to_string(layer));
  w.end_array();
  w.key("audit");
  w.begin_object();
  for (const auto& [name, mode] : policy.audit) w.field(name, mode == AuditMode::kEnforce ? "enforce" : "observe");
  w.end_object();
  w.key("rules");
  w.begin_object();
  w.field("level", policy.rules.level == VerifyLevel::kStrict ? "strict" : "default");
  write_list(w, "off", policy.rules.off);
  write_list(w, "functions", policy.rules.functions);
  write_list(w, "modules", policy.rules.modules);
  write_list(w, "patterns", policy.rules.patterns);
  write_list(w, "allowed_paths", policy.rules.allowed_paths);
  w.end_object();
  write_list(w, "imports_allowed", policy.imports_allowed);
  w.key("blocklist");
  w.begin_array();
  for (const auto& [module, attribute] : policy.blocklist) {
    w.begin_array();
    w.value(module);
    w.value(attribute);
    w.end_array();
  }
  w.end_array();
  write_list(w, "stages_pre", policy.stages_pre);
  write_list(w, "stages_post", policy.stages_post);
  write_list(w, "preimport", policy.preimport);
  w.field("warm", policy.warm);
  w.field("fast", policy.fast);
  w.end_object();
}

}  // namespace hotcell
