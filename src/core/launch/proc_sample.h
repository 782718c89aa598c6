// What a cell uses where it has no cgroup of its own: its process tree, read from /proc. A sample, hence `partial`.
#pragma once
#include "core/kernel/cgroup.h"

namespace hotcell {

CgroupSample sample_tree(int init_pid);

}  // namespace hotcell
