// nsjail: namespaces and binds by its own hand. Not a package of Debian: used where somebody has installed it.
#include "backends/tools.h"
#include "backends/view.h"
#include "base/strings.h"

namespace hotcell::backends {
namespace {

class Nsjail final : public Backend {
 public:
  std::string_view name() const override { return "nsjail"; }
  std::string_view what() const override { return "nsjail: namespaces and a root of its own"; }
  std::string_view package() const override { return ""; }  // none that apt-get knows
  bool without_root() const override { return true; }
  Overhead overhead() const override { return {.memory = 8_MiB, .tasks = 2}; }

  std::vector<Held> judge(const Policy& p) const override {
    bool off = p.network.mode == NetworkMode::kNone;
    return {{"files", LayerStatus::kFull, "only what is shown is there"},
            {"deny", p.filesystem.deny.empty() ? LayerStatus::kFull : LayerStatus::kNone, "no masks for names that may not exist yet"},
            {"network", off ? LayerStatus::kFull : LayerStatus::kNone, off ? "an empty network of its own" : "no door of ours in its network"},
            {"syscalls", LayerStatus::kFull, "our filter behind its own; denied calls are not recorded"},
            {"processes", LayerStatus::kPartial, "the ceiling is around nsjail and the program together"},
            held_memory(overhead(), p.limits, "nsjail"),
            {"cpu", LayerStatus::kFull, "of the whole tree"},
            {"disk", LayerStatus::kPartial, "/tmp by its size, /work by samples"},
            {"identity", LayerStatus::kFull, "its own user namespace"}};
  }

  Result<ToolPlan> plan(const ToolRequest& r) const override {
    ToolPlan out;
    auto& a = out.argv;
    auto add = [&](std::initializer_list<std::string_view> words) {
      for (auto w : words) a.emplace_back(w);
    };
    // A mount is SOURCE:TARGET or more, taken apart at colons, and there is no escape for one.
    auto sayable = [](std::string_view path) { return path.find(':') == path.npos && path.find(',') == path.npos; };
    add({r.tool, "--mode", "o", "--really_quiet", "--hostname", "cell", "--user", cat(r.policy.uid), "--group", cat(r.policy.gid)});
    // Limits are ours, around it; its own defaults (4 GiB, 600 s, files of 1 MiB) would be in the way of larger ones.
    add({"--time_limit", "0", "--rlimit_as", "hard", "--rlimit_cpu", "hard", "--rlimit_fsize", cat((r.policy.limits.disk.n >> 20) + 1), "--rlimit_nofile",
         cat(r.policy.limits.open_files), "--rlimit_nproc", "hard", "--rlimit_stack", "hard", "--rlimit_core", "0"});
    add({"--iface_no_lo", "--disable_proc"});
    add({"--seccomp_string",
         "ERRNO(1) { ptrace, process_vm_readv, process_vm_writev, mount, umount2, pivot_root, move_mount, open_tree, fsopen, fsmount, setns, unshare, bpf, "
         "perf_event_open, userfaultfd, keyctl, add_key, request_key, kexec_load, init_module, finit_module, delete_module, io_uring_setup, io_uring_enter, "
         "io_uring_register, open_by_handle_at } DEFAULT ALLOW"});
    TRY_SET(auto shown, view_sealed(r));
    for (const auto& s : shown) {
      if (!sayable(s.source) || !sayable(s.target))
        return make_error(ErrorCode::kUnsupported, cat("backend nsjail cannot show ", printable(s.source), ": a colon or comma in a path is a separator there"));
      switch (s.kind) {
        case Shown::Kind::kBind: add({s.read_only ? "--bindmount_ro" : "--bindmount", cat(s.source, ":", s.target)}); break;
        case Shown::Kind::kLink: add({"--symlink", cat(s.source, ":", s.target)}); break;
        case Shown::Kind::kProc: add({"--mount", "none:/proc:proc:"}); break;
        case Shown::Kind::kDev:
          add({"--mount", "none:/dev:tmpfs:size=65536"});
          for (std::string_view node : {"/dev/null", "/dev/zero", "/dev/full", "/dev/random", "/dev/urandom"}) add({"--bindmount", cat(node, ":", node)});
          break;
        case Shown::Kind::kTmpfs: add({"--mount", cat("none:", s.target, ":tmpfs:size=", s.size.n, s.read_only ? ",ro" : "")}); break;
      }
    }
    for (const auto& [k, v] : r.env) add({"--env", cat(k, "=", v)});
    add({"--cwd", r.request.workdir.empty() ? "/work" : r.request.workdir, "--"});
    for (auto w : kSealedFirst) a.emplace_back(w);
    for (const auto& w : r.request.argv) a.push_back(w);
    TRY_SET(out.pieces, sealed_pieces(r));
    return out;
  }
};

}  // namespace

const Backend* nsjail() {
  static const Nsjail it;
  return &it;
}

}  // namespace hotcell::backends
