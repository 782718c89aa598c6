// Runtimes of the OCI specification: one generator of bundles for crun, runc, runsc (gVisor) and any other that is named in the
// settings. The root file system is made of the same folders a native cell sees, or of an image (oci_root.h). As root the program's ids are those of an otherwise unused user.
#include <unistd.h>

#include <algorithm>

#include "backends/oci_host.h"
#include "backends/oci_root.h"
#include "backends/tools.h"
#include "backends/view.h"
#include "base/json_write.h"
#include "base/strings.h"

namespace hotcell::backends {
namespace {

constexpr std::string_view kReadOnlyProc[] = {"/proc/bus", "/proc/fs", "/proc/irq", "/proc/sys", "/proc/sysrq-trigger"};

struct Flavour {
  std::string_view name, what, package;
  Overhead overhead;
  bool guest_kernel = false;
  bool mapped = true;  // knows user namespaces with maps of any id
};

void mount(JsonWriter& w, std::string_view target, std::string_view type, std::string_view source, std::initializer_list<std::string_view> options) {
  w.begin_object();
  w.field("destination", target);
  w.field("type", type);
  w.field("source", source);
  w.key("options");
  w.begin_array();
  for (auto o : options) w.value(o);
  w.end_array();
  w.end_object();
}

// The runtimes want a root inside while they set up. It is another unused id of the host.
void ids(JsonWriter& w, std::string_view key, std::uint32_t inside, const ToolRequest& r) {
  w.key(key);
  w.begin_array();
  for (auto [container, host] : {std::pair{0u, r.root_id}, std::pair{inside, r.id}}) {
    w.begin_object();
    w.field("containerID", container);
    w.field("hostID", host);
    w.field("size", 1);
    w.end_object();
  }
  w.end_array();
}

class Oci final : public Backend {
 public:
  explicit Oci(Flavour f) : f_(f) {}
  std::string_view name() const override { return f_.name; }
  std::string_view what() const override { return f_.what; }
  std::string_view package() const override { return f_.package; }
  Overhead overhead() const override { return f_.overhead; }
  bool needs_root() const override { return true; }
  bool guest_kernel() const override { return f_.guest_kernel; }
  bool parks() const override { return f_.guest_kernel; }
  // A runtime gives its standard streams to the container's user: to us that is a pipe, to whoever calls it from a script the
  // host's /dev/null, a log or a terminal.
  bool stands_alone() const override { return false; }
  std::vector<std::string> platforms() const override {
    // Not kvm: one more door to the host's kernel, and where it half works it hangs for ever.
    if (f_.guest_kernel) return {"systrap", "ptrace"};
    return {};
  }
  std::string installed(const Settings& settings) const override { return named() ? named_runtime(settings) : Backend::installed(settings); }
  Result<std::string> locate(const Settings& settings) const override {
    if (!named()) return Backend::locate(settings);
    std::string said = settings.get("oci.runtime");
    if (said.empty()) return make_error(ErrorCode::kUnsupported, "backend oci: no runtime was named (--backend-option oci.runtime=NAME, or a path from the root)");
    if (base_name(said).starts_with("runsc")) return make_error(ErrorCode::kUnsupported, "backend oci: gVisor is no runtime like the others: --backend runsc");
    if (std::string tool = named_runtime(settings); !tool.empty()) return tool;
    return make_error(ErrorCode::kUnsupported, cat("backend oci: the runtime ", printable(said), " is not there"));
  }

  std::vector<Held> judge(const Policy& p) const override {
    return {{"files", LayerStatus::kFull, "only what is shown is there"},
            {"deny", p.filesystem.deny.empty() ? LayerStatus::kFull : LayerStatus::kNone, "no masks for names that may not exist yet"},
            {"network", p.network.mode == NetworkMode::kNone || (p.network.mode == NetworkMode::kHost && !f_.guest_kernel) ? LayerStatus::kFull : LayerStatus::kNone,
             p.network.mode == NetworkMode::kNone ? "an empty network of its own" : "no door of ours in its network"},
            {"syscalls", LayerStatus::kFull, f_.guest_kernel ? "a kernel of its own answers, with our filter in it; denied calls are not recorded" : "our filter; denied calls are not recorded"},
            {"processes", LayerStatus::kPartial, "the ceiling is around the runtime and the program together"},
            held_memory(overhead(), p.limits, "the runtime"),
            {"cpu", LayerStatus::kFull, "of the whole tree"},
            {"disk", LayerStatus::kPartial, "/tmp and /dev/shm by their size, /work by samples"},
            {"identity", f_.mapped ? LayerStatus::kFull : LayerStatus::kPartial, f_.mapped ? "a user namespace with one id of the host" : "the uid of an unused user, without a namespace"}};
  }

  // The empty folders and links of the root, and where the program's id is always the same the made /etc and the seal.
  Result<std::vector<Piece>> shared(const ToolRequest& asked) const override {
    TRY_SET(auto shown, shown_of(asked));
    auto out = skeleton(shown, "rootfs");
    if (!f_.mapped) return out;
    TRY_SET(auto sealed, sealed_pieces(asked));
    for (auto& piece : sealed) out.push_back(std::move(piece));
    return out;
  }

  Result<ToolPlan> plan(const ToolRequest& asked) const override {
    ToolPlan out;
    ToolRequest r = asked;
    if (!f_.mapped) r.inside = r.id;
    if (r.base.empty()) {
      TRY_SET(out.pieces, shared(asked));
      for (auto& piece : out.pieces)
        if (piece.name.starts_with("rootfs/")) piece.name = cat("bundle/", piece.name);
    } else if (f_.mapped) {
      r.etc = r.base;
    }
    if (!f_.mapped) {
      TRY_SET(auto sealed, sealed_pieces(r));
      // gVisor opens no pipe of the host's for its guest, and what is open could not be kept.
      knocks_for_pipes(sealed);
      for (auto& piece : sealed) out.pieces.push_back(std::move(piece));
    }
    if (own_seal(r))
      for (auto& piece : own_seal_pieces()) out.pieces.push_back(std::move(piece));
    TRY_SET(std::string config, config_json(r));
    out.pieces.push_back({"bundle/config.json", std::move(config)});
    if (f_.guest_kernel) out.pieces.push_back({"none", "", Piece::Kind::kFile, 0});
    if (r.ahead) out.pieces.push_back(wait_piece("sealed"));
    std::string state = cat(r.scratch, "/state"), bundle = cat(r.scratch, "/bundle");
    if (f_.guest_kernel) {
      std::string platform = r.platform.empty() ? platforms().back() : r.platform;
      const std::vector<std::string> flags = {r.tool, cat("--root=", state), "--network=none", "--ignore-cgroups", cat("--platform=", platform), "--overlay=false"};
      out.argv = out.suspend = flags;
      if (r.resume.empty()) out.argv.insert(out.argv.end(), {"run", cat("--bundle=", bundle), r.name});
      else out.argv.insert(out.argv.end(), {"restore", cat("--bundle=", bundle), cat("--image-path=", r.resume), r.name});
      out.suspend.insert(out.suspend.end(), {"checkpoint", "--image-path=", r.name});
    } else if (is_crun(r)) {
      // crun refuses a host with both cgroup versions mounted: the second is taken out of its sight.
      out.argv = {"/usr/bin/unshare", "--mount", "--propagation", "private", "/bin/sh", "-c",
                  "umount /sys/fs/cgroup/unified 2>/dev/null; exec \"$@\"", "sh", r.tool, cat("--root=", state), "--cgroup-manager=disabled", "run", cat("--bundle=", bundle), r.name};
    } else {
      out.argv = {r.tool, cat("--root=", state), "run", cat("--bundle=", bundle), r.name};
    }
    grants_without_devices(r, out);
    if (has_group(r)) out.group = r.group;
    out.state = state;
    // gVisor's processes are all below ours and dead by then, and its state is in our own folder.
    if (!f_.guest_kernel) out.after = {{r.tool, cat("--root=", state), "delete", "--force", r.name}};
    return out;
  }

 private:
  bool named() const { return f_.name == "oci"; }
  static std::string_view base_name(std::string_view path) { return path.substr(path.rfind('/') + 1); }
  static std::string named_runtime(const Settings& settings) {
    std::string said = settings.get("oci.runtime");
    if (said.starts_with('/')) return ::access(said.c_str(), X_OK) == 0 ? said : std::string();
    return said.find('/') != said.npos ? std::string() : find_tool(said);
  }
  // What a runtime of another name wants is what the specification says; these two want more.
  bool is_crun(const ToolRequest& r) const { return f_.name == "crun" || (named() && base_name(r.tool).starts_with("crun")); }
  bool has_group(const ToolRequest& r) const { return f_.name == "runc" || (named() && base_name(r.tool).starts_with("runc")); }

  bool own_seal(const ToolRequest& r) const { return f_.mapped && !r.base.empty(); }

  static Result<std::vector<Shown>> shown_of(const ToolRequest& r) {
    TRY_SET(std::string root, oci_root(r.settings));
    return root.empty() ? view_sealed(r) : view_of_root(r, root);
  }

  Result<OciLabels> labels(const ToolRequest& r) const {
    if (!f_.guest_kernel) return oci_labels(r.settings, look_at_lsms(), loaded_profiles());
    if (r.settings.said("oci.apparmor") || r.settings.said("oci.selinux")) return make_error(ErrorCode::kUnsupported, "oci.apparmor, oci.selinux: gVisor takes no label");
    return OciLabels{};
  }

  Result<std::string> config_json(const ToolRequest& r) const {
    const Policy& p = r.policy;
    JsonWriter w;
    w.begin_object();
    w.field("ociVersion", "1.0.2");
    w.key("process");
    TRY_SET(OciLabels label, labels(r));
    process(w, r, label);
    w.key("root");
    w.begin_object();
    w.field("path", r.base.empty() ? "rootfs" : std::string_view(cat(r.base, "/rootfs")));
    w.field("readonly", true);
    w.end_object();
    w.field("hostname", "cell");
    w.key("mounts");
    w.begin_array();
    TRY(mounts(w, r));
    w.end_array();
    w.key("linux");
    w.begin_object();
    w.key("namespaces");
    w.begin_array();
    for (std::string_view type : {"pid", "ipc", "uts", "mount", "network", "cgroup", "user"}) {
      if (type == "network" && p.network.mode == NetworkMode::kHost) continue;
      if (type == "user" && !f_.mapped) continue;
      if (type == "cgroup" && f_.name == "runsc") continue;
      w.begin_object();
      w.field("type", type);
      w.end_object();
    }
    w.end_array();
    if (f_.mapped) {
      ids(w, "uidMappings", p.uid, r);
      ids(w, "gidMappings", p.gid, r);
    }
    // Relative: below the group that runc is in itself, so that our ceilings stand above it.
    if (has_group(r)) {
      w.field("cgroupsPath", cat("hotcell/", r.group));
      w.key("resources");
      write_resources(w, p.limits, r.cgroups);
    }
    if (!label.selinux.empty()) w.field("mountLabel", std::string_view(label.selinux));
    w.key("maskedPaths");
    w.begin_array();
    for (auto m : kMasked) w.value(m);
    w.end_array();
    w.key("readonlyPaths");
    w.begin_array();
    for (auto m : kReadOnlyProc) w.value(m);
    w.end_array();
    if (!f_.guest_kernel) w.field("seccomp", "@seccomp@");
    w.end_object();
    w.end_object();
    std::string text = w.take();
    if (f_.guest_kernel) return text;
    TRY_SET(std::string filter, filter_oci(p));
    constexpr std::string_view kHole = "\"@seccomp@\"";
    auto at = text.rfind(kHole);
    return cat(text.substr(0, at), filter, text.substr(at + kHole.size()));
  }

  void process(JsonWriter& w, const ToolRequest& r, const OciLabels& label) const {
    const Policy& p = r.policy;
    w.begin_object();
    w.field("terminal", false);
    w.key("user");
    w.begin_object();
    w.field("uid", f_.mapped ? p.uid : r.id);
    w.field("gid", f_.mapped ? p.gid : r.id);
    w.end_object();
    w.key("args");
    w.begin_array();
    // gVisor takes no filter from the bundle, but its kernel knows filters.
    for (const auto& a : f_.guest_kernel ? sealed_first() : watched_first(few_files(p.limits))) w.value(std::string_view(a));
    if (r.ahead) w.value(kWait);
    else
      for (const auto& a : r.request.argv) w.value(std::string_view(a));
    w.end_array();
    w.key("env");
    w.begin_array();
    for (const auto& [k, v] : r.env) w.value(std::string_view(cat(k, "=", v)));
    w.end_array();
    w.field("cwd", r.request.workdir.empty() ? "/work" : std::string_view(r.request.workdir));
    w.key("capabilities");
    w.begin_object();
    for (std::string_view set : {"bounding", "effective", "inheritable", "permitted", "ambient"}) {
      w.key(set);
      w.begin_array();
      w.end_array();
    }
    w.end_object();
    w.field("noNewPrivileges", true);
    if (!label.apparmor.empty()) w.field("apparmorProfile", std::string_view(label.apparmor));
    if (!label.selinux.empty()) w.field("selinuxLabel", std::string_view(label.selinux));
    w.key("rlimits");
    w.begin_array();
    auto limit = [&](std::string_view name, std::uint64_t n) {
      w.begin_object();
      w.field("type", name);
      w.field("hard", n);
      w.field("soft", n);
      w.end_object();
    };
    limit("RLIMIT_NOFILE", f_.guest_kernel ? p.limits.open_files : std::max(p.limits.open_files, kToolFiles));
    limit("RLIMIT_FSIZE", p.limits.disk.n);
    limit("RLIMIT_CORE", 0);
    limit("RLIMIT_STACK", p.limits.stack.n);
    if (p.limits.address_space) limit("RLIMIT_AS", p.limits.address_space->n);
    if (f_.mapped) limit("RLIMIT_NPROC", p.limits.processes + 1);
    w.end_array();
    w.end_object();
  }

  Result<void> mounts(JsonWriter& w, const ToolRequest& r) const {
    TRY_SET(auto shown, shown_of(r));
    if (own_seal(r)) show_own_seal(r, shown);
    for (const auto& s : shown) switch (s.kind) {
        case Shown::Kind::kProc: mount(w, "/proc", "proc", "proc", {"nosuid", "noexec", "nodev"}); break;
        case Shown::Kind::kDev:
          mount(w, "/dev", "tmpfs", "tmpfs", {"nosuid", "strictatime", "mode=755", "size=64k"});
          mount(w, "/dev/pts", "devpts", "devpts", {"nosuid", "noexec", "newinstance", "ptmxmode=0666", "mode=0620"});
          mount(w, "/dev/shm", "tmpfs", "shm", {"nosuid", "noexec", "nodev", "mode=1777", cat("size=", r.policy.limits.disk.n), names(r.policy.limits.disk), r.policy.filesystem.writable_scratch ? "rw" : "ro"});
          break;
        case Shown::Kind::kTmpfs:
          mount(w, s.target, "tmpfs", "tmpfs", {"nosuid", "nodev", "mode=1777", cat("size=", s.size.n), names(s.size), s.read_only ? "ro" : "rw"});
          break;
        case Shown::Kind::kLink: break;  // stands in the root itself
        case Shown::Kind::kBind: mount(w, s.target, "bind", s.source, {"rbind", s.read_only ? "ro" : "rw", "nosuid", "nodev"}); break;
      }
    if (f_.guest_kernel) guest_masks(w, r);
    return {};
  }

  std::string names(Bytes size) const { return f_.guest_kernel ? "nodev" : cat("nr_inodes=", tmpfs_names(size)); }

  // gVisor knows no masked paths and shows a /sys and devices of its own making.
  static void guest_masks(JsonWriter& w, const ToolRequest& r) {
    mount(w, "/sys", "tmpfs", "tmpfs", {"nosuid", "nodev", "noexec", "mode=0555", "size=4096", "ro"});
    for (std::string_view node : {"/dev/fuse", "/dev/net/tun", "/dev/tty"}) mount(w, node, "bind", cat(r.scratch, "/none"), {"bind", "ro", "nosuid", "nodev"});
  }

  Flavour f_;
};

}  // namespace

const Backend* crun() {
  static const Oci it({"crun", "an OCI runtime: namespaces, seccomp", "crun", {.memory = 16_MiB, .tasks = 6, .own_rlimits = true}});
  return &it;
}
const Backend* runc() {
  static const Oci it({"runc", "an OCI runtime: namespaces, seccomp, cgroups", "runc", {.memory = 48_MiB, .tasks = 24, .own_rlimits = true}});
  return &it;
}
const Backend* oci() {
  static const Oci it({"oci", "the OCI runtime that oci.runtime names", "", {.memory = 48_MiB, .tasks = 24, .own_rlimits = true}});
  return &it;
}
const Backend* runsc() {
  static const Oci it({"runsc", "gVisor: a kernel of its own between program and host", "runsc", {.memory = 160_MiB, .tasks = 256, .own_rlimits = true, .many_threads = true}, true, false});
  return &it;
}

}  // namespace hotcell::backends
