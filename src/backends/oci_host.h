// What a bundle says of the host's own mandatory walls and of ceilings in the runtime's cgroup. Pure: the host's facts are given.
#pragma once
#include <string>
#include <string_view>

#include "backends/settings.h"
#include "base/json_write.h"
#include "core/kernel/lsm.h"
#include "hotcell/policy.h"
#include "hotcell/result.h"

namespace hotcell::backends {

struct OciLabels {
  std::string apparmor;   // process.apparmorProfile
  std::string selinux;    // process.selinuxLabel and linux.mountLabel
};
// `oci.apparmor` and `oci.selinux`, refused where the host does not have it: a runtime may pass over a label it cannot put on. Unsaid: our
// own profile (packaging/apparmor) where it is loaded. `loaded`: the kernel's list of profiles, "NAME (MODE)" in each line.
Result<OciLabels> oci_labels(const Settings& settings, const LsmFacts& facts, std::string_view loaded);
std::string loaded_profiles();

// linux.resources of a group that holds the program and, while it sets up, the runtime's own init.
void write_resources(JsonWriter& w, const Limits& limits, int cgroup_version);

}  // namespace hotcell::backends
