// The filter of a server that starts nothing (ConfineOptions::alone).
#pragma once
#include "core/kernel/seccomp.h"

namespace hotcell {

// `dial`: datagrams for name servers beside TCP.
Result<SeccompProgram> plan_alone(const SeccompRequest& request, bool dial);

}  // namespace hotcell
