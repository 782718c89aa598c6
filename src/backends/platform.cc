#include "backends/platform.h"

#include <algorithm>
#include <map>
#include <mutex>

#include "base/strings.h"

namespace hotcell::backends {
namespace {

bool works(const Backend& backend, const ToolOptions& options, const std::string& setting, std::string_view platform) {
  ToolOptions trial{{}, false, options.settings.with(setting, platform), options.patience};
  auto launcher = open_tool(backend, std::move(trial));
  if (!launcher.ok()) return false;
  Policy policy = default_policy();
  policy.limits.wall = policy.limits.cpu_time = options.patience;
  Request request;
  request.argv = {"/bin/true"};
  auto report = launcher.value()->run(policy, std::move(request));
  return report.ok() && report.value().verdict.status() == RunStatus::kCompleted;
}

}  // namespace

Result<std::string> platform_of(const Backend& backend, const std::string& tool, const ToolOptions& options) {
  auto list = backend.platforms();
  if (list.empty()) return std::string();
  const std::string setting = cat(backend.name(), ".platform");
  if (options.settings.said(setting)) {
    std::string said = options.settings.get(setting);
    if (std::find(list.begin(), list.end(), said) != list.end()) return said;
    return make_error(ErrorCode::kInvalid, cat("--backend-option: ", setting, ": ", printable(said), " is not one of ", join(list, ", ")));
  }
  static std::mutex mutex;
  static std::map<std::string, std::string> found;
  std::string key = tool_identity(tool);  // one that was replaced is tried anew
  if (key.empty()) return list.back();
  std::lock_guard lock(mutex);
  if (auto it = found.find(key); it != found.end()) return it->second;
  std::string chosen = list.back();
  for (std::size_t i = 0; i + 1 < list.size(); ++i)
    if (works(backend, options, setting, list[i])) {
      chosen = list[i];
      break;
    }
  return found[key] = chosen;
}

}  // namespace hotcell::backends
