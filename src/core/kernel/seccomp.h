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
  bool notify = true;          // false: nobody listens, named-denied calls answer EPERM by themselves
  bool observe_files = false;  // report the observed calls, for notify + continue
};

struct SeccompProgram {
  std::vector<std::uint64_t> insns;  // struct sock_filter, eight bytes each
  bool has_notify = false;
  std::string source;  // "embedded default", "compiled from strict, 2 allowed, 1 denied"
};

Result<SeccompProgram> plan_seccomp(const SeccompRequest& request);
Result<FilterModel> model_seccomp(const SeccompRequest& request, Arch arch = kNativeArch);

// True: with observe_files, a notification of this call is to be continued, never refused.
bool seccomp_observes(int nr, std::uint32_t arch);

// Made by seccomp_gen at build time.
struct EmbeddedFilter {
  Arch arch;
  Bases base;
  Nets net;
  bool notify;
  const std::uint64_t* insns;
  std::uint32_t count;
};
extern const EmbeddedFilter kEmbeddedFilters[];
extern const std::uint32_t kEmbeddedFilterCount;

}  // namespace hotcell
