// The two that are no walls.
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
  bool own_ids() const override { return name_ == "basic"; }
  Overhead overhead() const override { return {.memory = {}, .tasks = 0}; }
  std::vector<Held> judge(const Policy& p) const override {
    auto status = LayerStatus::kNone;
    std::string why = "asked for by name: no wall";
    // Whoever names one of these has been told that it is none; what it cannot do is in the result, not a refusal.
    auto told = LayerStatus::kPartial;
    return {{"files", told, why}, {"deny", p.filesystem.deny.empty() ? told : status, why}, {"network", p.network.mode == NetworkMode::kProxy ? status : told, why},
            {"syscalls", told, why}, {"processes", LayerStatus::kFull, "cgroup or rlimit"}, {"memory", LayerStatus::kFull, "cgroup"},
            {"cpu", LayerStatus::kFull, "of the whole tree"}, {"disk", told, "each file by RLIMIT_FSIZE"},
            {"identity", name_ == "basic" ? LayerStatus::kFull : told, name_ == "basic" ? "an unused uid where we are root" : "the caller's own uid"}};
  }
  Result<ToolPlan> plan(const ToolRequest& r) const override {
    ToolPlan out;
    out.argv = {r.tool, "-i"};
    for (const auto& [k, v] : r.env) out.argv.push_back(cat(k, "=", v == "/work" ? r.workspace : v));
    for (auto w : r.request.argv) {
      if (w == "/work" || w.starts_with("/work/")) w = cat(r.workspace, w.substr(5));
      out.argv.push_back(std::move(w));
    }
    return out;
  }

 private:
  std::string_view name_, what_;
};

}  // namespace

const Backend* basic() {
  static const NoWall it("basic", "limits, an unused uid as root, a clean environment: no wall");
  return &it;
}
const Backend* none() {
  static const NoWall it("none", "limits and a clean environment: no wall");
  return &it;
}

}  // namespace hotcell::backends
