#include "base/json_write.h"
#include "base/strings.h"
#include "core/launch/plan.h"
#include "core/policy/validate.h"
#include "hotcell/launcher.h"

namespace hotcell {
namespace {

struct Explained {
  Host host;
  std::shared_ptr<Plan> plan;
};

Result<Explained> look(const Policy& policy, const LauncherOptions& options) {
  Explained out;
  TRY_SET(out.host, Host::look());
  BackendKind backend = options.backend == "landlock" ? BackendKind::kLandlock : BackendKind::kNative;
  TRY_SET(out.plan, make_plan(policy, out.host, backend, PlanPurpose::kExplain, {"/tmp/hotcell-XXXXXX", 0}));
  return out;
}

// What this host cannot give, foreseen; the result of a run has what was read back.
std::vector<std::pair<Layer, std::string>> missing(const Explained& e) {
  std::vector<std::pair<Layer, std::string>> out;
  const CgroupHost& c = e.host.cgroup;
  std::string why = c.why_not.empty() ? "no such controller" : c.why_not;
  if (!c.memory) out.emplace_back(Layer::kMemory, cat("partial: RLIMIT_DATA per process and sampling (", why, ")"));
  if (!c.cpuacct) out.emplace_back(Layer::kCpu, cat("partial: RLIMIT_CPU per process and sampling (", why, ")"));
  if (e.host.landlock_abi == 0) out.emplace_back(Layer::kLandlock, "none: this kernel has no Landlock");
  else if (e.host.landlock_abi < 6) out.emplace_back(Layer::kLandlock, cat("partial: ABI ", e.host.landlock_abi));
  if (!e.host.privileged && e.host.extra_groups) out.emplace_back(Layer::kGroups, "partial: supplementary groups cannot be dropped without privileges");
  if (e.plan->policy.network.mode == NetworkMode::kHost) out.emplace_back(Layer::kNetNs, "partial: shares the host's network");
  if (e.plan->backend == BackendKind::kLandlock)
    for (Layer l : {Layer::kUserNs, Layer::kPidNs, Layer::kMountNs, Layer::kNetNs, Layer::kIpcNs, Layer::kUtsNs, Layer::kCgroupNs, Layer::kRootfs})
      out.emplace_back(l, "none: the landlock backend uses no namespaces");
  out.emplace_back(Layer::kLsm, "none: no AppArmor or SELinux profile is applied");
  return out;
}

}  // namespace

Result<std::string> explain_text(const Policy& policy, const Request& request, const LauncherOptions& options) {
  TRY_SET(Explained e, look(policy, options));
  std::string out = cat("program   ", request.argv.empty() ? "(none)" : printable(join(request.argv, " ")), "\n");
  for (const auto& line : describe(policy)) out += cat(line, "\n");
  out += cat("\nPlan: ", e.plan->builder.entries().size(), " operations, backend ", options.backend, ", ",
             e.host.privileged ? "as root (the cell gets a host uid of its own)" : "as an ordinary user", "\n");
  if (e.plan->clone_flags) out += "  clone3    user, pid, mount, ipc, uts";
  if (e.plan->clone_flags) out += policy.network.mode == NetworkMode::kHost ? " namespaces\n" : " and net namespaces\n";
  for (const auto& entry : e.plan->builder.entries()) {
    std::string layer(to_string(entry.layer)), kind(to_string(entry.kind));
    layer.resize(std::max<std::size_t>(layer.size(), 15), ' ');
    kind.resize(std::max<std::size_t>(kind.size(), 15), ' ');
    out += cat("  ", layer, kind, printable(entry.note), "\n");
  }
  out += "\nMissing here:\n";
  for (const auto& [layer, why] : missing(e)) out += cat("  ", to_string(layer), ": ", why, "\n");
  return out;
}

Result<std::string> explain_json(const Policy& policy, const Request& request, const LauncherOptions& options) {
  TRY_SET(Explained e, look(policy, options));
  JsonWriter w;
  w.begin_object();
  w.field("backend", options.backend);
  w.field("policy", policy.name);
  w.key("argv");
  w.begin_array();
  for (const auto& a : request.argv) w.value(a);
  w.end_array();
  w.key("statements");
  w.begin_array();
  for (const auto& line : describe(policy)) w.value(line);
  w.end_array();
  w.key("operations");
  w.begin_array();
  for (const auto& entry : e.plan->builder.entries()) {
    w.begin_object();
    w.field("layer", to_string(entry.layer));
    w.field("operation", to_string(entry.kind));
    w.field("detail", entry.note);
    w.end_object();
  }
  w.end_array();
  w.key("missing");
  w.begin_array();
  for (const auto& [layer, why] : missing(e)) {
    w.begin_object();
    w.field("layer", to_string(layer));
    w.field("why", why);
    w.end_object();
  }
  w.end_array();
  w.end_object();
  return w.take();
}

}  // namespace hotcell
