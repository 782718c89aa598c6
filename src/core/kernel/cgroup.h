// A cell's own group of limits. v1 and v2 behind one face; each in its own file.
#pragma once
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "core/kernel/host.h"
#include "hotcell/policy.h"
#include "hotcell/report.h"
#include "sys/fd.h"

namespace hotcell {

struct CgroupSample {
  Nanoseconds cpu{0}, cpu_user{0}, cpu_system{0};
  Bytes memory;            // charged now, page cache and tmpfs included
  Bytes anonymous;         // what the program itself uses
  Bytes shared;            // kept in tmpfs: files, and memory that is shared or has a descriptor
  Bytes memory_peak;
  std::uint32_t tasks = 0, tasks_peak = 0;
  std::uint64_t oom_kills = 0, pids_refused = 0;
};

class Cgroup {
 public:
  virtual ~Cgroup() = default;                          // removes it
  virtual int clone_fd() const = 0;                     // v2: for CLONE_INTO_CGROUP; -1 on v1
  virtual std::vector<int> tasks_fds() = 0;             // v1: where the child writes "0", one per hierarchy
  virtual Result<void> start_counting() = 0;            // forget what set-up used
  virtual void rest() = 0;                              // a cell that may wait for long: nothing is held that can be opened again
  // cpu, memory, tasks. `anonymous` and `shared` are left out (0) where all that is charged is less than `unless_below`.
  virtual CgroupSample cheap_sample(Bytes unless_below) = 0;
  virtual CgroupSample full_sample() = 0;               // and everything else, for the account
  virtual int memory_event_fd() const = 0;              // readable when the kernel ran out of memory for it; -1: sampling will tell
  virtual void kill_all() = 0;
  virtual Result<void> freeze(bool frozen) = 0;         // every process stops where it is; on v1 it must be thawed to die
  // What can be read again or swapped out is given back to the host, beside the caller: it may take a while.
  virtual void reclaim() = 0;
  virtual bool remove() = 0;                            // false: still busy, try again
  // It can serve another cell, whose account could not tell it from a new one, unless it is spoilt for good; once it is at rest.
  virtual bool spoilt() = 0;
  virtual bool at_rest() = 0;                           // empty, and what was charged to it is given back
  const Limits& limits() const { return limits_; }
  const std::string& name() const { return name_; }     // of its folder, in every hierarchy

 protected:
  Limits limits_;
  std::string name_;
};

// The kernel's ceiling is memory + disk, because tmpfs pages are charged to the writer; the supervisor ends a cell whose
// own memory passes `memory`. A controller that is not there is left out and reported so.
Result<std::unique_ptr<Cgroup>> create_cgroup_v1(const CgroupHost& host, const std::string& name, const Limits& limits);
Result<std::unique_ptr<Cgroup>> create_cgroup_v2(const CgroupHost& host, const std::string& name, const Limits& limits);
Result<std::unique_ptr<Cgroup>> create_cgroup(const CgroupHost& host, const Limits& limits);

// Writes in a thread of its own; whether it helped is the kernel's affair.
void reclaim_by(sys::Fd file, std::string bytes);

// Names are `<launcher pid>-<its start time>.<its pid namespace>-<n>`: a group whose launcher is gone is stale.
void sweep_cgroups(const CgroupHost& host);

// A tool may make a group in every hierarchy of the host, also in those that we have no use for: hotcell/NAME there, with
// what is left in it, and the same of launchers that are gone. False: one is busy still; a process that is dying is listed no
// longer, and yet keeps its group for a moment.
std::string new_group_name();
bool remove_group_everywhere(const std::string& name);
void sweep_groups_everywhere();

}  // namespace hotcell
