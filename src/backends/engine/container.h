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
  bool own_kernel = false;             // the runtime is gVisor's, which takes no filter from an engine: our seal puts it on inside
};
// Statements of a policy that an engine says it has left out: `made`, its answer to what it was asked to make. With its words.
std::vector<std::pair<std::string, std::string>> left_out(std::string_view made);

// Which runtime is asked for: the one that was said, else gVisor's where docker knows it by its own name; empty: the engine's own.
struct EngineRuntime {
  std::string name;
  bool known = true, own_kernel = false;
};
EngineRuntime engine_runtime(std::string_view info, EngineKind kind, const std::string& said);

// What is shown by an engine of this kind. Podman mounts a tmpfs of no size of its own on /run and /var/tmp wherever it is given
// none: there /var/tmp is a folder and no link to /tmp.
Result<std::vector<Shown>> engine_view(const ToolRequest& request, EngineKind kind);
// It makes one line with commas of what it is told to mount, and reads that as such: a path with one of its own says more than a path.
Result<void> podman_shows(std::string_view path);

// An image without a file: the folders that things are mounted on, and the links among them, as a tar archive.
std::string empty_root(const std::vector<Shown>& shown);
// Its name, by what is in it.
std::string root_image(std::string_view archive);

// The body of POST /containers/create. The seccomp profile of podman is a file of ours: SCRATCH/seccomp.json.
Result<std::string> container_json(const ToolRequest& request, const ContainerSpec& spec);
Result<std::vector<Piece>> container_pieces(const ToolRequest& request);

}  // namespace hotcell::backends
