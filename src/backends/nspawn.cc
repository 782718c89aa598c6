// systemd-nspawn: a container on a folder, without systemd around it. Its own small init is pid 1; our filter stands behind its own.
#include "backends/tools.h"
#include "backends/view.h"
#include "base/strings.h"

namespace hotcell::backends {
namespace {

class Nspawn final : public Backend {
 public:
  std::string_view name() const override { return "nspawn"; }
  std::string_view what() const override { return "systemd-nspawn: a container on a folder"; }
  std::string_view package() const override { return "systemd-container"; }
  std::string_view binary() const override { return "systemd-nspawn"; }
  bool needs_root() const override { return true; }
  Overhead overhead() const override { return {.memory = 24_MiB, .tasks = 6, .own_rlimits = true}; }
  std::vector<Held> judge(const Policy& p) const override {
    return {{"files", LayerStatus::kFull, "only what is shown is there"},
            {"deny", p.filesystem.deny.empty() ? LayerStatus::kFull : LayerStatus::kNone, "no masks for names that may not exist yet"},
            {"network", p.network.mode == NetworkMode::kNone ? LayerStatus::kFull : LayerStatus::kNone, "an empty network of its own"},
            {"syscalls", LayerStatus::kFull, "our filter behind its own; denied calls are not recorded"},
            {"processes", LayerStatus::kPartial, "the ceiling is around nspawn and the program together"},
            held_memory(overhead(), p.limits, "nspawn"),
            {"cpu", LayerStatus::kFull, "of the whole tree"},
            {"disk", LayerStatus::kPartial, "/tmp by its size, /work by samples"},
            {"identity", LayerStatus::kFull, "a user namespace of its own"}};
  }
  Result<ToolPlan> plan(const ToolRequest& r) const override {
    ToolPlan out;
    auto& a = out.argv;
    auto add = [&](std::initializer_list<std::string_view> words) {
      for (auto w : words) a.emplace_back(w);
    };
    // It maps a whole range, users and groups alike: the program's id inside must be the one that is its own outside.
    if (r.policy.uid != r.policy.gid || r.policy.uid == 0 || r.policy.uid > 65535)
      return make_error(ErrorCode::kUnsupported, cat("backend nspawn cannot hold identity: a uid of ", r.policy.uid, " and a gid of ", r.policy.gid, "; it maps both alike, from 1 to 65535"));
    // It keeps folders in /run and cannot remove them where that is a disk: one of its own goes with it.
    add({"/usr/bin/unshare", "--mount", "--propagation", "private", "/bin/sh", "-c", "mount -t tmpfs -o mode=755 tmpfs /run && exec \"$@\"", "sh"});
    add({r.tool, "--quiet", "--register=no", "--keep-unit", "--as-pid2", "--private-network", "--console=pipe", "--resolv-conf=off", "--timezone=off",
         "--link-journal=no", "--no-new-privileges=yes", cat("--directory=", r.scratch, "/root"), "--read-only", cat("--machine=", r.name),
         "--drop-capability=all", "--hostname=cell", cat("--private-users=", r.id == 0 ? 65536 : r.id - r.policy.uid, ":65536"), "--private-users-ownership=off",
         "--user=cell", cat("--rlimit=NOFILE=", r.policy.limits.open_files), cat("--rlimit=FSIZE=", r.policy.limits.disk.n), "--rlimit=CORE=0", cat("--rlimit=STACK=", r.policy.limits.stack.n)});
    if (r.policy.limits.address_space) add({cat("--rlimit=AS=", r.policy.limits.address_space->n)});
    TRY_SET(auto shown, view_sealed(r));
    auto quote = [](std::string_view path) {
      std::string text;
      for (char c : path) text += c == ':' || c == '\\' ? std::string{'\\', c} : std::string(1, c);
      return text;
    };
    // It sorts its mounts by path: of two on one place either might be the one that is seen.
    for (const auto& s : uncovered(shown)) {
      if (s.kind == Shown::Kind::kBind) add({cat(s.read_only ? "--bind-ro=" : "--bind=", quote(s.source), ":", quote(s.target))});
      if (s.kind == Shown::Kind::kTmpfs) add({cat("--tmpfs=", s.target, ":mode=1777,", tmpfs_room(s.size), s.read_only ? ",ro" : "")});
    }
    if (!r.policy.filesystem.writable_scratch) add({"--tmpfs=/dev/shm:mode=1777,size=4k,ro"});  // it brings one that can be written
    // It mounts both, and the program has no use for them. It fills them all the same: folders of root.
    if (!shows_host_at(shown, "/sys")) add({"--tmpfs=/sys:mode=700,size=64k"});
    add({"--tmpfs=/dev/net:mode=711,size=4k,ro"});   // it shows /dev/net/tun where the host has one
    if (!shows_host_at(shown, "/run")) add({"--tmpfs=/run:mode=711,size=64k", "--tmpfs=/run/host:mode=711,size=64k"});
    for (const auto& [k, v] : r.env) add({cat("--setenv=", k, "=", v)});
    add({cat("--chdir=", r.request.workdir.empty() ? "/work" : r.request.workdir), "--"});
    for (auto w : kSealedFirst) a.emplace_back(w);
    for (const auto& w : r.request.argv) a.push_back(w);
    TRY_SET(out.pieces, sealed_pieces(r));
    for (auto& piece : skeleton(shown, "root")) out.pieces.push_back(std::move(piece));
    for (auto name : {"root/run", "root/sys", "root/var"}) out.pieces.push_back({name, "", Piece::Kind::kFolder});
    grants_without_devices(r, out);
    return out;
  }
};

}  // namespace

const Backend* nspawn() {
  static const Nspawn it;
  return &it;
}

}  // namespace hotcell::backends
