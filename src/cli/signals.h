// SIGINT, SIGTERM and SIGHUP end the whole cell before they end hotcell.
#pragma once
#include "hotcell/result.h"

namespace hotcell {

// Handlers, not a blocked mask or SIG_IGN: those would be inherited by whatever is started, handlers are reset by exec.
// A signal the caller ignores (nohup, a background job) stays ignored. SIGPIPE becomes EPIPE. Every wait in the kernel
// ends early with EINTR.
Result<void> catch_signals();
int caught_signal();  // the first one that came, or 0

// SIGTSTP, too: it is no end.
Result<void> catch_suspension();
bool take_suspension();  // it came since this was last asked

}  // namespace hotcell
