// Processes of the cell, as /proc shows them to the spawner.
#pragma once
#include <sys/types.h>

namespace hotcell::cells {

void kill_tree(pid_t top);              // all descendants of `top`, not itself, until there are none
// Somebody of the process group waits for input from a terminal: blocked in a read, or in a wait for that alone. `raw`: the
// terminal gives keys, not lines.
bool reads_terminal(pid_t group, bool raw);

}  // namespace hotcell::cells
