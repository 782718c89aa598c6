// Processes by descriptor: a pidfd cannot be reused under us, a pid can.
#pragma once
#include <linux/sched.h>
#include <sched.h>
#include <sys/resource.h>

#include <cstdint>
#include <optional>

#include "sys/fd.h"

namespace hotcell::sys {

struct Child {
  int pid = 0;
  Fd pidfd;
};

// clone3 with CLONE_VM|CLONE_VFORK: the child borrows this process's memory on a stack of its own until it execs, so
// nothing is copied however large we are. `body` must make raw system calls only and end in execve or _exit.
// `cgroup_fd` ≥ 0 adds CLONE_INTO_CGROUP. Where clone3 is hidden, clone does it, but for cgroups and time namespaces.
Result<Child> clone_vfork(std::uint64_t flags, int cgroup_fd, void (*body)(void*) noexcept, void* argument);

Result<void> signal_pidfd(int pidfd, int signal);
struct Reaped {
  int status = 0;
  struct rusage usage {};
};
Result<std::optional<Reaped>> reap(int pid, bool block);

// What a shell gives is often 1024 descriptors, and a cell takes a score of them here. For this process and those it starts; as far as
// the hard limit goes, and no further than `most`: some programs go through all that there could be.
constexpr rlim_t kEnoughFiles = 65536;
void raise_open_files(rlim_t most = kEnoughFiles);

}  // namespace hotcell::sys
