// The two that are no walls.
#include <unistd.h>

#include <algorithm>

#include "backends/command_policy.h"
#include "backends/tools.h"
#include "base/strings.h"

namespace hotcell::backends {
namespace {

class NoWall final : public Backend {
 public:
  NoWall(std::string_view name, std::string_view what) : name_(name), what_(what) {}
  std::string_view name() const override { return name_; }
  std::string_view what() const override { return what_; }
  std::string_view package() const override { return ""; }
  std::string_view binary() const override { return "env"; }
  bool without_root() const override { return name_ == "basic"; }
  bool walls() const override { return false; }
  bool own_ids() const override { return name_ == "basic"; }
  Overhead overhead() const override { return {.memory = {}, .tasks = 0}; }
  std::vector<Held> judge(const Policy& p) const override {
    const auto no = LayerStatus::kNone, partial = LayerStatus::kPartial, full = LayerStatus::kFull;
    const std::string why = "asked for by name: no wall";
    const bool another = name_ == "basic" && ::geteuid() == 0;
    // What was asked for beyond that is refused all the same: a denied name, a network with rules.
    return {{"files", no, why, true}, {"deny", no, why, p.filesystem.deny.empty()}, {"network", no, why, p.network.mode != NetworkMode::kProxy},
            {"syscalls", no, why, true}, {"processes", full, "cgroup or rlimit"}, {"memory", full, "cgroup"}, {"cpu", full, "of the whole tree"},
            {"disk", partial, "each file by RLIMIT_FSIZE"}, {"identity", another ? full : no, another ? "an unused uid" : "the caller's own uid", !another}};
  }
  Result<void> permits(const Request& request, const Settings& settings) const override {
    if (name_ != "basic") return {};
    TRY_SET(CommandVerdict verdict, judge_request(request, settings));
    if (verdict.allowed) return {};
    return make_error(ErrorCode::kDenied, cat("backend basic: ", verdict.category, ": ", verdict.reason, "; nothing was run (its rules look at words and are no wall)"));
  }
  Result<ToolPlan> plan(const ToolRequest& r) const override {
    ToolPlan out;
    // There is no root of its own in which the workspace could be /work; a folder of the host's that is granted is itself.
    auto is_in = [](std::string_view path, std::string_view folder) { return path == folder || (path.starts_with(folder) && path[folder.size()] == '/'); };
    auto granted = [&](std::string_view path) {
      const auto& grants = r.policy.filesystem.grants;
      return std::any_of(grants.begin(), grants.end(), [&](const FsGrant& g) { return is_in(path, g.path); });
    };
    auto here = [&](const std::string& word) { return is_in(word, "/work") && !granted(word) ? cat(r.workspace, word.substr(5)) : word; };
    if (const auto& folder = r.request.workdir; folder.starts_with("/tmp/") && !granted(folder))
      return make_error(ErrorCode::kInvalid, cat("backend ", name_, " has no /tmp of its own: ", printable(folder), " is the host's; add --read or --write ", printable(folder)));
    out.argv = {r.tool, "-i", "-C", here(r.request.workdir.empty() ? "/work" : r.request.workdir)};
    for (const auto& [k, v] : r.env) out.argv.push_back(cat(k, "=", v == "/work" ? r.workspace : v));
    for (const auto& w : r.request.argv) out.argv.push_back(here(w));
    return out;
  }

 private:
  std::string_view name_, what_;
};

}  // namespace

const Backend* basic() {
  static const NoWall it("basic", "limits, rules for commands, an unused uid as root, a clean environment: no wall");
  return &it;
}
const Backend* none() {
  static const NoWall it("none", "limits and a clean environment: no wall");
  return &it;
}

}  // namespace hotcell::backends
