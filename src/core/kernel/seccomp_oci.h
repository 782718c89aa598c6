// `syscalls.file`: an OCI or Docker seccomp profile, intersected with ours. It can only take away.
#pragma once
#include <string_view>

#include "core/kernel/seccomp_model.h"

namespace hotcell {

Result<void> intersect_oci(FilterModel& model, std::string_view json);

}  // namespace hotcell
