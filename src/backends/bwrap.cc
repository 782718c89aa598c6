// bubblewrap: namespaces and binds by its own hand, our filter by --seccomp. Run under the program's own uid when we are
// root: as root it would map the host's root into the cell.
#include <sys/stat.h>
#include <sys/utsname.h>

#include <cstdio>

#include "backends/tools.h"
#include "backends/view.h"
#include "base/strings.h"

namespace hotcell::backends {
namespace {

// Since Linux 5.14 RLIMIT_NPROC is held for each user namespace by itself.
bool counts_in_namespaces() {
  utsname u{};
  int major = 0, minor = 0;
  if (::uname(&u) != 0 || std::sscanf(u.release, "%d.%d", &major, &minor) != 2) return false;
  return major > 5 || (major == 5 && minor >= 14);
}

class Bwrap final : public Backend {
 public:
  std::string_view name() const override { return "bwrap"; }
  std::string_view what() const override { return "bubblewrap: namespaces and a root of its own"; }
  std::string_view package() const override { return "bubblewrap"; }
  bool without_root() const override { return true; }
  Overhead overhead() const override { return {.memory = 4_MiB, .tasks = 2}; }

  std::vector<Held> judge(const Policy& p) const override {
    std::vector<Held> out = {
        {"files", LayerStatus::kFull, "only what is shown is there"},
        {"deny", p.filesystem.deny.empty() ? LayerStatus::kFull : LayerStatus::kNone, "bubblewrap has no masks for names that may not exist yet"},
        {"network", p.network.mode == NetworkMode::kProxy ? LayerStatus::kNone : LayerStatus::kFull,
         p.network.mode == NetworkMode::kProxy ? "no door of ours in its network" : "an empty network of its own"},
        {"syscalls", LayerStatus::kFull, "our filter; denied calls are not recorded"},
        {"processes", LayerStatus::kPartial, "the ceiling is around bubblewrap and the program together"},
        held_memory(overhead(), p.limits, "bubblewrap"),
        {"cpu", LayerStatus::kFull, "of the whole tree"},
        {"disk", LayerStatus::kPartial, "/tmp by its size, /work by samples"},
        {"identity", LayerStatus::kFull, "its own user namespace"}};
    return out;
  }

  Result<std::vector<Piece>> shared(const ToolRequest& r) const override {
    TRY_SET(auto out, sealed_pieces(r));
    TRY_SET(std::string filter, filter_bytes(r.policy));
    out.push_back({"filter.bpf", std::move(filter)});
    return out;
  }

  Result<ToolPlan> plan(const ToolRequest& asked) const override {
    ToolPlan out;
    ToolRequest r = asked;
    if (r.base.empty()) {
      TRY_SET(out.pieces, shared(r));
      r.base = r.scratch;
    }
    r.etc = r.base;
    auto& a = out.argv;
    auto add = [&](std::initializer_list<std::string_view> words) {
      for (auto w : words) a.emplace_back(w);
    };
    // The filter comes by a file: only 0, 1 and 2 reach the tool. sh opens it as 9, which bubblewrap reads and closes.
    add({"/bin/sh", "-c", "exec 9<\"$0\"; exec \"$@\"", cat(r.base, "/filter.bpf"), r.tool});
    add({"--unshare-user", "--unshare-pid", "--unshare-ipc", "--unshare-uts", "--unshare-cgroup-try", "--disable-userns"});
    if (r.policy.network.mode != NetworkMode::kHost) add({"--unshare-net"});
    add({"--uid", cat(r.policy.uid), "--gid", cat(r.policy.gid), "--hostname", "cell"});
    add({"--die-with-parent", "--new-session", "--as-pid-1", "--cap-drop", "ALL", "--clearenv", "--seccomp", "9"});
    TRY_SET(auto shown, view_sealed(r));
    if (r.base != r.scratch) {
      show_own_seal(r, shown);
      for (auto& piece : own_seal_pieces()) out.pieces.push_back(std::move(piece));
    }
    for (const auto& s : shown) switch (s.kind) {
        case Shown::Kind::kBind: add({s.read_only ? "--ro-bind" : "--bind", s.source, s.target}); break;
        case Shown::Kind::kLink: add({"--symlink", s.source, s.target}); break;
        case Shown::Kind::kProc: add({"--proc", s.target}); break;
        case Shown::Kind::kDev:
          add({"--dev", s.target});
          if (!r.policy.filesystem.writable_scratch) add({"--remount-ro", s.target});  // /dev/shm is a folder of it
          break;
        case Shown::Kind::kTmpfs:
          add({"--size", cat(s.size.n), "--tmpfs", s.target});
          if (s.read_only) add({"--remount-ro", s.target});
          break;
      }
    for (auto path : kMasked) {
      struct stat st {};
      if (!path.starts_with("/proc/") || ::stat(std::string(path).c_str(), &st) != 0) continue;
      if (S_ISDIR(st.st_mode)) add({"--tmpfs", path, "--remount-ro", path});
      else add({"--ro-bind", "/dev/null", path});
    }
    add({"--remount-ro", "/"});
    for (const auto& [k, v] : r.env) add({"--setenv", k, v});
    add({"--chdir", r.request.workdir.empty() ? "/work" : r.request.workdir, "--"});
    // As a user's own uid all of that user's processes would count, outside; inside the seal and the program's do.
    SealLimits own;
    out.own_tasks = !r.privileged && counts_in_namespaces();
    if (out.own_tasks) own.tasks = r.policy.limits.processes + 1;
    for (auto& w : watched_first(own)) a.push_back(std::move(w));  // bubblewrap's own pid 1 can be read and written by the program
    for (const auto& w : r.request.argv) a.push_back(w);
    return out;
  }
};

}  // namespace

const Backend* bwrap() {
  static const Bwrap it;
  return &it;
}

}  // namespace hotcell::backends
