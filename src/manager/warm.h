// Runtimes kept waiting: which requests they fit, and how they are made.
#pragma once
#include <memory>
#include <vector>

#include "manager/pipeline.h"

namespace hotcell {

class WarmRuntimes {
 public:
  // Keeps `count` runtimes of the language waiting for programs under this policy; 0: none any more. The policy's limits
  // are raised to what the runtime needs where that is allowed, as plan_run does. Languages that cannot wait, and
  // policies with `warm: false`, are an error.
  Result<void> keep(Launcher& launcher, Pipeline& pipeline, const Language& language, Policy policy, MayRaise raise,
                    std::size_t count);

  // After plan_run: names the runtime that would do for the request, if one is kept.
  void offer(const ProgramSource& source, const Policy& policy, Request& request) const;

 private:
  struct Kept {
    const Language* language = nullptr;
    Policy policy;
    std::vector<std::string> cold, rich;  // how the same program would be started without it; rich: empty if it cannot
    std::map<std::string, std::string> env;
    std::shared_ptr<const Runtime> runtime;
  };
  std::vector<Kept> kept_;
};

}  // namespace hotcell
