// Sandboxes of a tool that are started before there is anything to run. Each waits for its orders behind its walls, in a
// folder and under limits of its own, serves one request of exactly its policy and is gone with it: no two requests ever
// meet in one. Starting costs most of what a short run does, and that is paid ahead.
#pragma once
#include <chrono>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "backends/tool_run.h"
#include "hotcell/launcher.h"

namespace hotcell::backends {

// What a sandbox was shown of the host when it was started. A file that is replaced since, or something that is mounted there,
// it would go on not to see.
std::string seen_now(const std::vector<std::string>& sources);

class Warm {
 public:
  struct Started {
    std::shared_ptr<ToolRun> run;
    std::shared_ptr<const Runtime> runtime;
    Policy outer;                        // what it is parked by
    std::vector<std::string> sources;    // on the host
    std::string seen;
    std::chrono::steady_clock::time_point since{};
    bool ready = false;
  };
  using Make = std::function<Result<Started>(const Policy&)>;
  explicit Warm(Make make) : make_(std::move(make)) {}

  void want(const Policy& policy, std::size_t count);
  std::size_t ready(const Launcher& outer, const Policy& policy) const;
  // The oldest that waits and still shows what is there. The caller hands over its request and then says leave().
  std::optional<Started> take(Launcher& outer, const Policy& policy);
  void leave(Launcher& outer, const Started& started);
  // In idle time: what has died is forgotten, what is missing is started, one at a time.
  void tend(Launcher& outer);

 private:
  struct Shelf {
    Policy policy;
    std::size_t wanted = 0;
    unsigned lost = 0;                   // since one was last of use
    std::vector<Started> stock;
  };
  Shelf* find(const Policy& policy);
  const Shelf* find(const Policy& policy) const;
  void drop(Launcher& outer, Shelf& shelf, std::size_t index);

  Make make_;
  std::vector<Shelf> shelves_;
};

}  // namespace hotcell::backends
