// Policy + facts of this host → the exact list of kernel operations. Pure but for looking at the granted paths.
#pragma once
#include <memory>
#include <string>

#include "core/kernel/grants.h"
#include "core/kernel/host.h"
#include "core/kernel/landlock.h"
#include "core/kernel/plan_builder.h"
#include "hotcell/policy.h"
#include "sys/fd.h"

namespace hotcell {

// kOuter: no walls of ours. Limits, bounded output and the whole tree's end are ours, the walls are those of the tool
// that is run there (src/backends).
enum class BackendKind : unsigned char { kNative, kLandlock, kOuter };

// What the cell's cgroup is made with. Only of a native cell is it known what of its shared memory is files (cell_watch.cc). Elsewhere the
// workspace is a folder of the host's, and shared mappings, or all that gVisor gives its guest, would have the room of files
// besides: there all of it is memory, files in a tool's own tmpfs included.
inline Limits group_limits(Limits limits, BackendKind backend) {
  if (backend != BackendKind::kNative) limits.disk = {};
  return limits;
}

struct Plan {
  Policy policy;
  BackendKind backend = BackendKind::kNative;
  Grants grants;
  PlanBuilder builder;
  std::uint64_t clone_flags = 0;
  bool landlock_broad = false, landlock_tight = false, seccomp = false, listener = false;
  std::string workspace = "/work"; // as the program sees it
  std::vector<std::uint32_t> observed;       // calls that the listener only watches; everything else it hears of is refused
  std::vector<std::uint32_t> marks;          // calls that the launcher carries out for the program (file_marks.cc)
  std::vector<LandlockRule> landlock_rules;  // of the tight layer
  sys::Fd bytes;                   // sealed; mapped by every init of this plan
};

enum class PlanPurpose { kRun, kExplain };
// Without namespaces: what was made for this one cell already, since its plan names it.
struct FlatCell {
  std::string workspace;
  unsigned id = 0;  // host uid and gid when privileged, else 0
  bool own_rlimits = false;
  bool many_threads = false;  // it opens many files from many threads: see kRoomForFiles
};
Result<std::shared_ptr<Plan>> make_plan(const Policy& policy, const Host& host, BackendKind backend, PlanPurpose purpose,
                                        const FlatCell& flat = {});

}  // namespace hotcell
