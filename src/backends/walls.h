// What every launcher of foreign walls does alike: refuse before, account after.
#pragma once
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "backends/backend.h"
#include "hotcell/launcher.h"

namespace hotcell::backends {

// What is not held at all and not waived is refused; in part: it runs, and the result says which part.
Result<void> refuse_unheld(const Backend& backend, const Policy& policy, const std::vector<std::string>& waived);
// As a run of its own has found it: what the program stands behind, and the ceilings around it.
struct Posture {
  std::vector<LayerReport> walls, limits;
  bool own_kernel = false;   // another one than the host's answers inside
};
// What a backend says it holds and what was found inside must be the same: a tool that was replaced, wrapped or set up to do
// less is refused, unless the statement was waived.
Result<void> check_promises(const Backend& backend, const Policy& policy, const std::vector<std::string>& waived, const Posture& found);
Result<void> check_required(const Policy& policy, const Posture& found);
// Each waiver that was made use of, for the result.
std::vector<Denial> told_waivers(const Backend& backend, const Policy& policy, const std::vector<std::string>& waived);

// The same walls for every request of a policy: read back once, by a run of its own, and again when the tool is another file.
class Postures {
 public:
  // `open`: a launcher like the one that asks, which reads nothing back.
  using Open = std::function<Result<std::unique_ptr<Launcher>>()>;
  // `tool`: which file it is (tool_identity), empty for an engine.
  Result<Posture> of(const Backend& backend, const Policy& policy, const std::string& tool, Nanoseconds patience, const Open& open);

 private:
  std::string tool_;
  std::vector<std::pair<Policy, Posture>> known_;  // the oldest first
};

}  // namespace hotcell::backends
