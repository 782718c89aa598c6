#include "core/kernel/host.h"

#include <fcntl.h>
#include <grp.h>
#include <linux/capability.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>

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

void add_v1(std::vector<CgroupHost::Controller>& out, std::string_view options, std::string_view mount_point) {
  static constexpr std::string_view kWanted[] = {"memory", "pids", "cpu", "cpuacct", "freezer"};
  for (auto name : split(options, ',')) {
    bool wanted = std::find(std::begin(kWanted), std::end(kWanted), name) != std::end(kWanted);
    // A hierarchy may be mounted in several places; the first one serves.
    bool known = std::any_of(out.begin(), out.end(), [&](const auto& have) { return have.name == name; });
    if (wanted && !known) out.push_back({std::string(name), cat(mount_point, "/hotcell")});
  }
}

// mountinfo writes blanks, tabs, newlines and backslashes in octal.
std::string unescape(std::string_view text) {
  std::string out;
  for (std::size_t i = 0; i < text.size(); ++i) {
    auto digit = [&](std::size_t k) { return i + k < text.size() && text[i + k] >= '0' && text[i + k] <= '7'; };
    if (text[i] != '\\' || !digit(1) || !digit(2) || !digit(3)) {
      out += text[i];
      continue;
    }
    out += static_cast<char>((text[i + 1] - '0') * 64 + (text[i + 2] - '0') * 8 + (text[i + 3] - '0'));
    i += 3;
  }
  return out;
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

// Whether groups with limits can be made inside `folder` and processes be born into them. Only the root of the whole
// hierarchy may have both processes and limited groups; every other one has the file cgroup.type.
bool can_hold_groups(const std::string& folder) {
  for (const char* file : {"", "/cgroup.procs", "/cgroup.subtree_control"})
    if (!writable(folder + file)) return false;
  if (::access(cat(folder, "/cgroup.type").c_str(), F_OK) != 0) return true;
  auto members = sys::read_file(cat(folder, "/cgroup.procs").c_str());
  return members.ok() && trim(members.value()).empty();
}

// Root at the top of the tree; otherwise the nearest folder above this process that a manager has delegated to this
// user. Empty: none.
std::string find_v2_base(const std::string& mount, std::string own) {
  if (::geteuid() == 0 && can_hold_groups(mount)) return mount;
  if (own.find("/..") != std::string::npos) return {};  // outside of what this mount shows
  for (auto slash = own.rfind('/'); slash != std::string::npos && own.size() > 1; slash = own.rfind('/')) {
    own.resize(slash);
    if (std::string folder = cat(mount, own); can_hold_groups(folder)) return folder;
  }
  return {};
}

CgroupHost look_at_cgroups() {
  CgroupHost host;
  auto text = sys::read_file("/proc/self/mountinfo", 4 << 20);
  if (!text) {
    host.why_not = "cannot read /proc/self/mountinfo";
    return host;
  }
  CgroupMounts mounts = read_cgroup_mounts(text.value());
  host.v1 = std::move(mounts.v1);
  const std::string& v2_mount = mounts.v2;
  if (!v2_mount.empty()) {
    // A pure v2 host, or a hybrid one whose controllers live on the v2 side.
    auto controllers = sys::read_file(cat(v2_mount, "/cgroup.controllers").c_str());
    bool any = controllers.ok() && !trim(controllers.value()).empty();
    if (any && host.v1.empty()) {
      std::string base = find_v2_base(v2_mount, own_v2_path());
      auto there = sys::read_file(cat(base, "/cgroup.controllers").c_str());
      if (!base.empty() && there.ok()) {
        host.version = CgroupVersion::kV2;
        host.v2_folder = cat(base, "/hotcell");
        for (auto c : split(trim(there.value()), ' ')) {
          if (c == "memory") host.memory = true;
          if (c == "pids") host.pids = true;
          if (c == "cpu") host.cpu = host.cpuacct = true;
        }
        return host;
      }
      host.why_not = "no cgroup above this process is delegated to this user and free of processes";
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
        return std::any_of(host.v1.begin(), host.v1.end(), [&](const auto& c) { return c.name == name; });
      };
      host.memory = have("memory");
      host.pids = have("pids");
      host.cpu = have("cpu");
      host.cpuacct = have("cpuacct");
      return host;
    }
    host.why_not = "no cgroup v1 hierarchy is writable by this user";
  } else {
    host.why_not = "no cgroup controllers are mounted";
  }
  return host;
}

}  // namespace

std::vector<CgroupHost::Joined> CgroupHost::joined(bool quota) const {
  std::vector<Joined> out;
  for (const auto& c : v1) {
    if (c.name == "freezer" || (c.name == "cpu" && !quota)) continue;
    auto same = std::find_if(out.begin(), out.end(), [&](const Joined& j) { return j.folder == c.folder; });
    if (same == out.end()) out.push_back({c.folder, {c.name}});
    else same->controllers.push_back(c.name);
  }
  return out;
}

CgroupMounts read_cgroup_mounts(std::string_view mountinfo) {
  CgroupMounts out;
  for (auto line : split(mountinfo, '\n')) {
    auto dash = line.find(" - ");
    if (dash == std::string_view::npos) continue;
    auto right = split(line.substr(dash + 3), ' ');
    auto left = split(line.substr(0, dash), ' ');
    if (right.size() < 3 || left.size() < 5) continue;
    if (right[0] == "cgroup") add_v1(out.v1, right[2], unescape(left[4]));
    if (right[0] == "cgroup2" && out.v2.empty()) out.v2 = unescape(left[4]);
  }
  return out;
}

std::uint32_t& tasks_beside() {
  static std::uint32_t count = 0;
  return count;
}

Result<Host> Host::look() {
  Host host;
  host.tasks_beside = hotcell::tasks_beside();
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
  if (auto most = sys::read_file("/proc/sys/fs/inotify/max_user_instances"))
    host.inotify_instances = parse_u64(trim(most.value())).value_or(host.inotify_instances);
  if (auto most = sys::read_file("/proc/sys/fs/inotify/max_user_watches"))
    host.inotify_watches = parse_u64(trim(most.value())).value_or(host.inotify_watches);
  auto core = sys::read_file("/proc/sys/kernel/core_pattern");
  host.core_pipe = !core.ok() || core.value().starts_with('|');  // a limit of 1 stops files, too
  host.cgroup = look_at_cgroups();
  host.lsm = look_at_lsms();
  return host;
}

}  // namespace hotcell
