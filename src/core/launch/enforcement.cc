#include "core/launch/enforcement.h"

#include <fcntl.h>
#include <sys/resource.h>
#include <sys/statvfs.h>
#include <sys/vfs.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <map>
#include <optional>

#include "base/strings.h"
#include "core/kernel/landlock.h"
#include "sys/file.h"
#include "sys/uapi/landlock.h"

namespace hotcell {
namespace {

struct Reader {
  int pid;
  sys::Fd dir;

  // Looked at once: a launcher stays where it is. Where sharing is what was asked for, we look again (`fresh`).
  static std::string own(const char* path, bool fresh) {
    static std::map<std::string, std::string> known;
    auto it = known.find(path);
    if (it != known.end() && !fresh) return it->second;
    auto link = sys::read_link(cat("/proc/self/", path).c_str());
    return known[path] = link.ok() ? link.value() : std::string();
  }

  // 1: another namespace than ours, 0: the same, -1: cannot be told.
  int differs(const char* name, bool fresh) const {
    char path[32] = "ns/";
    std::size_t n = 3;
    for (const char* c = name; *c && n < sizeof path - 1; ++c) path[n++] = *c;
    path[n] = 0;
    char theirs[64];
    ssize_t size = ::readlinkat(dir.get(), path, theirs, sizeof theirs);
    std::string ours = own(path, fresh);
    if (size <= 0 || ours.empty()) return -1;
    return std::string_view(theirs, static_cast<std::size_t>(size)) != ours ? 1 : 0;
  }
};

struct ProcStatus {
  std::string text;
  std::string_view field(std::string_view key) const {
    auto at = std::string_view(text).find(key);
    if (at == std::string::npos) return {};
    auto line = std::string_view(text).substr(at + key.size());
    return trim(line.substr(0, line.find('\n')));
  }
  bool all_zero(std::string_view key) const {
    auto v = field(key);
    return !v.empty() && v.find_first_not_of('0') == std::string_view::npos;
  }
};

class ReadBack {
 public:
  ReadBack(int pid, const Plan& plan, const Host& host, const Cgroup* cgroup) : plan_(plan), host_(host), cgroup_(cgroup) {
    reader_.pid = pid;
    reader_.dir = sys::Fd(::open(cat("/proc/", pid).c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
    if (auto fd = sys::open_at(reader_.dir.get(), "status", O_RDONLY))
      if (auto text = sys::read_fd(fd.value().get())) status_.text = std::move(text).value();
  }

  Enforcement run() {
    out_.backend = plan_.backend == BackendKind::kNative ? "native" : plan_.backend == BackendKind::kLandlock ? "landlock" : "outer";
    for (auto [layer, name] : {std::pair{Layer::kUserNs, "user"}, std::pair{Layer::kPidNs, "pid"}, std::pair{Layer::kMountNs, "mnt"},
                               std::pair{Layer::kNetNs, "net"}, std::pair{Layer::kIpcNs, "ipc"}, std::pair{Layer::kUtsNs, "uts"},
                               std::pair{Layer::kCgroupNs, "cgroup"}})
      name_space(layer, name);
    rootfs();
    landlock();
    seccomp();
    privileges();
    limits();
    groups();
    lsm();
    return std::move(out_);
  }

 private:
  void add(Layer layer, LayerStatus status, std::string detail) { out_.layers.push_back({layer, status, std::move(detail)}); }
  bool flat() const { return plan_.backend != BackendKind::kNative; }

  void name_space(Layer layer, const char* name) {
    int differs = reader_.differs(name, layer == Layer::kNetNs && plan_.policy.network.mode == NetworkMode::kHost);
    if (differs == 1) return add(layer, LayerStatus::kFull, "its own");
    // Without namespaces of its own there is nothing to claim, whether it can be read or not.
    if (differs < 0 && !flat()) return add(layer, LayerStatus::kNone, "could not be read back");
    if (layer == Layer::kNetNs && !flat()) return add(layer, LayerStatus::kPartial, "shares the host's network; Landlock denies binding to a chosen TCP port");
    if (layer == Layer::kNetNs)
      return add(layer, LayerStatus::kPartial, "no namespace; internet sockets are refused by seccomp, TCP by Landlock");
    add(layer, LayerStatus::kNone, "shared with the host");
  }

  void rootfs() {
    struct stat theirs, ours;
    if (::fstatat(reader_.dir.get(), "root", &theirs, 0) < 0 || ::stat("/", &ours) < 0)
      return add(Layer::kRootfs, LayerStatus::kNone, "could not be read back");
    if (theirs.st_dev == ours.st_dev && theirs.st_ino == ours.st_ino)
      return add(Layer::kRootfs, LayerStatus::kNone, "the host's own tree; only Landlock limits it");
    struct statfs fs;
    if (::statfs(cat("/proc/", reader_.pid, "/root").c_str(), &fs) < 0)
      return add(Layer::kRootfs, LayerStatus::kPartial, "private root; whether it is read-only could not be read back");
    bool read_only = (fs.f_flags & ST_RDONLY) != 0;
    add(Layer::kRootfs, read_only ? LayerStatus::kFull : LayerStatus::kPartial, read_only ? "private root, read-only" : "private root, but writable");
  }

  void landlock() {
    // The kernel shows no Landlock domain in /proc. The child reports ready only after restrict_self returned 0.
    int abi = host_.landlock_abi;
    auto say = [&](Layer layer, bool applied) {
      if (abi == 0) return add(layer, LayerStatus::kNone, "this kernel has no Landlock");
      if (!applied) return add(layer, LayerStatus::kNone, "none (observe)");
      std::string missing = landlock_missing(abi);
      if (missing.empty()) return add(layer, LayerStatus::kFull, cat("ABI ", abi));
      add(layer, LayerStatus::kPartial, cat("ABI ", abi, ": without ", missing));
    };
    say(Layer::kLandlockBroad, plan_.landlock_broad);
    say(Layer::kLandlock, plan_.landlock_tight);
  }

  void seccomp() {
    if (!plan_.seccomp) return add(Layer::kSeccomp, LayerStatus::kNone, "none (observe)");
    if (status_.field("\nSeccomp:") != "2") return add(Layer::kSeccomp, LayerStatus::kNone, "no filter was read back");
    add(Layer::kSeccomp, LayerStatus::kFull, cat("allowlist ", plan_.policy.syscalls.base, ", ", status_.field("\nSeccomp_filters:"), " filter"));
  }

  void privileges() {
    bool none = true;
    for (auto key : {"\nCapInh:", "\nCapPrm:", "\nCapEff:", "\nCapBnd:", "\nCapAmb:"}) none = none && status_.all_zero(key);
    bool held = status_.all_zero("\nCapPrm:") && status_.all_zero("\nCapEff:") && status_.all_zero("\nCapAmb:");
    add(Layer::kCapabilities, none ? LayerStatus::kFull : held ? LayerStatus::kPartial : LayerStatus::kNone,
        none ? "every set is empty" : held ? "none held; the bounding set is not empty, no_new_privs keeps it unusable" : "capabilities remain");
    bool nnp = status_.field("\nNoNewPrivs:") == "1";
    add(Layer::kNoNewPrivs, nnp ? LayerStatus::kFull : LayerStatus::kNone, nnp ? "set" : "not set");
  }

  // "/hotcell/<name>": how the path of the very group that was made for this cell ends, in every hierarchy.
  std::string own_group() const {
    return cgroup_ == nullptr ? std::string() : cat("/hotcell/", cgroup_->name());
  }

  // Which controllers hold the program's process in that group. Lines are `number:controllers:path`; v2 is `0::path`.
  bool held_by(std::string_view controller) const {
    for (auto line : split(groups_, '\n')) {
      auto first = line.find(':'), second = line.find(':', first + 1);
      if (first == std::string_view::npos || second == std::string_view::npos) continue;
      auto names = split(line.substr(first + 1, second - first - 1), ',');
      bool meant = host_.cgroup.version == CgroupVersion::kV2 ? line.starts_with("0::")
                                                              : std::find(names.begin(), names.end(), controller) != names.end();
      if (meant) return !group_.empty() && line.substr(second + 1).ends_with(group_);
    }
    return false;
  }

  // Another user's limits take CAP_SYS_RESOURCE to ask for, but not to read in /proc.
  std::optional<std::uint64_t> open_files() const {
    rlimit64 files{};
    if (::syscall(SYS_prlimit64, reader_.pid, RLIMIT_NOFILE, nullptr, &files) == 0) return files.rlim_max;
    auto fd = sys::open_at(reader_.dir.get(), "limits", O_RDONLY);
    if (!fd) return std::nullopt;
    auto text = sys::read_fd(fd.value().get());
    constexpr std::string_view kLine = "Max open files";
    auto at = text.ok() ? text.value().find(kLine) : std::string::npos;
    if (at == std::string::npos) return std::nullopt;
    std::string_view line = std::string_view(text.value()).substr(at + kLine.size());
    line = trim(line.substr(0, line.find('\n')));
    line = trim(line.substr(std::min(line.find(' '), line.size())));  // the soft limit comes first
    return parse_u64(line.substr(0, line.find(' ')));
  }

  void limits() {
    auto files = open_files();
    bool set = files && *files <= plan_.policy.limits.open_files;
    add(Layer::kRlimits, set ? LayerStatus::kFull : LayerStatus::kNone, set ? "read back" : "could not be read back");
    const CgroupHost& c = host_.cgroup;
    group_ = own_group();
    if (cgroup_ != nullptr)
      if (auto fd = sys::open_at(reader_.dir.get(), "cgroup", O_RDONLY))
        if (auto text = sys::read_fd(fd.value().get())) groups_ = std::move(text).value();
    std::string why = c.why_not.empty() ? "no cgroup" : c.why_not;
    if (c.memory && held_by("memory")) add(Layer::kMemory, LayerStatus::kFull, cat("cgroup ", c.version == CgroupVersion::kV1 ? "v1" : "v2", ", the whole cell"));
    else add(Layer::kMemory, LayerStatus::kPartial, cat("RLIMIT_DATA per process, total sampled (", why, ")"));
    bool quota = plan_.policy.limits.cpus > 0;
    if (c.cpuacct && held_by("cpuacct") && quota && !(c.cpu && held_by("cpu"))) add(Layer::kCpu, LayerStatus::kPartial, "cgroup total; no quota");
    else if (c.cpuacct && held_by("cpuacct")) add(Layer::kCpu, LayerStatus::kFull, quota ? "cgroup total and quota" : "cgroup total");
    else add(Layer::kCpu, LayerStatus::kPartial, cat("RLIMIT_CPU per process, total sampled", quota ? "; no quota" : "", " (", why, ")"));
    if (c.pids && held_by("pids")) add(Layer::kProcesses, LayerStatus::kFull, "cgroup pids");
    else if (!flat()) add(Layer::kProcesses, LayerStatus::kFull, "RLIMIT_NPROC of the cell's own user namespace");
    else add(Layer::kProcesses, LayerStatus::kPartial, host_.tasks_beside == 0 ? "RLIMIT_NPROC counts all processes of this user" : cat("RLIMIT_NPROC counts all processes of this user; ", host_.tasks_beside, " are left to others"));
    bool writes = false;
    for (const auto& g : plan_.grants.grants) writes = writes || g.access == Access::kWrite;
    if (flat()) add(Layer::kDisk, LayerStatus::kPartial, "each file by RLIMIT_FSIZE; the workspace as a whole is not limited");
    else if (plan_.policy.lasting) lasting_disk(writes);
    else add(Layer::kDisk, writes ? LayerStatus::kPartial : LayerStatus::kFull,
             writes ? "private folders by tmpfs size; writable grants are not counted" : "tmpfs size");
  }

  // The file system below a workspace that lasts shows through: it is the cell's own when it is no larger than the limit.
  void lasting_disk(bool writes) {
    struct statfs fs {};
    bool own = ::statfs(cat("/proc/", reader_.pid, "/root/work").c_str(), &fs) == 0 &&
               fs.f_blocks * static_cast<std::uint64_t>(fs.f_bsize) <= plan_.policy.limits.disk.n;
    if (!own) return add(Layer::kDisk, LayerStatus::kPartial, "the workspace is sampled, each file by RLIMIT_FSIZE; /tmp by tmpfs size");
    add(Layer::kDisk, writes ? LayerStatus::kPartial : LayerStatus::kFull,
        writes ? "the workspace and /tmp by size; writable grants are not counted" : "the workspace is a file system of its own, of that size; /tmp by tmpfs size");
  }

  void lsm() {
    LsmChoice choice = choose_lsm(host_.lsm);
    if (!choice.transition) return add(Layer::kLsm, LayerStatus::kNone, std::move(choice.why_not));
    auto fd = sys::open_at(reader_.dir.get(), "attr/apparmor/exec", O_RDONLY);
    auto text = fd.ok() ? sys::read_fd(fd.value().get()) : Result<std::string>(std::move(fd).error());
    if (!text.ok()) return add(Layer::kLsm, LayerStatus::kNone, "could not be read back");
    switch (parse_lsm_exec(text.value())) {
      case LsmPending::kEnforce: return add(Layer::kLsm, LayerStatus::kFull, cat("AppArmor profile ", kLsmProfile, " from exec on"));
      case LsmPending::kComplain:
        return add(Layer::kLsm, LayerStatus::kPartial, cat("AppArmor profile ", kLsmProfile, " is in complain mode: it only logs"));
      case LsmPending::kNone: break;
    }
    add(Layer::kLsm, LayerStatus::kNone, cat("AppArmor is active and its profile ", kLsmProfile, " is not loaded (packaging/apparmor)"));
  }

  void groups() {
    auto listed = status_.field("\nGroups:");
    if (listed.empty()) return add(Layer::kGroups, LayerStatus::kFull, "no supplementary groups");
    if (!host_.extra_groups) return add(Layer::kGroups, LayerStatus::kFull, "only the user's own group");
    add(Layer::kGroups, LayerStatus::kPartial, cat("supplementary groups remain: ", listed));
  }

  const Plan& plan_;
  const Host& host_;
  const Cgroup* cgroup_;
  Reader reader_;
  ProcStatus status_;
  std::string group_, groups_;  // the end of the group's path; the process's groups as the kernel tells them
  Enforcement out_;
};

}  // namespace

Enforcement read_back(int pid, const Plan& plan, const Host& host, const Cgroup* cgroup) { return ReadBack(pid, plan, host, cgroup).run(); }

void note_lost_masks(const Grants& grants, Enforcement& enforcement) {
  const Mask* lost = lost_mask(grants);
  if (lost == nullptr) return;
  for (auto& layer : enforcement.layers)
    if (layer.layer == Layer::kRootfs && layer.status == LayerStatus::kFull)
      layer = {Layer::kRootfs, LayerStatus::kPartial,
               cat(printable(lost->shown), " was denied, and was replaced or removed by a process of the host while the cell ran")};
}

Result<void> check_required(const Policy& policy, const Enforcement& enforcement) {
  for (Layer layer : policy.required) {
    const LayerReport* r = enforcement.find(layer);
    if (r != nullptr && r->status == LayerStatus::kFull) continue;
    return make_error(ErrorCode::kUnsupported, cat("required layer ", to_string(layer), " is ", r ? to_string(r->status) : "none", " here: ",
                                                   r ? r->detail : "not applied"));
  }
  return {};
}

}  // namespace hotcell
