// The few facts of this host that a plan depends on, read once per launcher in well under 0.1 ms. What this kernel
// could do in principle is sys/probe's question; this asks only what planning needs.
#pragma once
#include <sys/types.h>

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "core/kernel/lsm.h"
#include "hotcell/result.h"

namespace hotcell {

enum class CgroupVersion : unsigned char { kNone, kV1, kV2 };

struct CgroupHost {
  CgroupVersion version = CgroupVersion::kNone;
  std::string why_not;                  // when kNone, or when a controller is missing
  struct Controller {
    std::string name, folder;
  };
  // memory, pids, cpu, cpuacct, freezer as far as they are there. Controllers that are mounted together (cpu,cpuacct)
  // have the same folder: one group there serves both, and is made and joined once.
  std::vector<Controller> v1;
  std::string v2_folder;                // …/hotcell
  bool memory = false, pids = false, cpu = false, cpuacct = false;

  // v1: the folders in which a cell has a group, each once; in one order for who makes the groups and who plans to join
  // them. The freezer is no limit, and cpu is none without a quota.
  struct Joined {
    std::string folder;
    std::vector<std::string> controllers;
  };
  std::vector<Joined> joined(bool quota) const;
};

// What a mountinfo text says, before anybody has tried what may be written.
struct CgroupMounts {
  std::vector<CgroupHost::Controller> v1;
  std::string v2;                       // mount point
};
CgroupMounts read_cgroup_mounts(std::string_view mountinfo);

struct Host {
  uid_t uid = 0;
  gid_t gid = 0;
  bool privileged = false;              // root with a full id map: cells get ids of their own
  std::uint32_t tasks_beside = 0;       // see tasks_beside()
  bool extra_groups = false;            // supplementary groups that an unprivileged user namespace cannot drop
  int landlock_abi = 0;                 // 0: none
  unsigned last_cap = 40;
  std::uint64_t inotify_instances = 128, inotify_watches = 8192;  // that a user may have, root too
  bool core_pipe = false;               // core_pattern starts with '|': RLIMIT_CORE 0 does not stop it, 1 does
  CgroupHost cgroup;
  LsmFacts lsm;
  // Cells of this launcher have /dev/kvm besides: of the one around a machine (core/launch/around_machine.h) and of no other.
  // Here and not in the policy, so that no profile, grant or request can ask for it.
  bool kvm_device = false;

  static Result<Host> look();
};

// Of the whole process, before its launcher is made. Without a user namespace RLIMIT_NPROC counts all tasks of a user, and a
// daemon's own and those of its other cells are the same user's: this many are left to them.
std::uint32_t& tasks_beside();

}  // namespace hotcell
