// docker and podman, as backends: what they hold of a policy, and what they would be asked for.
#include "backends/engine/container.h"
#include "backends/engine/engine.h"
#include "backends/tools.h"
#include "base/strings.h"

namespace hotcell::backends {
namespace {

class EngineBackend final : public Backend {
 public:
  EngineBackend(EngineKind kind, std::string_view name, std::string_view what, std::string_view package) : kind_(kind), name_(name), what_(what), package_(package) {}
  std::string_view name() const override { return name_; }
  std::string_view what() const override { return what_; }
  std::string_view package() const override { return package_; }
  std::string_view binary() const override { return ""; }
  bool engine() const override { return true; }
  Overhead overhead() const override { return {.memory = {}, .tasks = 2, .own_rlimits = true}; }

  std::vector<Held> judge(const Policy& p) const override {
    return {{"files", LayerStatus::kFull, "only what is shown is there"},
            {"deny", p.filesystem.deny.empty() ? LayerStatus::kFull : LayerStatus::kNone, "no masks for names that may not exist yet"},
            {"network", p.network.mode == NetworkMode::kProxy ? LayerStatus::kNone : LayerStatus::kFull,
             p.network.mode == NetworkMode::kProxy ? "no door of ours in its network" : "an empty network of its own"},
            {"syscalls", LayerStatus::kFull, "our filter; denied calls are not recorded"},
            {"processes", LayerStatus::kPartial, "the engine's ceiling, two more for the container's own"},
            {"memory", LayerStatus::kFull, "the engine's ceiling"},
            {"cpu", LayerStatus::kFull, "of the whole tree, by samples"},
            {"disk", LayerStatus::kPartial, "/tmp and /dev/shm by their size, /work by samples"},
            {"identity", LayerStatus::kPartial, "the uid of an unused user, without a namespace"}};
  }

  Result<ToolPlan> plan(const ToolRequest& asked) const override {
    ToolPlan out;
    ToolRequest r = asked;
    if (r.inside == 0) r.inside = r.id;
    TRY_SET(auto shown, engine_view(r, kind_));
    std::string runtime = r.settings.get(cat(name_, ".runtime"));
    ContainerSpec spec{kind_, root_image(empty_root(shown)), runtime, "", false, runtime.starts_with("runsc")};
    TRY_SET(std::string body, container_json(r, spec));
    TRY_SET(out.pieces, container_pieces(r));
    out.argv = {"POST", cat("unix://", r.settings.get(cat(name_, ".socket"))), "/containers/create", std::move(body)};
    return out;
  }

 private:
  EngineKind kind_;
  std::string_view name_, what_, package_;
};

}  // namespace

const Backend* docker() {
  static const EngineBackend it(EngineKind::kDocker, "docker", "Docker: containers by the engine behind its socket", "docker.io");
  return &it;
}
const Backend* podman() {
  static const EngineBackend it(EngineKind::kPodman, "podman", "Podman: containers by its service behind a socket", "podman");
  return &it;
}

}  // namespace hotcell::backends
