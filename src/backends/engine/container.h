// What an engine is asked to make: the container of one policy, and the image it stands on. Pure.
#pragma once
#include <string>
#include <utility>
#include <vector>

#include "backends/backend.h"
#include "backends/view.h"

namespace hotcell::backends {

enum class EngineKind : std::uint8_t { kDocker, kPodman };

struct ContainerSpec {
  EngineKind kind = EngineKind::kDocker;
  std::string image, runtime, owner;   // `owner`: who sweeps it when we are gone
  bool stdin_open = false;
};

// An image without a file: the folders that things are mounted on, and the links among them, as a tar archive.
std::string empty_root(const std::vector<Shown>& shown);
// Its name, by what is in it.
std::string root_image(std::string_view archive);

// The body of POST /containers/create. The seccomp profile of podman is a file of ours: SCRATCH/seccomp.json.
Result<std::string> container_json(const ToolRequest& request, const ContainerSpec& spec);
Result<std::vector<Piece>> container_pieces(const ToolRequest& request);

}  // namespace hotcell::backends
