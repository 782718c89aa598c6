// As root: who the cell's ids are outside, and grants seen through an id-mapped mount, so that the caller's files are
// the cell user's inside and what the cell writes belongs to the caller outside.
#pragma once
#include <vector>

#include "core/kernel/host.h"
#include "core/launch/plan.h"

namespace hotcell {

Result<void> write_id_maps(int pid, const Policy& policy, const Host& host, unsigned cell_id);
// One detached tree per grant, attributes set, ready to be attached by init.
Result<void> write_template_maps(int pid, const Policy& policy, const Host& host);  // the ids of all cells
Result<std::vector<sys::Fd>> open_grants(const Plan& plan, const Host& host, int init_fd, unsigned cell_id);
// The same for a workspace that lasts: the project, which nothing is written to, and the folder of what was changed.
// Here it is the project's owner who is the cell's user inside.
Result<std::vector<sys::Fd>> open_layers(const Plan& plan, const Host& host, int init_fd, unsigned cell_id);
// A small tmpfs, attached nowhere, with a node of /dev/kvm that the cell's user alone may open. The host's own keeps its mode.
Result<sys::Fd> make_kvm_node(unsigned cell_id);

}  // namespace hotcell
