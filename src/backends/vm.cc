#include "backends/vm.h"

#include <unistd.h>

#include <algorithm>
#include <cmath>

#include "backends/tools.h"
#include "backends/view.h"
#include "backends/vm_guest/order.h"
#include "base/strings.h"
#include "core/kernel/grants.h"

namespace hotcell::backends {
namespace {

constexpr std::uint64_t kGuestMib = 96;  // the guest's kernel, its agent and its page cache; 40 are in use after boot

bool below(std::string_view path, std::string_view folder) {
  return path == folder || (path.starts_with(folder) && path.size() > folder.size() && path[folder.size()] == '/');
}

class Vm final : public Backend {
 public:
  std::string_view name() const override { return "vm"; }
  std::string_view what() const override { return "a virtual machine (QEMU, by KVM where a guest works under it, emulated otherwise): a kernel of its own, in a native cell"; }
  std::string_view package() const override { return "qemu-system-x86"; }
  std::string_view binary() const override { return "qemu-system-x86_64"; }
  bool guest_kernel() const override { return true; }
  bool stands_alone() const override { return false; }  // its cell and its order are ours to make
  Overhead overhead() const override { return {.memory = Bytes{(kGuestMib + 384) << 20}, .tasks = 96, .own_rlimits = true}; }

  std::vector<Held> judge(const Policy& p) const override {
    return {{"files", LayerStatus::kFull, "folders of a native cell that is around the machine"},
            {"deny", p.filesystem.deny.empty() ? LayerStatus::kFull : LayerStatus::kNone, "no masks for names that may not exist yet"},
            {"network", p.network.mode == NetworkMode::kNone ? LayerStatus::kFull : LayerStatus::kNone,
             p.network.mode == NetworkMode::kNone ? "no network card" : "the machine has no network card"},
            {"syscalls", LayerStatus::kFull, "our filter in the guest's kernel; denied calls are not recorded"},
            {"processes", LayerStatus::kFull, "a cgroup v2 of the guest"},
            {"memory", p.limits.address_space ? LayerStatus::kNone : LayerStatus::kFull, p.limits.address_space ? "no limit of the address space in the machine" : "a cgroup v2 of the guest, in a machine of little more"},
            {"cpu", LayerStatus::kFull, "of the whole machine; where its processor is emulated it takes several times as much"},
            {"disk", LayerStatus::kPartial, "/work, /tmp and /dev/shm by their size, each by itself"},
            {"identity", LayerStatus::kFull, "a user of the guest; the machine is an unused user of the host where we are root"}};
  }

  Result<ToolPlan> plan(const ToolRequest& r) const override {
    ToolPlan out;
    TRY_SET(Machine machine, machine_of(r));
    if (r.tool.starts_with('/')) {
      // Without a kernel for the guest the rest can be shown all the same.
      auto choice = accel_here(r.settings, r.tool);
      if (choice.ok()) machine.accel = choice.value().accel;
      else if (r.settings.said("vm.accel")) return std::move(choice).error();
    }
    std::string cache = machine_cache();
    MachineImage image{cache, "KERNEL", "INITRD", cat(cache, "/hotcell-vm"), ""};
    if (auto made = machine_image(MakeImage::kNo, r.settings); made.ok()) image = made.value();
    TRY_SET(machine.root, machine_root(MakeImage::kNo, r.settings));
    out.argv = {image.program, "run", "/work/order", "/work/told", "/work/w", "STATE", "--"};
    for (auto& word : machine_command(r.tool, machine, image, MachineStart::kRestore)) out.argv.push_back(std::move(word));
    return out;
  }
};

}  // namespace

const Backend* vm() {
  static const Vm it;
  return &it;
}

// A number that a setting says, within bounds; `otherwise` when it says nothing.
Result<std::uint64_t> number_of(const Settings& settings, std::string_view name, std::uint64_t least, std::uint64_t most, std::uint64_t otherwise, std::string_view unit) {
  if (!settings.said(name)) return otherwise;
  auto n = parse_u64(settings.get(name));
  if (n && *n >= least && *n <= most) return *n;
  return make_error(ErrorCode::kInvalid, cat("--backend-option: ", name, ": ", printable(settings.get(name)), ": expected ", least, " to ", most, " ", unit));
}

// Of what the program would see of the host: what the policy grants, and none of the system's folders. Files alone cannot be shared, and
// the folder of one is the host's.
Result<void> leave_grants_alone(const ToolRequest& r, std::vector<Shown>& shown) {
  const auto& grants = r.policy.filesystem.grants;
  std::erase_if(shown, [&](const Shown& s) {
    return s.kind != Shown::Kind::kBind || std::none_of(grants.begin(), grants.end(), [&](const FsGrant& g) { return normal_path(g.path) == s.target; });
  });
  for (const auto& s : shown)
    if (!s.folder) return make_error(ErrorCode::kUnsupported, cat("backend vm: ", printable(s.target), ": beside vm.image only folders can be granted"));
  return {};
}

Result<Machine> machine_of(const ToolRequest& r) {
  Machine out;
  out.memory_mib = (((r.policy.limits.memory.n + (1u << 20) - 1) >> 20) + kGuestMib + 31) / 32 * 32;
  auto host = static_cast<unsigned>(std::max(1L, ::sysconf(_SC_NPROCESSORS_ONLN)));
  out.cpus = r.policy.limits.cpus > 1 ? std::min(host, static_cast<unsigned>(std::ceil(r.policy.limits.cpus))) : 1;
  // The program's limit stays the policy's, in the guest's cgroup: this is the machine around it.
  TRY_SET(out.memory_mib, number_of(r.settings, "vm.memory", out.memory_mib, 64 << 10, out.memory_mib, "MiB"));
  TRY_SET(auto cpus, number_of(r.settings, "vm.cpus", 1, host, out.cpus, "processors"));
  out.cpus = static_cast<unsigned>(cpus);
  TRY_SET(auto shown, view(r));
  std::vector<MachineShare> wanted = {{"/work/w", "/work", r.policy.filesystem.writable_scratch}};
  const bool own_root = r.settings.said("vm.image");
  if (own_root) {
    TRY(leave_grants_alone(r, shown));
  } else {
    wanted.push_back({"/etc", "/etc", false});
  }
  for (const auto& s : shown) {
    if (s.kind == Shown::Kind::kLink && !below(s.target, "/etc")) out.links.emplace_back(s.target, s.source);
    if (s.kind != Shown::Kind::kBind || (!own_root && (below(s.target, "/etc") || s.source == r.workspace))) continue;
    if (below(s.target, "/work") || s.target == "/tmp" || below(s.target, "/dev") || below(s.target, "/proc"))
      return make_error(ErrorCode::kUnsupported, cat("backend vm: ", printable(s.target), " would lie in a folder of the guest's own"));
    // A share is a folder. Of a file's folder the cell shows what the policy does, and no more.
    std::string target = s.folder ? s.target : s.target.substr(0, std::max<std::size_t>(1, s.target.rfind('/')));
    if (target == "/" || (!s.folder && !s.read_only))
      return make_error(ErrorCode::kUnsupported, cat("backend vm: ", printable(s.target), ": only folders can be shared ", s.read_only ? "from there" : "for writing"));
    wanted.push_back({target, target, !s.read_only});
  }
  std::stable_sort(wanted.begin(), wanted.end(), [](const MachineShare& a, const MachineShare& b) { return a.target.size() < b.target.size(); });
  for (auto& share : wanted) {
    // What lies in a folder that is shared the same way comes with it: the cell has it at the same place.
    bool there = std::any_of(out.shares.begin(), out.shares.end(), [&](const MachineShare& s) { return below(share.target, s.target) && s.writable == share.writable; });
    if (!there) out.shares.push_back(std::move(share));
  }
  if (out.shares.size() > 24) return make_error(ErrorCode::kUnsupported, "backend vm: at most 24 folders can be shown");
  return out;
}

std::vector<std::string> machine_command(const std::string& qemu, const Machine& m, const MachineImage& image, MachineStart how) {
  std::vector<std::string> a = {qemu, "-nodefaults", "-no-user-config", "-no-reboot", "-display", "none", "-monitor", "none", "-serial", "none",
                                "-machine", "q35,usb=off,vmport=off,smbus=off,sata=off", "-accel", m.accel == Accel::kKvm ? "kvm" : "tcg,tb-size=64", "-cpu", m.accel == Accel::kKvm ? "host" : "max",
                                "-m", cat(m.memory_mib), "-smp", cat(m.cpus), "-chardev", "socket,id=port,fd=3", "-device", "virtio-serial-pci,max_ports=2", "-device", "virtserialport,chardev=port,name=hotcell"};
  auto add = [&](std::initializer_list<std::string> words) { a.insert(a.end(), words); };
  auto quoted = [](std::string_view path) {
    std::string out;
    for (char c : path) out += c == ',' ? std::string(",,") : std::string(1, c);
    return out;
  };
  for (std::size_t i = 0; i < m.shares.size(); ++i) {
    const auto& s = m.shares[i];
    // The state does not depend on which folders there are: while it is made, all of them are an empty one.
    std::string path = how == MachineStart::kBoot ? "/work" : quoted(s.source);
    add({"-fsdev", cat("local,id=s", i, ",path=", path, ",security_model=none,multidevs=remap", s.writable ? "" : ",readonly=on"),
         "-device", cat("virtio-9p-pci,fsdev=s", i, ",mount_tag=s", i)});
  }
  // Nobody writes to it, and the guest could not: so no lock is needed, which an image in a read-only place might not give.
  if (!m.root.empty())
    add({"-blockdev", cat("driver=raw,node-name=root,read-only=on,file.driver=file,file.read-only=on,file.locking=off,file.filename=", quoted(m.root)),
         "-device", "virtio-blk-pci,drive=root"});
  // A machine that is restored has its kernel in its memory.
  if (how != MachineStart::kRestore)
    add({"-kernel", image.kernel, "-initrd", image.initrd, "-append", "quiet loglevel=0 panic=-1 mitigations=off no_timer_check random.trust_cpu=on audit=0"});
  if (how == MachineStart::kBoot) add({"-chardev", "socket,id=monitor,fd=4", "-mon", "chardev=monitor,mode=control"});
  if (how == MachineStart::kRestore) add({"-incoming", "fd:5"});
  // Saving the state needs a second program; nothing of anybody's runs then.
  if (how != MachineStart::kBoot) add({"-sandbox", "on,obsolete=deny,elevateprivileges=deny,spawn=deny,resourcecontrol=deny"});
  return a;
}

std::string machine_order(const ToolRequest& r, const Machine& machine, std::string_view filter, std::string_view image_folder) {
  std::string out;
  auto add = [&](std::uint32_t tag, std::string_view bytes) {
    vm::Field field{tag, static_cast<std::uint32_t>(bytes.size())};
    out.append(reinterpret_cast<const char*>(&field), sizeof field);
    out += bytes;
  };
  const Policy& p = r.policy;
  for (const auto& word : r.request.argv) add(vm::kArgument, word);
  for (const auto& [k, v] : r.env) add(vm::kVariable, cat(k, "=", v));
  add(vm::kFolder, r.request.workdir.empty() ? "/work" : r.request.workdir);
  const std::pair<std::uint32_t, std::uint64_t> numbers[] = {
      {vm::kUid, p.uid}, {vm::kGid, p.gid}, {vm::kMemory, p.limits.memory.n}, {vm::kProcesses, p.limits.processes}, {vm::kOpenFiles, p.limits.open_files},
      {vm::kFileSize, p.limits.disk.n}, {vm::kStack, p.limits.stack.n}, {vm::kScratch, p.limits.disk.n}};
  for (auto [tag, n] : numbers) add(tag, cat(n));
  add(vm::kFilter, filter);
  for (const auto& s : machine.shares) add(vm::kShare, cat(s.writable ? "w" : "r", s.target));
  for (const auto& [path, says] : machine.links) add(vm::kLink, cat(path, std::string_view("\0", 1), says));
  // Where a share holds what the cell is shown for us, the guest does not see that part.
  if (std::any_of(machine.shares.begin(), machine.shares.end(), [&](const MachineShare& s) { return below(image_folder, s.target); })) add(vm::kHidden, image_folder);
  if (!p.filesystem.writable_scratch) add(vm::kReadOnly, "");
  if (!machine.root.empty()) add(vm::kImage, "");
  return out;
}

}  // namespace hotcell::backends
