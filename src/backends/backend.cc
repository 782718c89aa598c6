#include "backends/backend.h"

#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <map>

#include "backends/tools.h"
#include "base/strings.h"
#include "core/policy/suggest.h"

namespace hotcell::backends {

const std::vector<const Backend*>& all() {
  static const std::vector<const Backend*> list = {bwrap(), nsjail(), firejail(), nspawn(), crun(), runc(), runsc(), oci(), docker(), podman(), lxc(), codex(), vm(), basic(), none()};
  return list;
}

const Backend* find(std::string_view name) {
  for (const Backend* b : all())
    if (b->name() == name) return b;
  return nullptr;
}

namespace {

std::vector<std::string>& own_folders() {
  static std::vector<std::string> list;
  return list;
}

}  // namespace

void set_tool_folders(std::vector<std::string> folders) { own_folders() = std::move(folders); }

std::string find_tool(std::string_view binary) {
  if (binary.empty()) return {};
  for (const auto& folder : own_folders())
    if (std::string path = cat(folder, "/", binary); ::access(path.c_str(), X_OK) == 0) return path;
  if (!own_folders().empty()) return {};
  for (std::string_view folder : {"/usr/local/sbin", "/usr/local/bin", "/usr/sbin", "/usr/bin", "/sbin", "/bin"})
    if (std::string path = cat(folder, "/", binary); ::access(path.c_str(), X_OK) == 0) return path;
  return {};
}

std::string tool_identity(const std::string& path) {
  struct stat st {};
  if (::stat(path.c_str(), &st) != 0) return {};
  return cat(path, " ", st.st_dev, " ", st.st_ino, " ", st.st_size, " ", st.st_mtim.tv_sec, ".", st.st_mtim.tv_nsec, " ", st.st_ctim.tv_sec, ".", st.st_ctim.tv_nsec);
}

// The backend's own binary, or the one that the setting NAME.executable says: a name, or a path from the root.
std::string Backend::installed(const Settings& settings) const {
  std::string said = settings.get(cat(name(), ".executable"));
  if (said.starts_with('/')) return ::access(said.c_str(), X_OK) == 0 ? said : std::string();
  if (said.find('/') != said.npos) return {};  // relative to what?
  return find_tool(said.empty() ? binary() : std::string_view(said));
}

Result<std::string> Backend::locate(const Settings& settings) const {
  if (std::string tool = installed(settings); !tool.empty()) return tool;
  std::string said = settings.get(cat(name(), ".executable"));
  return make_error(ErrorCode::kUnsupported, cat("backend ", name(), ": ", said.empty() ? binary() : std::string_view(said), " is not installed",
                                                 package().empty() ? "" : cat(" (apt-get install ", package(), ")")));
}

Result<void> check_waivers(const std::vector<std::string>& waived) {
  for (const auto& w : waived) {
    if (std::find(std::begin(kStatements), std::end(kStatements), w) != std::end(kStatements)) continue;
    std::vector<std::string_view> known(std::begin(kStatements), std::end(kStatements));
    return make_error(ErrorCode::kInvalid, cat("--waive: ", printable(w), " is no statement of a policy", did_you_mean(w, known)));
  }
  return {};
}

std::vector<Held> unheld(const Backend& backend, const Policy& policy, const std::vector<std::string>& waived) {
  std::vector<Held> out;
  for (auto& h : backend.judge(policy))
    if (h.status != LayerStatus::kFull && !h.by_name && std::find(waived.begin(), waived.end(), h.statement) == waived.end()) out.push_back(std::move(h));
  return out;
}

bool roomy(const Overhead& overhead, const Limits& limits) { return overhead.memory.n > limits.memory.n / 4; }

Held held_memory(const Overhead& overhead, const Limits& limits, std::string_view tool) {
  std::string detail = cat("around ", tool, " and the program together");
  if (!roomy(overhead, limits)) return {"memory", LayerStatus::kFull, std::move(detail)};
  return {"memory", LayerStatus::kPartial, cat(detail, ", with ", overhead.memory.n >> 20, " MiB more for ", tool, ", of which the program has what is left")};
}

std::vector<Held> judge_own(std::string_view name, const Policy& p) {
  const auto none = LayerStatus::kNone, partial = LayerStatus::kPartial, full = LayerStatus::kFull;
  const bool root = ::geteuid() == 0;
  if (name == "native")
    return {{"files", full, "only what is shown is there"}, {"deny", full, "masks, also for names that do not exist yet"},
            {"network", full, p.network.mode == NetworkMode::kProxy ? "an empty network with one door, to the proxy" : p.network.mode == NetworkMode::kHost ? "the host's, as asked for" : "an empty network of its own"},
            {"syscalls", full, "our filter; denied calls are recorded"}, {"processes", full, "of the cell alone"},
            {"memory", root ? full : partial, root ? "cgroup of the whole cell" : "cgroup where this user may make one; each process and samples otherwise"},
            {"cpu", root ? full : partial, root ? "cgroup of the whole cell" : "cgroup where this user may make one; each process and samples otherwise"},
            {"disk", full, "one tmpfs of that size"}, {"identity", full, "its own user namespace"}};
  if (name == "landlock")
    return {{"files", partial, "contents, by Landlock: names can still be looked up"}, {"deny", p.filesystem.deny.empty() ? full : none, "no namespace to hide a name in"},
            {"network", p.network.mode == NetworkMode::kProxy ? none : full, p.network.mode == NetworkMode::kProxy ? "no network of its own for a door" : "internet sockets are refused by the filter"},
            {"syscalls", full, "our filter, the stricter one"}, {"processes", partial, "other processes of the host can be seen"},
            {"memory", root ? full : partial, root ? "cgroup of the whole cell" : "each process and samples"}, {"cpu", root ? full : partial, root ? "cgroup of the whole cell" : "each process and samples"},
            {"disk", partial, "each file by RLIMIT_FSIZE"}, {"identity", partial, "without a namespace"}};
  return {};
}

std::vector<std::pair<std::string, std::string>> program_env(const Policy& policy, const Request& request) {
  std::map<std::string, std::string> env = {{"PATH", "/usr/local/bin:/usr/bin:/bin:/usr/local/sbin:/usr/sbin:/sbin"}, {"HOME", "/work"},
                                            {"TMPDIR", "/tmp"}, {"LANG", "C.UTF-8"}, {"USER", "cell"}, {"HOTCELL_ID", request.id}};
  for (const auto& name : policy.env.pass)
    if (const char* value = ::getenv(name.c_str())) env[name] = value;
  for (const auto& [k, v] : policy.env.set) env[k] = v;
  for (const auto& [k, v] : request.env) env[k] = v;
  return {env.begin(), env.end()};
}

std::string made_passwd(unsigned uid, unsigned gid) {
  return cat("root:x:0:0:root:/:/usr/sbin/nologin\ncell:x:", uid, ":", gid, ":cell:/work:/bin/sh\nnobody:x:65534:65534:nobody:/:/usr/sbin/nologin\n");
}
std::string made_group(unsigned gid) { return cat("root:x:0:\ncell:x:", gid, ":\nnogroup:x:65534:\n"); }

}  // namespace hotcell::backends
