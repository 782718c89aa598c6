// A container that lasts: a project's folder, mounted where it is on the host, and commands that are run there one after the
// other. What it stands on is an image by the content of a recipe, and can be swapped while the project stays.
#pragma once
#include <chrono>
#include <functional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "backends/engine/client.h"
#include "hotcell/units.h"

namespace hotcell::backends {

struct SandboxSpec {
  std::string project;                     // from the root; read and written
  std::string attachments, cache;          // shown as /attachments (read-only) and /cache; empty: not there
  std::string image;
  std::string runtime;                     // empty: the engine's own
  Bytes memory = 512_MiB;
  std::uint32_t processes = 256;
  double cpus = 0;
  unsigned uid = 1000, gid = 1000;         // who the commands are; root is refused
};

struct ExecResult {
  std::string output;                      // both streams, as they came
  bool truncated = false, timed_out = false;
  int exit_code = -1;
};

struct SandboxState {
  std::string id, image;
  bool running = false;
  unsigned uid = 0;                        // who the commands are
};

struct CachedImage {
  std::string tag, hash;
  std::chrono::seconds age{0};
};

// Whether the steps of a recipe may fetch things: those that install packages cannot do without.
enum class BuildNetwork : std::uint8_t { kNone, kDefault };
using BuildOutput = std::function<void(std::string_view)>;

class ContainerSandbox {
 public:
  ContainerSandbox(EngineClient client, SandboxSpec spec) : client_(std::move(client)), spec_(std::move(spec)) {}
  ~ContainerSandbox() { stop().ignore("the next start removes what has its name"); }
  ContainerSandbox(const ContainerSandbox&) = delete;
  ContainerSandbox& operator=(const ContainerSandbox&) = delete;

  std::string name() const;                // hotcell- and eight digits of the project's path
  // The container that another process has left running for this project, with what it was started with; false: there is none.
  Result<bool> adopt();
  void leave() { id_.clear(); }            // it goes on without us
  // One that has this name already is of a process that is gone: it is replaced.
  Result<void> start();
  // Everything that the command started is dead when the time is over. One command at a time.
  Result<ExecResult> exec(const std::string& command, std::chrono::milliseconds timeout = std::chrono::seconds(120), Bytes output = 1_MiB);
  Result<SandboxState> inspect() const;
  void set_image(std::string image) { spec_.image = std::move(image); }  // from the next start on
  // Another image under the same project; the old container is gone first. When the new one does not start, the old image does.
  Result<void> hot_swap(const std::string& image);
  Result<void> stop();

 private:
  Result<std::string> create_body() const;
  EngineClient client_;
  SandboxSpec spec_;
  std::string id_;
};

// Builds `dockerfile` under `tag` unless it is there; what the engine says goes to `on_output` as it comes.
Result<void> build_image(const EngineClient& client, const std::string& tag, std::string_view dockerfile, const BuildOutput& on_output,
                         BuildNetwork network = BuildNetwork::kNone);
Result<bool> has_image(const EngineClient& client, const std::string& tag);
Result<std::string> build_from_dockerfile(const EngineClient& client, const std::string& path, const BuildOutput& on_output,
                                          BuildNetwork network = BuildNetwork::kNone);
// Images of ours: those whose names begin with hotcell-.
Result<std::vector<CachedImage>> cached_images(const EngineClient& client);

}  // namespace hotcell::backends
