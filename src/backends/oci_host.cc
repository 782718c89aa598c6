#include "backends/oci_host.h"

#include <algorithm>
#include <cmath>

#include "base/strings.h"
#include "sys/file.h"

namespace hotcell::backends {

Result<OciLabels> oci_labels(const Settings& settings, const LsmFacts& facts, std::string_view loaded) {
  OciLabels out{settings.get("oci.apparmor"), settings.get("oci.selinux")};
  auto lines = split(loaded, '\n');
  auto is_loaded = [&](std::string_view name, std::string_view mode) {
    return std::any_of(lines.begin(), lines.end(), [&](std::string_view line) { return line.starts_with(cat(name, " (", mode)); });
  };
  if (!out.apparmor.empty() && !facts.apparmor) return make_error(ErrorCode::kUnsupported, "oci.apparmor: AppArmor is not active on this host");
  if (!out.selinux.empty() && !facts.selinux) return make_error(ErrorCode::kUnsupported, "oci.selinux: SELinux is not active on this host");
  if (!out.apparmor.empty() && out.apparmor != "unconfined" && !is_loaded(out.apparmor, ""))
    return make_error(ErrorCode::kUnsupported, cat("oci.apparmor: no profile ", printable(out.apparmor), " is loaded"));
  if (out.apparmor.empty() && facts.apparmor && is_loaded(kLsmProfile, "enforce")) out.apparmor = std::string(kLsmProfile);
  return out;
}

std::string loaded_profiles() {
  auto text = sys::read_file("/sys/kernel/security/apparmor/profiles");
  return text.ok() ? std::move(text).value() : std::string();
}

void write_resources(JsonWriter& w, const Limits& limits, int cgroup_version) {
  w.begin_object();
  if (cgroup_version != 0) {
    // The runtime's own init is in the group for some milliseconds: less than this and it dies of it.
    w.key("memory");
    w.begin_object();
    w.field("limit", std::max<std::uint64_t>(limits.memory.n, 32 << 20));
    // v2 counts swap by itself: the limit of both together less that of memory, none. v1 has no such file unless it was booted so.
    if (cgroup_version == 2) w.field("swap", std::max<std::uint64_t>(limits.memory.n, 32 << 20));
    w.end_object();
    w.key("pids");
    w.begin_object();
    w.field("limit", std::uint64_t{limits.processes} + 16);  // as above: the threads of its init
    w.end_object();
    if (limits.cpus > 0) {
      w.key("cpu");
      w.begin_object();
      w.field("period", std::uint64_t{100'000});
      w.field("quota", static_cast<std::int64_t>(std::llround(limits.cpus * 100'000)));
      w.end_object();
    }
    if (cgroup_version == 2) {
      w.key("unified");
      w.begin_object();
      w.field("memory.oom.group", "1");  // all of it ends together
      w.end_object();
    }
  }
  w.end_object();
}

}  // namespace hotcell::backends
