// codex: `codex sandbox -- PROGRAM`, a root of its own made by bubblewrap from a permissions profile that we write, with our
// filter put on behind it. Run under the program's own uid when we are root: it shows what its caller may read.
#include <limits.h>
#include <stdlib.h>
#include <unistd.h>

#include "backends/codex_binary.h"
#include "backends/tools.h"
#include "backends/view.h"
#include "base/strings.h"
#include "core/launch/ids.h"
#include "sys/file.h"

namespace hotcell::backends {
namespace {

// A string of TOML.
std::string quoted(std::string_view text) {
  constexpr char kHex[] = "0123456789ABCDEF";
  std::string out = "\"";
  for (unsigned char c : text) {
    if (c == '"' || c == '\\') out += {'\\', static_cast<char>(c)};
    else if (c < 0x20 || c == 0x7f) out += cat("\\u00", kHex[c >> 4], kHex[c & 15]);
    else out += static_cast<char>(c);
  }
  return out + "\"";
}

constexpr std::string_view kItsFolder = "codex-daemon-";

class Codex final : public Backend {
 public:
  std::string_view name() const override { return "codex"; }
  std::string_view what() const override { return "codex sandbox: namespaces and a root of its own"; }
  std::string_view package() const override { return ""; }
  bool without_root() const override { return true; }
  Overhead overhead() const override { return {.memory = 192_MiB, .tasks = 48, .own_rlimits = true}; }
  Result<std::string> locate(const Settings& settings) const override { return ensure_codex(settings); }
  std::string installed(const Settings& settings) const override { return find_codex(settings); }

  std::vector<Held> judge(const Policy& p) const override {
    // Its root is a tmpfs, and so is /tmp, which no permission of its own makes read-only.
    bool nowhere = !p.filesystem.writable_scratch;
    return {{"files", nowhere ? LayerStatus::kNone : LayerStatus::kPartial,
             nowhere ? "a program can always write in its /tmp" : "all of /etc that an ordinary user reads; the workspace is at its place on the host, not at /work"},
            {"deny", p.filesystem.deny.empty() ? LayerStatus::kFull : LayerStatus::kNone, "no masks for names that may not exist yet"},
            {"network", p.network.mode == NetworkMode::kNone ? LayerStatus::kFull : LayerStatus::kNone,
             p.network.mode == NetworkMode::kNone ? "an empty network of its own" : "codex is not used with the network on"},
            {"syscalls", LayerStatus::kFull, "our filter behind its own; denied calls are not recorded"},
            {"processes", LayerStatus::kPartial, "the ceiling is around codex and the program together"},
            p.limits.address_space ? Held{"memory", LayerStatus::kNone, "no limit of the address space: codex itself needs more"} : held_memory(overhead(), p.limits, "codex"),
            {"cpu", LayerStatus::kFull, "of the whole tree"},
            {"disk", LayerStatus::kPartial, "/work by samples; /tmp is memory"},
            {"identity", LayerStatus::kFull, "its own user namespace"}};
  }

  Result<ToolPlan> plan(const ToolRequest& r) const override {
    ToolPlan out;
    std::string home = cat(r.scratch, "/codex"), sealed = cat(r.scratch, "/sealed");
    auto moved = [&](const std::string& word) { return word == "/work" || word.starts_with("/work/") ? cat(r.workspace, word.substr(5)) : word; };
    TRY_SET(auto shown, view(r));
    // :minimal is /usr, the links beside it and /etc; the links alone it does not make.
    std::string config = "[permissions.hotcell.filesystem]\n\":minimal\" = \"read\"\n";
    auto show = [&](std::string_view path, bool read_only) { config += cat(quoted(path), " = ", read_only ? "\"read\"\n" : "\"write\"\n"); };
    for (const auto& s : shown) {
      // Its words are taken for those of the workspace, which is elsewhere.
      if (s.target.starts_with("/work/")) return make_error(ErrorCode::kUnsupported, cat("backend codex cannot show ", printable(s.target), ": /work is the workspace"));
      bool own_place = s.kind == Shown::Kind::kBind && s.source == s.target;
      if (own_place) show(s.target, s.read_only);
      else if (s.kind == Shown::Kind::kBind && s.target == "/work") show(r.workspace, s.read_only);
      else if (s.kind == Shown::Kind::kBind && !s.target.starts_with("/etc/"))
        return make_error(ErrorCode::kUnsupported, cat("backend codex cannot show ", printable(s.source), " as ", printable(s.target)));
    }
    // Its own helper, which it starts inside, and ours.
    show(cat(home, "/tmp"), true);
    // The file alone, by the name it really has: what lies beside it in somebody's folder is not the program's to read.
    char real[PATH_MAX];
    show(::realpath(r.tool.c_str(), real) == nullptr ? r.tool : std::string(real), true);
    show(sealed, true);
    config += "[permissions.hotcell.network]\nenabled = false\n";
    // It refuses to put its helper below the folder for temporary files: that is another one.
    out.argv = {"/usr/bin/env", cat("HOME=", home), cat("CODEX_HOME=", home), cat("TMPDIR=", home, "-tmp"), "/usr/bin/prlimit",
                cat("--nofile=", std::max(r.policy.limits.open_files, kToolFiles)), cat("--fsize=", r.policy.limits.disk.n), "--core=0", "--",
                r.tool, r.settings.get("codex.subcommand"), "-P", "hotcell", "-C", moved(r.request.workdir.empty() ? "/work" : r.request.workdir), "--",
                cat(sealed, kSealed[0])};
    for (auto& w : seal_limits(few_files(r.policy.limits))) out.argv.push_back(std::move(w));
    out.argv.insert(out.argv.end(), {"--watch", cat(sealed, kSealed[1]), "/usr/bin/env", "-i"});
    for (const auto& [k, v] : r.env) out.argv.push_back(cat(k, "=", moved(v)));
    for (const auto& w : r.request.argv) out.argv.push_back(moved(w));
    // It makes this folder whatever TMPDIR says. One that somebody uses is not empty.
    out.after = {{"/usr/bin/rmdir", cat("/tmp/", kItsFolder, r.privileged ? r.id : ::geteuid())}};
    TRY_SET(out.pieces, seal_pieces(r.policy));
    for (auto name : {"codex", "codex-tmp"}) out.pieces.push_back({name, "", Piece::Kind::kFolder, 0755, true});
    out.pieces.push_back({"codex/config.toml", std::move(config)});
    return out;
  }

  void sweep() const override {
    auto names = sys::list_dir("/tmp");
    if (!names.ok()) return;
    for (const auto& name : names.value()) {
      if (!name.starts_with(kItsFolder)) continue;
      auto id = parse_u64(std::string_view(name).substr(kItsFolder.size()));
      if (!id) continue;
      const bool root = ::geteuid() == 0;
      if (root ? *id < kFirstId || *id >= kFirstId + kIdCount : *id != ::geteuid()) continue;
      // Held while it is removed, so that nobody becomes this user meanwhile. One that somebody uses is not empty.
      auto nobodys = root ? take_ids_again(static_cast<unsigned>(*id)) : Result<CellIds>(CellIds{});
      if (nobodys.ok()) ::rmdir(cat("/tmp/", name).c_str());
    }
  }
};

}  // namespace

const Backend* codex() {
  static const Codex it;
  return &it;
}

}  // namespace hotcell::backends
