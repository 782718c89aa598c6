// Landlock: which paths may be touched and how, held by the kernel on the objects themselves. Two layers: the broad one
// (everything this profile could ever need; init has it too) and the tight one (this request, the program alone).
// What Landlock cannot forbid: chmod, chown, xattr, utime, stat (read-only mounts and the private root do), UDP and
// UNIX sockets by path (the net namespace and the private root do).
#pragma once
#include <cstdint>
#include <string>
#include <vector>

#include "core/kernel/grants.h"
#include "core/kernel/host.h"
#include "core/kernel/plan_builder.h"

namespace hotcell {

struct LandlockAbi {
  std::uint64_t fs = 0, net = 0, scoped = 0;  // every right this ABI can handle
  std::uint32_t attr_size = 0;
};
LandlockAbi landlock_abi(int version);  // 0 → nothing
std::string landlock_missing(int version);  // what this ABI cannot forbid, in words; empty: all that is asked of it

inline constexpr unsigned kNoSlot = ~0u;
struct LandlockRule {
  std::string path;
  std::uint64_t access;
};
struct LandlockSlots {
  unsigned broad = kNoSlot, tight = kNoSlot;  // kNoSlot: not in the plan
  std::vector<LandlockRule> rules;            // of the tight one, for those who explain a denial
};

// Adds the rulesets and their rules (in init, after pivot_root: a rule on a folder that gets something mounted over it
// would be skipped). Restricting is left to the caller: broad before the fork, tight after it.
LandlockSlots plan_landlock(const Policy& policy, const Host& host, const Grants& grants, PlanBuilder& plan);

// The same for the `landlock` backend, on the host's own tree. `workspace` is the only private folder.
Result<LandlockSlots> plan_landlock_flat(const Policy& policy, const Host& host, const Grants& grants, const std::string& workspace,
                                         PlanBuilder& plan);

}  // namespace hotcell
