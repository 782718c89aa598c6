// `profile show --seccomp bpf|oci|text`: the filter for other tools, and for people.
#pragma once
#include <string>
#include <string_view>

#include "core/kernel/seccomp.h"

namespace hotcell {

// bpf: the bytes the kernel gets. oci: linux.seccomp of the OCI runtime spec; it allows exactly what the filter allows
// (what is refused for its arguments answers the default ENOSYS there). text: one line per rule with its reason.
Result<std::string> export_seccomp(const SeccompRequest& request, std::string_view format);

}  // namespace hotcell
