// The file agent: one operation on files of the cell, done by a program inside it. What it can reach is what any program
// of the cell can, so there is no path, link or race by which it could touch the host.
#pragma once

namespace hotcell::cells {

// argv[1] is the operation; data comes by 0 and goes to 1, an error is one line on 2 and exit code 1.
int agent(int argc, char** argv);

}  // namespace hotcell::cells
