// A launcher of native cells that have /dev/kvm besides, for QEMU alone (src/backends/vm_launcher.cc). No option of LauncherOptions and
// no part of a policy: neither a user nor a daemon's request can ask for it.
#pragma once
#include <memory>

#include "hotcell/launcher.h"

namespace hotcell {

Result<std::unique_ptr<Launcher>> create_around_machine();

}  // namespace hotcell
