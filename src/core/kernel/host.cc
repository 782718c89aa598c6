#include "core/kernel/host.h"

#include <fcntl.h>
#include <grp.h>
#include <linux/capability.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/strings.h"
#include "sys/file.h"
#include "sys/uapi/landlock.h"

namespace hotcell {
namespace {

bool has_capability(unsigned cap) {
  __user_cap_header_struct header = {_LINUX_CAPABILITY_VERSION_3, 0};
  __user_cap_data_struct data[2] = {};
  if (::syscall(SYS_capget, &header, data) < 0) return false;
  return (data[cap / 32].effective >> (cap % 32)) & 1u;
}

// A full map means that ids of our reserved range exist; root inside a container often has only a few thousand.
bool has_full_id_map() {
  auto map = sys::read_file("/proc/self/uid_map");
  if (!map) return false;
  auto line = trim(map.value());
  std::vector<std::string_view> words;
  for (auto w : split(line, ' '))
    if (!w.empty()) words.push_back(w);
  return words.size() == 3 && words[0] == "0" && words[1] == "0" && words[2] == "4294967295";
}

void look_at_v1(CgroupHost& host, std::string_view controllers, std::string_view mount_point) {
  static constexpr std::string_view kWanted[] = {"memory", "pids", "cpu", "cpuacct", "freezer"};
  for (auto c : split(controllers, ',')) {
    for (auto wanted : kWanted) {
      if (c != wanted) continue;
      std::string folder = cat(mount_point, "/hotcell");
      // A hierarchy may be mounted twice; the same group must not be made twice.
      bool known = false;
      for (const auto& have : host.v1) known = known || have.folder == folder || have.name == c;
      if (known) continue;
      host.v1.push_back({std::string(c), folder});
      if (c == "memory") host.memory = true;
      if (c == "pids") host.pids = true;
      if (c == "cpu") host.cpu = true;
      if (c == "cpuacct") host.cpuacct = true;
    }
  }
}

// Where this process sits in the unified hierarchy: "0::/user.slice/…".
std::string own_v2_path() {
  auto text = sys::read_file("/proc/self/cgroup");
  if (!text) return "/";
  for (auto line : split(text.value(), '\n'))
    if (line.starts_with("0::")) return std::string(line.substr(3));
  return "/";
}

bool writable(const std::string& folder) { return ::access(folder.c_str(), W_OK) == 0; }

CgroupHost look_at_cgroups() {
  CgroupHost host;
  auto text = sys::read_file("/proc/self/mountinfo", 4 << 20);
  if (!text) {
    host.why_not = "cannot read /proc/self/mountinfo";
    return host;
  }
  std::string v2_mount;
  for (auto line : split(text.value(), '\n')) {
    auto dash = line.find(" - ");
    if (dash == std::string_view::npos) continue;
    auto right = split(line.substr(dash + 3), ' ');
    auto left = split(line.substr(0, dash), ' ');
    if (right.size() < 3 || left.size() < 5) continue;
    if (right[0] == "cgroup") look_at_v1(host, right[2], left[4]);
    if (right[0] == "cgroup2") v2_mount = left[4];
  }
  if (!v2_mount.empty()) {
    // A pure v2 host, or a hybrid one whose controllers live on the v2 side.
    auto controllers = sys::read_file(cat(v2_mount, "/cgroup.controllers").c_str());
    bool any = controllers.ok() && !trim(controllers.value()).empty();
    if (any && host.v1.empty()) {
      // As root at the top of the tree; as an ordinary user only where a manager delegated our own folder to us.
      std::string base = ::geteuid() == 0 ? v2_mount : cat(v2_mount, own_v2_path());
      auto subtree = sys::read_file(cat(base, "/cgroup.subtree_control").c_str());
      if (writable(base) && subtree.ok()) {
        host.version = CgroupVersion::kV2;
        host.v2_folder = cat(base, "/hotcell");
        for (auto c : split(trim(controllers.value()), ' ')) {
          if (c == "memory") host.memory = true;
          if (c == "pids") host.pids = true;
          if (c == "cpu") host.cpu = host.cpuacct = true;
        }
        return host;
      }
      host.why_not = cat("the cgroup ", base, " is not delegated to this user");
      return host;
    }
  }
  if (!host.v1.empty()) {
    std::vector<CgroupHost::Controller> usable;
    for (auto& c : host.v1) {
      auto top = c.folder.substr(0, c.folder.size() - std::string_view("/hotcell").size());
      if (writable(c.folder) || writable(top)) usable.push_back(std::move(c));
    }
    host.v1 = std::move(usable);
    if (!host.v1.empty()) {
      host.version = CgroupVersion::kV1;
      auto have = [&](std::string_view name) {
        for (const auto& c : host.v1)
          if (c.name == name) return true;
        return false;
      };
      host.memory = host.memory && have("memory");
      host.pids = host.pids && have("pids");
      host.cpu = host.cpu && have("cpu");
      host.cpuacct = host.cpuacct && have("cpuacct");
      return host;
    }
    host.why_not = "no cgroup v1 hierarchy is writable by this user";
  } else {
    host.why_not = "no cgroup controllers are mounted";
  }
  host.memory = host.pids = host.cpu = host.cpuacct = false;
  return host;
}

}  // namespace

Result<Host> Host::look() {
  Host host;
  host.uid = ::geteuid();
  host.gid = ::getegid();
  host.privileged = host.uid == 0 && has_capability(CAP_SYS_ADMIN) && has_capability(CAP_SETUID) && has_full_id_map();
  gid_t groups[64];
  int count = ::getgroups(64, groups);
  for (int i = 0; i < count; ++i) host.extra_groups = host.extra_groups || groups[i] != host.gid;
  host.extra_groups = host.extra_groups || count < 0;
  long abi = ::syscall(SYS_landlock_create_ruleset, nullptr, 0, uapi::kLandlockCreateVersion);
  host.landlock_abi = abi > 0 ? static_cast<int>(abi) : 0;
  if (auto last = sys::read_file("/proc/sys/kernel/cap_last_cap"))
    host.last_cap = static_cast<unsigned>(parse_u64(trim(last.value())).value_or(40));
  if (auto core = sys::read_file("/proc/sys/kernel/core_pattern")) host.core_pipe = core.value().starts_with('|');
  host.cgroup = look_at_cgroups();
  return host;
}

}  // namespace hotcell
