// Order, and why. The same for every cell of a policy, done once where there is a template:
//   1. every source is opened (open_tree) while the host's tree is still whole;
//   2. a small tmpfs is the stage: `root`, which becomes the cell's /, beside what masks are made of. Folders, /etc and
//      system binds go into `root`, which then turns read-only. A template makes it its own root there and then.
// For each cell:
//   3. /proc is mounted and masked, in this order, since a masked /proc could not be mounted afresh;
//   4. one tmpfs holds /work, /tmp and /dev/shm, so `disk` is one ceiling for all; grants are attached;
//   5. a cell made in one go pivots: what is not under `root` is gone. A stamped one is in there already, and must take
//      nothing down: every unmount waits for an RCU grace period, 0.1 to 0.8 ms. What it covers is its template's /proc
//      (of a pid namespace without processes: some unmasked /proc must be there for the kernel to allow another) and
//      the top of its own tmpfs, in a mount namespace over which it has no rights.
#include "core/kernel/rootfs.h"

#include <limits.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <unistd.h>

#include <optional>
#include <set>

#include "base/strings.h"
#include "core/kernel/etc_settings.h"
#include "core/kernel/kvm_device.h"
#include "core/policy/proxy_env.h"
#include "sys/file.h"
#include "sys/uapi/mount.h"

namespace hotcell {
namespace {

using uapi::kAttrNoDev;
using uapi::kAttrNoExec;
using uapi::kAttrNoSuid;
using uapi::kAttrReadOnly;

constexpr std::string_view kDenyFile = "work/deny", kDenyFolder = "work/deny.d";

// World-readable entries that tell of the host, and those that are only ever a way out. What is left needs no mask:
// it is per process, per namespace, or unreadable without capabilities over the host.
constexpr std::string_view kProcFiles[] = {"kcore", "keys", "key-users", "kmsg", "kallsyms", "timer_list", "sysrq-trigger",
                                           "config.gz", "cmdline", "locks", "modules", "sched_debug", "latency_stats", "iomem",
                                           "interrupts", "sys/kernel/random/boot_id"};
constexpr std::string_view kProcFolders[] = {"acpi", "asound", "bus", "driver", "fs", "irq", "scsi", "pressure"};
constexpr std::string_view kDevices[] = {"null", "zero", "full", "random", "urandom"};

bool exists(const std::string& path, struct stat& st) { return ::lstat(path.c_str(), &st) == 0; }

class RootPlanner {
 public:
  RootPlanner(const Policy& policy, const Host& host, const Grants& grants, PlanBuilder& plan)
      : policy_(policy), host_(host), grants_(grants), plan_(plan) {}

  void stage() {
    plan_.add({.kind = OpKind::kPrivateMounts, .layer = Layer::kMountNs}, "no mount of the cell reaches the host, none of the host's the cell");
    open_system();
    open_etc();
    open_devices();
    open_grants();
    open_layers();
    make_stage();
    make_folders();
    make_etc();
    make_dev();
    for (const auto& b : binds_)
      if (!b.grant) attach(b);
    if (kvm_)
      plan_.add({.kind = OpKind::kBind, .path = "dev/kvm", .data = "../device/kvm", .a = kAttrReadOnly | kAttrNoSuid | kAttrNoExec}, "/dev/kvm, a node of the cell's own");
    plan_.add({.kind = OpKind::kHoldProc, .layer = Layer::kUserNs, .flags = kOnlyTemplate}, "the host's /proc, through which id maps are written");
    plan_.add({.kind = OpKind::kMountIdleProc, .path = "proc", .flags = kOnlyTemplate}, "/proc without processes, so that cells may mount their own");
    plan_.add({.kind = OpKind::kReadOnly, .path = "."}, "/ read-only");
    plan_.add({.kind = OpKind::kPivotRoot, .path = ".", .flags = kOnlyTemplate}, "the new root; the host's tree is gone");
  }

  void cell(const std::function<void()>& at_end) {
    plan_.add({.kind = OpKind::kMountProc, .layer = Layer::kPidNs, .path = "proc"}, "/proc of this pid namespace only, read-only");
    proc_masks();
    plan_.add({.kind = OpKind::kMountDevpts, .path = "dev/pts"}, "/dev/pts, own instance");
    make_scratch("../scratch", kOnlyDirect);
    make_scratch("work", kOnlyStamped);
    mount_layers();
    for (const auto& b : binds_)
      if (b.grant) attach(b);
    grant_masks();
    plan_.add({.kind = OpKind::kPivotRoot, .path = ".", .flags = kOnlyDirect}, "the new root; the host's tree is gone");
    at_end();
    plan_.add({.kind = OpKind::kOwnUser, .layer = Layer::kUserNs, .flags = kOnlyStamped}, "own user namespace, one id");
    plan_.add({.kind = OpKind::kDeathSignal, .layer = Layer::kPidNs, .flags = kOnlyStamped}, "dies with the launcher");
  }

 private:
  struct Bind {
    unsigned slot;
    std::string target;  // relative to the new root
    bool grant = false;  // attached after the scratch folders, it may lie inside one
    std::string note = {};
  };

  void open_bind(const std::string& source, std::string target, std::uint64_t attributes, const struct stat& st) {
    unsigned slot = plan_.new_slot();
    plan_.add({.kind = OpKind::kOpenTree, .slot = slot, .path = source, .flags = kRecursive, .a = st.st_dev, .b = st.st_ino}, source);
    plan_.add({.kind = OpKind::kMountAttr, .slot = slot, .flags = kRecursive, .a = attributes},
              cat(source, (attributes & kAttrReadOnly) ? " read-only" : " writable", ", nosuid", (attributes & kAttrNoDev) ? ", nodev" : ""));
    binds_.push_back({slot, std::move(target)});
  }

  void open_system() {
    struct stat st;
    if (exists("/usr", st)) {
      mountpoints_.push_back({"usr", true});
      open_bind("/usr", "usr", kAttrReadOnly | kAttrNoSuid | kAttrNoDev, st);
    }
    for (std::string_view name : {"bin", "sbin", "lib", "lib32", "lib64", "libx32"}) {
      std::string path = cat("/", name);
      if (!exists(path, st)) continue;
      if (S_ISLNK(st.st_mode)) {
        if (auto target = sys::read_link(path.c_str())) links_.push_back({std::string(name), target.value()});
      } else if (S_ISDIR(st.st_mode)) {
        mountpoints_.push_back({std::string(name), true});
        open_bind(path, std::string(name), kAttrReadOnly | kAttrNoSuid | kAttrNoDev, st);
      }
    }
  }

  void open_etc() {
    for (const auto& setting : etc_settings()) {
      std::string inside = setting.path.substr(1);
      if (!setting.leads_to.empty()) {
        links_.push_back({std::move(inside), setting.leads_to});
      } else {
        mountpoints_.push_back({inside, S_ISDIR(setting.st.st_mode)});
        open_bind(setting.path, inside, kAttrReadOnly | kAttrNoSuid | kAttrNoDev | kAttrNoExec, setting.st);
      }
    }
  }

  void open_devices() {
    for (auto name : kDevices) {
      struct stat st;
      std::string path = cat("/dev/", name);
      // A regular file called /dev/null would be a writable hole in every cell: only the real device will do, and if
      // it is not there the plan fails when it is opened.
      if (!exists(path, st) || !S_ISCHR(st.st_mode)) st = {};
      unsigned slot = plan_.new_slot();
      plan_.add({.kind = OpKind::kOpenTree, .slot = slot, .path = path, .a = st.st_dev ? st.st_dev : 1, .b = st.st_ino}, path);
      // Read-only is the node, not the device: its mode and times are the host's.
      plan_.add({.kind = OpKind::kMountAttr, .slot = slot, .a = kAttrReadOnly | kAttrNoSuid | kAttrNoExec, .b = kAttrNoDev}, cat(path, ", this one device"));
      binds_.push_back({slot, cat("dev/", name)});
      mountpoints_.push_back({cat("dev/", name), false});
    }
    if (host_.kvm_device) open_kvm();
  }

  // A large interface of the host's kernel, and no program's: the cell that has it runs QEMU, and what the guest breaks out of
  // is that.
  void open_kvm() {
    mountpoints_.push_back({"dev/kvm", false});
    // As root the cell's user is nobody on the host and could not open the host's node. It gets one of its own (idmap.cc), and the
    // host's keeps its mode and owner.
    if (host_.privileged) {
      kvm_ = plan_.inherit({Inherited::Kind::kDevice});
      return;
    }
    struct stat st;
    if (!exists(kKvmDevice, st) || !is_kvm(st)) st = {};
    unsigned slot = plan_.new_slot();
    plan_.add({.kind = OpKind::kOpenTree, .slot = slot, .path = kKvmDevice, .a = st.st_dev ? st.st_dev : 1, .b = st.st_ino}, kKvmDevice);
    plan_.add({.kind = OpKind::kMountAttr, .slot = slot, .a = kAttrReadOnly | kAttrNoSuid | kAttrNoExec, .b = kAttrNoDev}, cat(kKvmDevice, ", this one device"));
    binds_.push_back({slot, "dev/kvm"});
  }

  void open_grants() {
    for (std::size_t i = 0; i < grants_.grants.size(); ++i) {
      const auto& g = grants_.grants[i];
      std::uint64_t attributes = kAttrNoSuid | kAttrNoDev | (g.access == Access::kRead ? kAttrReadOnly : 0);
      std::string target = g.shown.substr(1);
      unsigned slot;
      std::string how = cat(g.shown, g.access == Access::kRead ? " read-only" : " writable", g.origin.empty() ? "" : cat(" (", g.origin, ")"));
      if (host_.privileged) {
        // Only the launcher may open what the caller alone can read, and map the caller's files to the cell's user.
        slot = plan_.inherit({Inherited::Kind::kGrant, static_cast<unsigned>(i)});
      } else {
        slot = plan_.new_slot();
        plan_.add({.kind = OpKind::kOpenTree, .slot = slot, .path = g.canonical, .flags = kRecursive, .a = g.dev, .b = g.ino}, g.canonical);
        plan_.add({.kind = OpKind::kMountAttr, .slot = slot, .flags = kRecursive, .a = attributes}, how);
      }
      binds_.push_back({slot, target, true, how});
      if (!covered(g.shown, i)) mountpoints_.push_back({target, g.directory});
    }
  }

  // A workspace that lasts: the project below, what is changed in a folder of ours. Submounts of the project stay out.
  void open_layers() {
    if (!policy_.lasting) return;
    const auto& l = *policy_.lasting;
    for (unsigned i = 0; i < 2; ++i) {
      std::string path = i == 1 ? l.folder : l.project.empty() ? cat(l.folder, "/empty") : l.project;
      if (host_.privileged) {
        layers_[i] = plan_.inherit({Inherited::Kind::kLayer, i});
        continue;
      }
      struct stat st;
      if (!exists(path, st)) st = {};
      layers_[i] = plan_.new_slot();
      plan_.add({.kind = OpKind::kOpenTree, .layer = Layer::kDisk, .slot = layers_[i], .path = path, .a = st.st_dev ? st.st_dev : 1, .b = st.st_ino}, path);
    }
  }

  void mount_layers() {
    if (!policy_.lasting) return;
    // userxattr: what is mounted in a user namespace cannot have trusted attributes. The rest is off so that what is in
    // `upper` means the same to whoever reads it without overlayfs: no renamed folder, no file without its content.
    constexpr std::string_view kOptions = "lowerdir=../lower,upperdir=../changes/upper,workdir=../changes/work,userxattr,"
                                          "redirect_dir=nofollow,metacopy=off,index=off,xino=off";
    std::uint64_t flags = MS_NOSUID | MS_NODEV | (policy_.filesystem.writable_scratch ? 0 : MS_RDONLY);
    plan_.add({.kind = OpKind::kOverlay, .layer = Layer::kDisk, .slot = layers_[0], .path = "work", .data = kOptions, .a = flags, .b = layers_[1]},
              cat("/work shows ", policy_.lasting->project.empty() ? "what was written before" : policy_.lasting->project, "; what is changed goes to ",
                  policy_.lasting->folder));
  }

  // Inside another bind the mount point is there already (it is the same tree), and could not be made.
  bool covered(const std::string& path, std::size_t index) const {
    for (std::string_view system : {"/usr", "/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32"})
      if (is_inside(path, system)) return true;
    for (std::size_t i = 0; i < grants_.grants.size(); ++i)
      if (i != index && grants_.grants[i].directory && path != grants_.grants[i].shown && is_inside(path, grants_.grants[i].shown)) return true;
    return false;
  }

  void make_stage() {
    struct stat st;
    const char* at = exists("/tmp", st) && S_ISDIR(st.st_mode) ? "/tmp" : "/usr";
    plan_.add({.kind = OpKind::kStage, .path = at, .data = "mode=755,size=4M,nr_inodes=4096"}, "a private tmpfs to build on");
    auto folder = [&](std::string_view name, unsigned mode) {
      plan_.add({.kind = OpKind::kMkdir, .path = name, .a = mode}, cat("stage: ", name));
    };
    folder("root", 0755);
    folder("scratch", 0755);
    if (policy_.lasting) {
      folder("lower", 0755);
      folder("changes", 0755);
    }
    if (kvm_) {
      folder("device", 0755);
      plan_.add({.kind = OpKind::kMoveMount, .slot = *kvm_, .path = "device"}, "stage: a node of /dev/kvm");
    }
    plan_.add({.kind = OpKind::kBind, .path = "root", .a = kAttrNoSuid | kAttrNoDev}, "the cell's /");
    plan_.add({.kind = OpKind::kChdir, .path = "root"}, "");
  }

  // Where a path of the cell is while it is being built: seen from `root`.
  static std::string staged(std::string_view path) {
    for (auto [folder, at] : {std::pair{"work", "../scratch/work"}, std::pair{"tmp", "../scratch/tmp"}, std::pair{"dev/shm", "../scratch/shm"}}) {
      std::string_view name = folder;
      if (path.starts_with(name) && path.size() > name.size() && path[name.size()] == '/') return cat(at, path.substr(name.size()));
    }
    return std::string(path);
  }
  static bool in_scratch(const std::string& path) { return staged(path).starts_with("../"); }

  void mkdir(const std::string& path, unsigned mode) {
    if (!made_.insert(path).second) return;
    plan_.add({.kind = OpKind::kMkdir, .path = staged(path), .a = mode}, cat("/", path));
  }
  void mkdir_parents(const std::string& path) {
    for (auto at = path.find('/'); at != std::string::npos; at = path.find('/', at + 1)) mkdir(path.substr(0, at), 0755);
  }
  void mkfile(std::string_view path, std::string_view content, unsigned mode = 0644, std::uint32_t flags = 0) {
    plan_.add({.kind = OpKind::kMkfile, .path = staged(path), .data = content, .flags = flags, .a = mode}, cat("/", path));
  }
  void make_mountpoints(bool scratch) {
    for (const auto& [path, directory] : mountpoints_) {
      if (in_scratch(path) != scratch) continue;
      mkdir_parents(path);
      if (directory) mkdir(path, 0755);
      else if (made_.insert(path).second) mkfile(path, "", 0444);
    }
  }

  void make_folders() {
    mkdir("dev", 0755);
    mkdir("dev/pts", 0755);
    mkdir("dev/shm", 0755);
    mkdir("etc", 0755);
    mkdir("proc", 0555);
    mkdir("tmp", 0755);
    mkdir("work", 0755);
    mkdir("run", 0755);
    mkdir("var", 0755);
    if (policy_.network.mode == NetworkMode::kProxy) {
      mkdir("run/hotcell", 0755);
      mkfile(kNodeProxyFile, node_proxy(), 0444);
    }
    if (policy_.lasting) {
      mkdir("run/hotcell", 0755);
      // A program of ours cannot be read in there: the kernel closes what runs it from its first instruction on, before it could do so
      // itself. Whoever wins that race would have its descriptors.
      for (const auto& [name, bytes] : policy_.lasting->files) mkfile(cat("run/hotcell/", name), bytes, bytes.starts_with("\x7f" "ELF") ? 0111 : 0444);
    }
    make_mountpoints(false);
    // What a masked name shows: mode 000 on a read-only mount can be neither opened nor changed without capabilities.
    // In /work, where the cell's own folder covers it.
    plan_.add({.kind = OpKind::kMkfile, .path = kDenyFile}, "what a masked file shows");
    plan_.add({.kind = OpKind::kMkdir, .path = kDenyFolder}, "what a masked folder shows");
    for (auto name : {kDenyFile, kDenyFolder})
      plan_.add({.kind = OpKind::kBind, .path = name, .a = kAttrReadOnly | kAttrNoSuid | kAttrNoExec}, "read-only");
    for (const auto& [name, target] : links_) {
      mkdir_parents(name);
      plan_.add({.kind = OpKind::kSymlink, .path = staged(name), .data = target}, cat("/", name, " -> ", target));
    }
    links_.clear();
    plan_.add({.kind = OpKind::kSymlink, .path = "var/tmp", .data = "/tmp", .flags = kOptional}, "/var/tmp -> /tmp, unless granted");
  }

  void make_etc() {
    std::string user = cat("cell:x:", policy_.uid, ":", policy_.gid, ":cell:/work:/bin/sh\n");
    // 65534 is what every foreign owner looks like from inside.
    std::string nobody = policy_.uid == 65534 ? "" : "nobody:x:65534:65534:nobody:/:/usr/sbin/nologin\n";
    mkfile("etc/passwd", cat("root:x:0:0:root:/:/usr/sbin/nologin\n", user, nobody));
    mkfile("etc/group", cat("root:x:0:\ncell:x:", policy_.gid, ":\n", policy_.gid == 65534 ? "" : "nogroup:x:65534:\n"));
    mkfile("etc/hosts", "127.0.0.1 localhost cell\n::1 localhost ip6-localhost ip6-loopback\n");
    mkfile("etc/hostname", "cell\n", 0644, kOptional);  // a grant may have made the mount point already
    mkfile("etc/nsswitch.conf", "passwd: files\ngroup: files\nshadow: files\nhosts: files dns\nnetworks: files\nprotocols: files\nservices: files\n");
    std::string resolv;
    if (policy_.network.mode == NetworkMode::kHost)
      if (auto text = sys::read_file("/etc/resolv.conf")) resolv = text.value();
    if (policy_.network.mode == NetworkMode::kProxy) resolv = "nameserver 127.0.0.1\n";
    mkfile("etc/resolv.conf", resolv);
  }

  // Only a mount point itself cannot be renamed; the folders above it inside a writable grant could, and the denied or
  // read-only name be made anew. Each becomes a mount point too.
  void pin_parents(const std::string& path) {
    const ResolvedGrant* outer = nullptr;
    for (const auto& g : grants_.grants)
      if (g.access == Access::kWrite && g.shown != path && is_inside(path, g.shown) && outer == nullptr) outer = &g;
    if (outer == nullptr) return;
    for (auto at = path.find('/', outer->shown.size() + 1); at != std::string::npos; at = path.find('/', at + 1)) {
      std::string folder = path.substr(1, at - 1);
      bool granted = false;
      for (const auto& g : grants_.grants) granted = granted || g.shown == path.substr(0, at);
      if (!granted && pinned_.insert(folder).second) plan_.add({.kind = OpKind::kBind, .path = folder}, cat("/", folder, " cannot be moved away"));
    }
  }

  void attach(const Bind& b) {
    if (b.grant) pin_parents(cat("/", b.target));
    plan_.add({.kind = OpKind::kMoveMount, .slot = b.slot, .path = b.target}, b.note.empty() ? cat("/", b.target) : b.note);
  }

  void make_dev() {
    for (auto [name, target] : {std::pair{"dev/ptmx", "pts/ptmx"}, std::pair{"dev/fd", "/proc/self/fd"}, std::pair{"dev/stdin", "/proc/self/fd/0"},
                                std::pair{"dev/stdout", "/proc/self/fd/1"}, std::pair{"dev/stderr", "/proc/self/fd/2"}})
      plan_.add({.kind = OpKind::kSymlink, .path = name, .data = target}, cat("/", name));
  }

  // `top`: where the tmpfs itself is mounted. A stamped cell has it under /work, and covers it with its folder `work`.
  void make_scratch(const char* top, std::uint32_t role) {
    // Inodes cost kernel memory, so they are bounded too.
    std::string size = cat("mode=755,size=", policy_.limits.disk.n, ",nr_inodes=", policy_.limits.disk.n / 2048 + 1024);
    plan_.add({.kind = OpKind::kMountTmpfs, .layer = Layer::kDisk, .path = top, .data = size, .flags = role},
              cat(policy_.limits.disk.n >> 10, " KiB for everything written"));
    struct Folder {
      const char *name, *target;
      unsigned mode;
    };
    constexpr Folder kFolders[] = {{"/shm", "dev/shm", 01777}, {"/tmp", "tmp", 01777}, {"/work", "work", 0755}};
    for (const auto& f : kFolders)
      plan_.add({.kind = OpKind::kMkdir, .layer = Layer::kDisk, .path = cat(top, f.name), .flags = role, .a = f.mode}, cat("/", f.target));
    if (role == kOnlyDirect) make_mountpoints(true);
    // Before the bind, which strict makes read-only for the cell.
    plan_.add({.kind = OpKind::kHoldFolder, .slot = kWorkSlot, .path = cat(top, "/work"), .flags = role}, "the workspace, held for the launcher's files");
    std::uint64_t attributes = kAttrNoSuid | kAttrNoDev | (policy_.filesystem.writable_scratch ? 0 : kAttrReadOnly);
    std::uint32_t how = role | (policy_.filesystem.writable_scratch ? kPlainBind : 0);
    for (const auto& f : kFolders)
      plan_.add({.kind = OpKind::kBind, .layer = Layer::kDisk, .path = f.target, .data = cat(top, f.name), .flags = how, .a = attributes},
                cat("/", f.target, policy_.filesystem.writable_scratch ? " writable, private" : " read-only"));
  }

  void mask(const std::string& path, std::string_view with, std::uint32_t flags, std::string note) {
    plan_.add({.kind = OpKind::kMask, .path = path, .data = with, .flags = flags}, std::move(note));
  }

  void proc_masks() {
    // What only root may open needs no mask where the cell can be nobody's root: 15 us saved for each.
    auto open_to_all = [&](const struct stat& entry) { return (entry.st_mode & 0007) != 0 || (host_.uid == 0 && !host_.privileged); };
    struct stat st;
    for (auto name : kProcFiles)
      if (exists(cat("/proc/", name), st) && open_to_all(st)) mask(cat("proc/", name), kDenyFile, kOptional, cat("/proc/", name, " masked"));
    for (auto name : kProcFolders)
      if (exists(cat("/proc/", name), st)) mask(cat("proc/", name), kDenyFolder, kOptional, cat("/proc/", name, " masked"));
  }

  void grant_masks() {
    if (grants_.masks.empty()) return;
    // /work is covered by now; on the stage beside the cell's root there is room for one more of each.
    constexpr std::string_view kFile = "../deny", kFolder = "../deny.d";
    plan_.add({.kind = OpKind::kMkfile, .path = kFile}, "what a denied file shows");
    plan_.add({.kind = OpKind::kMkdir, .path = kFolder}, "what a denied folder shows");
    for (const auto& m : grants_.masks) pin_parents(m.shown);
    for (const auto& m : grants_.masks)
      mask(m.shown.substr(1), m.directory ? kFolder : kFile, 0, cat(m.shown, " denied", m.origin.empty() ? "" : cat(" (", m.origin, ")")));
  }

  const Policy& policy_;
  const Host& host_;
  const Grants& grants_;
  PlanBuilder& plan_;
  std::vector<Bind> binds_;
  std::optional<unsigned> kvm_;  // slot of a small tmpfs with the node, as root
  unsigned layers_[2] = {0, 0};  // slots of the project and of the folder with the changes
  std::vector<std::pair<std::string, bool>> mountpoints_;
  std::vector<std::pair<std::string, std::string>> links_;
  std::set<std::string> made_, pinned_;
};

}  // namespace

void plan_native_root(const Policy& policy, const Host& host, const Grants& grants, PlanBuilder& plan, const std::function<void()>& between,
                      const std::function<void()>& at_end) {
  RootPlanner planner(policy, host, grants, plan);
  planner.stage();
  between();
  planner.cell(at_end);
}

}  // namespace hotcell
