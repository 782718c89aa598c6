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
Result<void> check_required(const Policy& policy, const std::vector<LayerReport>& walls);
// Each waiver that was made use of, for the result.
std::vector<Denial> told_waivers(const Backend& backend, const Policy& policy, const std::vector<std::string>& waived);

// The same walls for every request of a policy: read back once, by a run of its own.
class Postures {
 public:
  // `open`: a launcher like the one that asks, which reads nothing back.
  using Open = std::function<Result<std::unique_ptr<Launcher>>()>;
  Result<std::vector<LayerReport>> of(const Backend& backend, const Policy& policy, Nanoseconds patience, const Open& open);

 private:
  std::vector<std::pair<Policy, std::vector<LayerReport>>> known_;
};

}  // namespace hotcell::backends
