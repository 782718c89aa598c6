// `hotcell run --daemon`: the same words, sent to the daemon of this host.
#pragma once
#include "cli/options.h"

namespace hotcell {

// The exit code, as of any other run.
Result<int> run_by_daemon(const Parsed& parsed);

}  // namespace hotcell
