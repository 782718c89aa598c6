// LXC: one command in a container that is made for it (lxc-execute) from a configuration of ours; no template, no image.
// Its own small init is pid 1. The program's ids are those of an otherwise unused user, in a user namespace.
#include <sys/stat.h>

#include <algorithm>

#include "backends/told.h"
#include "backends/tools.h"
#include "backends/view.h"
#include "base/strings.h"

namespace hotcell::backends {
namespace {

// In a line of fstab, which mount entries are: a blank or a line break would begin another field or another setting.
std::string field(std::string_view path) {
  std::string out;
  for (unsigned char c : path) {
    if (c > ' ' && c != '\\' && c != '#' && c != 0x7f) out += static_cast<char>(c);
    else out += {'\\', static_cast<char>('0' + (c >> 6)), static_cast<char>('0' + ((c >> 3) & 7)), static_cast<char>('0' + (c & 7))};
  }
  return out;
}

class Lxc final : public Backend {
 public:
  std::string_view name() const override { return "lxc"; }
  std::string_view what() const override { return "LXC: a container made for one command"; }
  std::string_view package() const override { return "lxc"; }
  std::string_view binary() const override { return "lxc-execute"; }
  bool needs_root() const override { return true; }
  Overhead overhead() const override { return {.memory = 24_MiB, .tasks = 6, .own_rlimits = true}; }

  std::vector<Held> judge(const Policy& p) const override {
    return {{"files", LayerStatus::kFull, "only what is shown is there"},
            {"deny", p.filesystem.deny.empty() ? LayerStatus::kFull : LayerStatus::kNone, "no masks for names that may not exist yet"},
            {"network", p.network.mode == NetworkMode::kNone ? LayerStatus::kFull : LayerStatus::kNone,
             p.network.mode == NetworkMode::kNone ? "an empty network of its own" : "no door of ours in its network"},
            {"syscalls", LayerStatus::kFull, "our filter; denied calls are not recorded"},
            {"processes", LayerStatus::kPartial, "the ceiling is around LXC and the program together"},
            held_memory(overhead(), p.limits, "LXC"),
            {"cpu", LayerStatus::kFull, "of the whole tree"},
            {"disk", LayerStatus::kPartial, "/tmp and /dev/shm by their size, /work by samples"},
            {"identity", LayerStatus::kFull, "a user namespace with one id of the host"}};
  }

  Result<ToolPlan> plan(const ToolRequest& r) const override {
    ToolPlan out;
    std::string name = cat(r.settings.get("lxc.instance"), "-", r.name), workdir = r.request.workdir.empty() ? "/work" : r.request.workdir;
    if (name.find_first_not_of("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_.") != name.npos)
      return make_error(ErrorCode::kInvalid, cat("lxc.instance: ", printable(r.settings.get("lxc.instance")), ": only letters, digits, '-', '_' and '.'"));
    TRY_SET(auto shown, view_sealed(r));
    // With no cgroup in sight it makes none: the container stays in the group that LXC is in, below our ceilings, and dies
    // with it. Otherwise it scatters groups over every hierarchy and leaves some.
    out.argv = {"/usr/bin/unshare", "--mount", "--propagation", "private", "/bin/sh", "-c", "umount -R -l /sys/fs/cgroup 2>/dev/null; exec \"$@\"", "sh"};
    out.argv.insert(out.argv.end(), {r.tool, "--quiet", "-n", name, "-P", cat(r.scratch, "/state"), "-f", cat(r.scratch, "/lxc.conf"), "--",
                                     std::string(kSealed[0])});
    for (auto& w : seal_limits(few_files(r.policy.limits))) out.argv.push_back(std::move(w));
    out.argv.insert(out.argv.end(), {"--end-others", std::string(kSealed[1]), "/usr/bin/env", "-i", "-C", workdir});
    for (const auto& [k, v] : r.env) out.argv.push_back(cat(k, "=", v));
    for (const auto& w : r.request.argv) out.argv.push_back(w);
    // Its own filter format kills what it does not name, and is on before its init has done its work: ours stands behind it.
    TRY_SET(out.pieces, sealed_pieces(r));
    out.pieces.push_back({"lxc.conf", configuration(r, shown)});
    out.pieces.push_back({"state", "", Piece::Kind::kFolder});
    for (auto& piece : skeleton(shown, "root")) out.pieces.push_back(std::move(piece));
    grants_without_devices(r, out);
    out.after = {{"/bin/rm", "-rf", "--", cat("/run/lxc/lock", r.scratch)}};  // a folder for a lock, which it leaves
    return out;
  }

 private:
  static std::string configuration(const ToolRequest& r, const std::vector<Shown>& shown) {
    const Policy& p = r.policy;
    std::string text;
    auto set = [&](std::string_view key, std::string_view value) { text += cat("lxc.", key, " = ", value, "\n"); };
    set("log.file", cat(r.scratch, "/", kToolLog));
    set("log.level", "ERROR");
    set("rootfs.path", cat("dir:", r.scratch, "/root"));
    set("rootfs.options", "ro");
    set("uts.name", "cell");
    set("net.0.type", "empty");
    for (std::string_view kind : {"u", "g"}) {
      set("idmap", cat(kind, " 0 ", r.root_id, " 1"));
      set("idmap", cat(kind, " ", kind == "u" ? p.uid : p.gid, " ", r.id, " 1"));
    }
    set("init.uid", cat(p.uid));
    set("init.gid", cat(p.gid));
    set("cap.keep", "none");
    set("no_new_privs", "1");
    set("apparmor.profile", "unchanged");
    set("autodev", "1");
    set("autodev.tmpfs.size", "65536");
    set("pty.max", "16");
    set("tty.max", "0");
    set("console.path", "none");
    set("prlimit.nofile", cat(std::max(p.limits.open_files, kToolFiles)));
    set("prlimit.fsize", cat(p.limits.disk.n));
    set("prlimit.core", "0");
    set("prlimit.stack", cat(p.limits.stack.n));
    if (p.limits.address_space) set("prlimit.as", cat(p.limits.address_space->n));
    set("mount.auto", "proc:mixed");
    for (const auto& s : shown) {
      std::string target = field(std::string_view(s.target).substr(1));
      if (s.kind == Shown::Kind::kBind) set("mount.entry", cat(field(s.source), " ", target, " none bind,nosuid,nodev,", s.read_only ? "ro" : "rw", s.folder ? ",create=dir" : ",create=file", " 0 0"));
      if (s.kind == Shown::Kind::kTmpfs) set("mount.entry", cat("tmpfs ", target, " tmpfs nosuid,nodev,mode=1777,", tmpfs_room(s.size), s.read_only ? ",ro" : "", " 0 0"));
      if (s.kind == Shown::Kind::kDev) set("mount.entry", cat("tmpfs dev/shm tmpfs nosuid,nodev,noexec,mode=1777,create=dir,", tmpfs_room(p.limits.disk), p.filesystem.writable_scratch ? "" : ",ro", " 0 0"));
    }
    for (auto path : kMasked) {
      struct stat st {};
      if (!path.starts_with("/proc/") || ::stat(std::string(path).c_str(), &st) != 0) continue;
      // No file stands on a folder: it would be left out, and only LXC's log would say so.
      if (S_ISDIR(st.st_mode)) set("mount.entry", cat("tmpfs ", path.substr(1), " tmpfs ro,nosuid,nodev,noexec,size=4k,optional 0 0"));
      else set("mount.entry", cat("/dev/null ", path.substr(1), " none bind,ro,optional 0 0"));
    }
    return text;
  }
};

}  // namespace

const Backend* lxc() {
  static const Lxc it;
  return &it;
}

}  // namespace hotcell::backends
