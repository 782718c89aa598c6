// A machine of its own: QEMU, a kernel of the distribution's, an agent of ours in it. Theory of operation:
//   QEMU runs in a native cell, with every wall that one has and without a privilege. The cell's view of files is the
//   policy's, and what the guest is shown (9p) are folders of that cell: the policy's view again, enforced by the host's
//   kernel whatever becomes of the guest. There is no network card.
//   Beside QEMU runs the runner (vm_guest/runner.cc): it hands the order over the one virtio-serial port and stands for the
//   program. In the guest the agent (vm_guest/agent.cc) is the first process, and puts namespaces, a cgroup v2, an
//   ordinary user and our filter around the program.
//   With `vm.image` the guest's root is an erofs image on a disk of its own, with an overlay for the mount points, and the
//   folders are those of the grants alone (vm_root.cc).
//   Its processor is the host's where KVM works (vm_accel.h): then the cell has that one device besides, which no other cell has.
//   Otherwise QEMU emulates one, and it is said why.
//   Booting takes seconds. So the booted machine, waiting for its order, is kept as a file, and each start is a copy of it.
//   Guests of one snapshot begin alike; the order brings the time and a seed for their random numbers.
#pragma once
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "backends/backend.h"
#include "backends/tool_launcher.h"
#include "backends/vm_accel.h"

namespace hotcell::backends {

struct MachineShare {
  std::string source, target;   // in the cell, in the guest
  bool writable = false;
};
// What a snapshot depends on, besides the programs: its size and its devices. Which folders the shares are does not count.
struct Machine {
  std::uint64_t memory_mib = 0;
  unsigned cpus = 1;
  Accel accel = Accel::kTcg;
  std::vector<MachineShare> shares;
  std::vector<std::pair<std::string, std::string>> links;  // path, what it says
  std::string root;                                        // an erofs image that is the guest's root; empty: the policy's folders
};
Result<Machine> machine_of(const ToolRequest& request);

// Files the machine is made of. `folder` is what the cell is shown of the cache.
struct MachineImage {
  std::string folder, kernel, initrd, program, key;
};
// Made from the distribution's kernel when it is not in the cache yet; or only named.
enum class MakeImage : std::uint8_t { kNo, kYes };
Result<MachineImage> machine_image(MakeImage make, const Settings& settings = {});
// What vm.image says, as an erofs image, made of it when there is none yet; or only named. Empty: it says nothing.
Result<std::string> machine_root(MakeImage make, const Settings& settings, const std::function<bool()>& cancelled = {});
std::string machine_roots();                        // where those are that we have made; no machine is shown this folder
std::string machine_cache();                        // empty: no folder is known
// Where a kernel with its modules is looked for: what vm.kernel says and nowhere else; without it HOTCELL_VM_KERNEL, beside the
// program, the host's own.
std::vector<std::string> kernel_places(const Settings& settings = {});
Result<void> keep_file(const std::string& path, std::string_view bytes, unsigned mode);
void sweep_machines(const std::string& folder);     // all but what was used last
Result<void> make_own_folder(const std::string& path, unsigned mode);  // that only we can write
// To its end, unless it is to be given up: `cancelled` is asked again and again.
Result<Report> run_while(Launcher& launcher, const Policy& policy, Request request, const std::function<bool()>& cancelled);

enum class MachineStart : std::uint8_t { kBoot, kCold, kRestore };
std::vector<std::string> machine_command(const std::string& qemu, const Machine& machine, const MachineImage& image, MachineStart how);
std::string machine_order(const ToolRequest& request, const Machine& machine, std::string_view filter, std::string_view image_folder);

struct VmOptions {
  bool snapshot = true;   // false: boots each time, for comparison
  std::optional<AccelChoice> accel = {};  // decided by who asks, which is the trial of one; otherwise found out (vm_accel.h)
  Nanoseconds boot_patience = {};   // 0: what the options say
};
Result<std::unique_ptr<Launcher>> open_vm(ToolOptions options, VmOptions vm = {});

}  // namespace hotcell::backends
