// The cgroup that an engine made for a container, read through /proc of its first process: what it uses, as far as this
// host shows it. Reads only.
#pragma once
#include <string>

#include "hotcell/report.h"

namespace hotcell::backends {

class EngineGroup {
 public:
  // Nothing when the process is not there, or its groups do not carry the container's id (another pid namespace).
  static EngineGroup of(long long pid, const std::string& id);
  bool known() const { return !cpu_.empty(); }
  bool sample(Usage& usage, LiveUsage& now) const;   // false: it is gone

 private:
  bool v2_ = false;
  std::string cpu_, memory_, pids_;                  // folders
};

}  // namespace hotcell::backends
