// Which policies one cell can serve.
#pragma once
#include "hotcell/policy.h"

namespace hotcell {

// Everything but what becomes of a program that writes too much: nothing of the cell is made from that, the launcher alone
// minds it, and only once there is a program.
bool same_cell(const Policy& a, const Policy& b);

}  // namespace hotcell
