// firejail: the host's own tree with everything hidden that a program has no use for, our filter behind its own. It has no way to
// make a folder that is not there, so the workspace stands in the place of the home folder. As root the program is an otherwise unused
// user of the host, whom firejail knows by a made /etc/passwd in a mount namespace around it.
#include <pwd.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>

#include "backends/tools.h"
#include "backends/view.h"
#include "base/strings.h"
#include "core/kernel/etc_settings.h"
#include "sys/file.h"

namespace hotcell::backends {
namespace {

constexpr std::string_view kKept[] = {"bin", "sbin", "lib", "lib32", "lib64", "libx32", "usr", "etc", "dev", "proc", "tmp", "run"};

bool is_folder(const std::string& path) {
  struct stat st {};
  return ::lstat(path.c_str(), &st) == 0 && S_ISDIR(st.st_mode);
}

// A folder that every host has and no program looks for.
std::string place_for_work() {
  for (std::string path : {"/srv", "/mnt", "/media", "/opt"})
    if (is_folder(path)) return path;
  return {};
}

std::string own_home() {
  const passwd* who = ::getpwuid(::geteuid());
  return who == nullptr ? "/root" : who->pw_dir;
}

class Firejail final : public Backend {
 public:
  std::string_view name() const override { return "firejail"; }
  std::string_view what() const override { return "firejail: namespaces and seccomp over parts of the host's own tree"; }
  std::string_view package() const override { return "firejail"; }
  Overhead overhead() const override { return {.memory = 24_MiB, .tasks = 8}; }

  std::vector<Held> judge(const Policy& p) const override {
    bool grants = !p.filesystem.grants.empty();
    return {{"files", grants ? LayerStatus::kNone : LayerStatus::kPartial,
             grants ? "firejail cannot show one path at a place of its own" : "the host's own names, all hidden but /usr and parts of /etc; the workspace is the home folder; no /work"},
            {"deny", p.filesystem.deny.empty() ? LayerStatus::kFull : LayerStatus::kNone, "no masks for names that may not exist yet"},
            {"network", p.network.mode == NetworkMode::kNone ? LayerStatus::kFull : LayerStatus::kNone,
             p.network.mode == NetworkMode::kNone ? "an empty network of its own" : "no door of ours in its network"},
            {"syscalls", LayerStatus::kFull, "our filter behind its own; denied calls are not recorded"},
            {"processes", LayerStatus::kPartial, "the ceiling is around firejail and the program together"},
            held_memory(overhead(), p.limits, "firejail"),
            {"cpu", LayerStatus::kFull, "of the whole tree"},
            {"disk", LayerStatus::kPartial, "by samples"},
            {"identity", LayerStatus::kPartial, "without a namespace: the uid of an unused user where we are root, the caller's own otherwise"}};
  }

  Result<ToolPlan> plan(const ToolRequest& r) const override {
    ToolPlan out;
    auto& a = out.argv;
    std::string home = r.privileged ? place_for_work() : own_home(), sealed = cat(r.scratch, "/sealed");
    if (home.empty()) return make_error(ErrorCode::kUnsupported, "backend firejail: none of /srv, /mnt, /media and /opt is there to put the workspace on");
    auto moved = [&](const std::string& word) { return word == "/work" || word.starts_with("/work/") ? cat(home, word.substr(5)) : word; };
    // Its /run cannot be hidden from the program, but need not be the host's nor be listed; what it leaves there goes with it.
    if (r.privileged)
      a = {"/usr/bin/unshare", "--mount", "--propagation", "private", "/bin/sh", "-c",
           "mount --bind \"$1/etc/passwd\" /etc/passwd && mount --bind \"$1/etc/group\" /etc/group && mount --bind \"$2\" \"$3\" && "
           "mount -t tmpfs -o mode=711 tmpfs /run && shift 3 && exec \"$@\"",
           "sh", r.scratch, r.workspace, home, "/usr/bin/setpriv", cat("--reuid=", r.id), cat("--regid=", r.id), "--clear-groups", "--"};
    a.insert(a.end(), {r.tool, "--quiet", "--noprofile", "--net=none", "--caps.drop=all", "--nonewprivs", "--seccomp", "--nogroups", "--private-dev",
                       "--ipc-namespace", "--x11=none", "--nodbus", "--hostname=cell", "--deterministic-shutdown", cat("--rlimit-nofile=", r.policy.limits.open_files),
                       cat("--rlimit-fsize=", r.policy.limits.disk.n)});
    if (!r.privileged) a.push_back(cat("--private=", r.workspace));
    a.push_back(cat("--whitelist=", sealed));  // and a /tmp with nothing else in it
    a.push_back(cat("--private-etc=", etc_names()));
    hide(a, home, r.privileged);
    a.emplace_back("--read-only=/");
    if (r.policy.filesystem.writable_scratch) a.insert(a.end(), {cat("--read-write=", home), "--read-write=/tmp"});
    // What is mounted below the root is none of its business.
    else a.insert(a.end(), {cat("--read-only=", home), "--read-only=/tmp", "--read-only=/dev/shm"});
    a.insert(a.end(), {cat("--read-only=", sealed), "--", cat(sealed, kSealed[0]), "--watch", cat(sealed, kSealed[1]), "/usr/bin/env", "-i", "-C",
                       moved(r.request.workdir.empty() ? "/work" : r.request.workdir)});
    for (const auto& [k, v] : r.env) a.push_back(cat(k, "=", moved(v)));
    for (const auto& w : r.request.argv) a.push_back(moved(w));
    ToolRequest known = r;
    if (r.privileged) known.inside = r.id;
    TRY_SET(out.pieces, sealed_pieces(known));
    if (r.privileged)
      for (auto& piece : out.pieces)
        if (piece.name == "etc/passwd") piece.bytes = cat("root:x:0:0:root:/:/usr/sbin/nologin\ncell:x:", r.id, ":", r.id, ":cell:", home, ":/bin/sh\n");
    return out;
  }

 private:
  // The parts of /etc that a native cell shows; folders below /etc as a whole, since it knows no deeper names.
  static std::string etc_names() {
    std::vector<std::string> names = {"passwd", "group"};
    for (const auto& e : etc_settings()) {
      std::string_view name = std::string_view(e.path).substr(5);
      name = name.substr(0, name.find('/'));
      if (std::find(names.begin(), names.end(), name) == names.end()) names.emplace_back(name);
    }
    return join(names, ",");
  }

  static void hide(std::vector<std::string>& a, const std::string& home, bool privileged) {
    auto top = [](std::string_view path) { return path.substr(1, path.find('/', 1) == path.npos ? path.npos : path.find('/', 1) - 1); };
    auto blacklist = [&](std::string_view folder, std::string_view except) {
      auto names = sys::list_dir(std::string(folder).c_str());
      if (!names.ok()) return;
      for (const auto& name : names.value())
        if (name != except && (folder != "/" || std::find(std::begin(kKept), std::end(kKept), name) == std::end(kKept)))
          a.push_back(cat("--blacklist=", folder == "/" ? "" : folder, "/", name));
    };
    blacklist("/", top(home));
    if (!privileged) blacklist("/run", "firejail");
    for (auto path : kMasked)
      if (path.starts_with("/proc/") && ::access(std::string(path).c_str(), F_OK) == 0) a.push_back(cat("--blacklist=", path));
  }
};

}  // namespace

const Backend* firejail() {
  static const Firejail it;
  return &it;
}

}  // namespace hotcell::backends
