// The image of a project's own recipe, kept by its content: built once, known to be stale when the recipe changes, and swapped
// under a running sandbox when that is asked for.
#pragma once
#include <map>
#include <string>

#include "backends/engine/sandbox.h"

namespace hotcell::backends {

struct SwapEvent {
  std::string key, old_image, new_image;
};

class DevEnvManager {
 public:
  explicit DevEnvManager(EngineClient client, BuildNetwork network = BuildNetwork::kNone) : client_(std::move(client)), network_(network) {}
  void on_swap(std::function<void(const SwapEvent&)> listener) { on_swap_ = std::move(listener); }

  // The tag; built when the engine has none for this content. What the build says goes to `on_output`.
  Result<std::string> get_or_build(const std::string& dockerfile, const BuildOutput& on_output = {});
  // Never built here, invalidated, or the recipe is another one since.
  Result<bool> is_stale(const std::string& dockerfile) const;
  // The image is removed: the next one is built anew.
  Result<void> invalidate(const std::string& dockerfile);
  // Built anew whatever is there, then the sandbox is put on it; the listener is told after the swap.
  Result<std::string> rebuild_and_force_swap(const std::string& dockerfile, ContainerSandbox& sandbox, const BuildOutput& on_output = {});

  static std::string key_of(const std::string& dockerfile);   // the name of the folder it lies in, and eight digits of its whole path

 private:
  EngineClient client_;
  BuildNetwork network_;
  std::map<std::string, std::string> tags_;                   // by key
  std::function<void(const SwapEvent&)> on_swap_;
};

}  // namespace hotcell::backends
