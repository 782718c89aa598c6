// The optional outer wall: where AppArmor is active and its administrator has loaded our profile
// (packaging/apparmor/hotcell-cell), the program is confined by it from its exec on. Mandatory, so it holds even where
// a bug of ours left something open; optional, since only an administrator can load a profile.
#pragma once
#include <string>
#include <string_view>

#include "core/kernel/plan_builder.h"

namespace hotcell {

inline constexpr std::string_view kLsmProfile = "hotcell-cell";

struct LsmFacts {
  bool apparmor = false, selinux = false;  // switched on, not merely compiled in
  std::string label;                       // of this process under AppArmor: "unconfined", or a profile and its mode
};
LsmFacts look_at_lsms();

struct LsmChoice {
  bool transition = false;
  std::string why_not;
};
LsmChoice choose_lsm(const LsmFacts& facts);

// First of all operations: later /proc is read-only and Landlock forbids writing to it. The request is the kernel's to
// keep until exec, and the program's process inherits it from init. A profile that is not loaded is no error here:
// what is in force is read back from the kernel.
void plan_lsm(const LsmChoice& choice, PlanBuilder& plan);

// What /proc/PID/attr/apparmor/exec says will happen at exec: "hotcell-cell (enforce)".
enum class LsmPending { kNone, kComplain, kEnforce };
LsmPending parse_lsm_exec(std::string_view text);

}  // namespace hotcell
