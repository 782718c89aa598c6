#include "backends/backend.h"

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
    if (h.status != LayerStatus::kFull && std::find(waived.begin(), waived.end(), h.statement) == waived.end()) out.push_back(std::move(h));
  return out;
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
