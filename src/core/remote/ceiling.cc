#include "core/remote/ceiling.h"

#include <limits.h>
#include <stdlib.h>

#include <algorithm>

#include "base/strings.h"
#include "core/policy/patch.h"

namespace hotcell::remote {
namespace {

Error beyond(std::string what) {
  return make_error(ErrorCode::kDenied, cat(what, " is more than this daemon's configuration allows"));
}

bool is_inside(const std::vector<std::string>& roots, std::string_view path) {
  return std::any_of(roots.begin(), roots.end(), [&](const auto& r) { return path_contains(r, path); });
}

// By its own name and by where that leads: a link below an allowed folder may point anywhere.
bool may_show(const std::vector<std::string>& roots, const std::string& path) {
  char real[PATH_MAX];
  if (!is_inside(roots, path) || ::realpath(path.c_str(), real) == nullptr) return false;
  if (is_inside(roots, real)) return true;
  return std::any_of(roots.begin(), roots.end(), [&](const auto& r) {
    char root[PATH_MAX];
    return ::realpath(r.c_str(), root) != nullptr && path_contains(root, real);
  });
}

}  // namespace

Result<void> check(const Ceiling& ceiling, const Policy& policy) {
  for (const auto& grant : policy.filesystem.grants) {
    const bool write = grant.access == Access::kWrite;
    if (may_show(ceiling.write, grant.path)) continue;
    if (!write && may_show(ceiling.read, grant.path)) continue;
    return beyond(cat(write ? "writing to " : "showing ", printable(grant.path)));
  }
  if (policy.network.mode == NetworkMode::kHost && !ceiling.host_network) return beyond("the host's network");
  // These read what is the launcher's own: its environment, its files.
  if (!policy.env.pass.empty()) return beyond("passing on the daemon's environment");
  if (!policy.syscalls.oci_file.empty()) return beyond("a system call list from a file");
  // A layer that is only observed is off.
  for (const auto& [layer, mode] : policy.audit)
    if (mode == AuditMode::kObserve && layer_from(layer)) return beyond(cat("switching off ", layer));
  if (policy.limits.memory > ceiling.memory) return beyond("that much memory");
  if (policy.limits.disk > ceiling.disk) return beyond("that much disk");
  if (policy.limits.output > ceiling.output) return beyond("that much output");
  if (policy.limits.wall > ceiling.wall) return beyond("that long a run");
  if (policy.limits.processes > ceiling.processes) return beyond("that many processes");
  return {};
}

}  // namespace hotcell::remote
