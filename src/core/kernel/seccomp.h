// Which filter a cell gets. The presets were compiled at build time and are returned as they are; anything else is
// compiled here, in the parent.
#pragma once
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "core/kernel/seccomp_model.h"
#include "hotcell/result.h"

namespace hotcell {

struct SeccompRequest {
  std::string base = "default";          // or "strict"
  std::vector<std::string> allow, deny;  // deny wins
  std::string oci_json;                  // the text of an OCI or Docker profile; empty: none
  bool network_on = false;               // host or proxy
  // False: no network namespace of its own, so that an internet socket would be the host's. With network_on false
  // such sockets are then refused.
  bool isolated_network = true;
  bool own_namespaces = true;  // false: other processes and the caller's files are in reach, the filter is stricter
  bool counted_memory = true;  // false: no cgroup counts it, so calls that hide memory from samples are refused
  bool notify = true;          // false: nobody listens, named-denied calls answer EPERM by themselves
  bool observe_files = false;  // show the calls that name files to the listener, which lets them go on
};

struct SeccompProgram {
  std::vector<std::uint64_t> insns;  // struct sock_filter, eight bytes each
  bool has_notify = false;
  std::string source;  // "embedded default", "compiled from strict, 2 allowed, 1 denied"
  // With observe_files: for these, and no others, a notification means that the filter would have allowed the call.
  std::vector<std::uint32_t> observed = {};
  // Without namespaces: a notification of these asks the launcher to do what they say.
  std::vector<std::uint32_t> marks = {};
};

Result<SeccompProgram> plan_seccomp(const SeccompRequest& request);
Result<FilterModel> model_seccomp(const SeccompRequest& request, Arch arch = kNativeArch);

// Made by seccomp_gen at build time.
struct EmbeddedFilter {
  Arch arch;
  Bases base;
  Nets net;
  bool notify;
  bool counted;
  const std::uint64_t* insns;
  std::uint32_t count;
};
extern const EmbeddedFilter kEmbeddedFilters[];
extern const std::uint32_t kEmbeddedFilterCount;

}  // namespace hotcell
