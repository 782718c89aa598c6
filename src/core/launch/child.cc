#include "core/launch/child.h"

#include <fcntl.h>
#include <linux/capability.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>

#include "base/strings.h"
#include "core/kernel/ops.h"

#ifndef SYS_close_range
#define SYS_close_range 436
#endif

namespace hotcell {
namespace {

// Descriptor k of `sources` becomes descriptor `k` of init.
struct ChildArgs {
  const int* sources;
  unsigned count;
  int init_fd;
  bool keep_caps;
  int error = 0;  // written by the child into memory it shares with us until it execs
};

// Capabilities init needs over its own namespaces. They must be ambient: without a mapped uid 0 exec drops the rest.
constexpr int kInitCaps[] = {CAP_SETUID, CAP_SETGID, CAP_SETPCAP, CAP_NET_ADMIN, CAP_NET_BIND_SERVICE, CAP_SYS_ADMIN,
                             CAP_DAC_OVERRIDE, CAP_SYS_RESOURCE};

long raise_ambient() noexcept {
  __user_cap_header_struct header = {_LINUX_CAPABILITY_VERSION_3, 0};
  __user_cap_data_struct data[2] = {};
  if (::syscall(SYS_capget, &header, data) < 0) return errno;
  for (int cap : kInitCaps) data[cap / 32].inheritable |= 1u << (cap % 32);
  if (::syscall(SYS_capset, &header, data) < 0) return errno;
  for (int cap : kInitCaps)
    if (::syscall(SYS_prctl, PR_CAP_AMBIENT, PR_CAP_AMBIENT_RAISE, cap, 0, 0) < 0) return errno;
  return 0;
}

void become_init(void* raw) noexcept {
  auto* args = static_cast<ChildArgs*>(raw);
  auto give_up = [&](int err) {
    args->error = err;
    ::syscall(SYS_exit_group, 127);
  };
  // In two steps: first copies that are out of the way, on numbers the kernel finds free. A launcher with many cells
  // has descriptors everywhere, and one of these may sit on a number that another is to have.
  constexpr int kAway = kFirstInheritedFd + static_cast<int>(kMaxSlots);
  int copies[kFirstInheritedFd + kMaxSlots];
  long init = ::syscall(SYS_fcntl, args->init_fd, F_DUPFD_CLOEXEC, kAway);
  if (init < 0) return give_up(errno);
  for (unsigned i = 0; i < args->count; ++i) {
    copies[i] = -1;
    if (args->sources[i] < 0) continue;
    copies[i] = static_cast<int>(::syscall(SYS_fcntl, args->sources[i], F_DUPFD_CLOEXEC, kAway));
    if (copies[i] < 0) return give_up(errno);
  }
  for (unsigned i = 0; i < args->count; ++i) {
    if (copies[i] < 0) ::syscall(SYS_close, i);
    else if (::syscall(SYS_dup3, copies[i], i, 0) < 0) return give_up(errno);
  }
  // Everything else is close-on-exec by our own rule; this is for what others opened without it (CVE-2024-21626).
  // Refused (old container filters answer EPERM to what they do not know), it would hand them to the program.
  if (::syscall(SYS_close_range, args->count, init - 1, 0) < 0) return give_up(errno);
  if (::syscall(SYS_close_range, init + 1, ~0u, 0) < 0) return give_up(errno);
  if (args->keep_caps)
    if (long err = raise_ambient()) return give_up(static_cast<int>(err));
  char* const none[] = {nullptr};
  char* const argv[] = {const_cast<char*>(""), nullptr};
  ::syscall(SYS_execveat, init, "", argv, none, AT_EMPTY_PATH);
  give_up(errno);
}

}  // namespace

Result<sys::Child> start_init(const Plan& plan, std::uint64_t clone_flags, int init_fd, int cgroup_fd, const ChildFds& fds) {
  int sources[kFirstInheritedFd + kMaxSlots];
  unsigned count = 0;
  for (int fd : fds.standard) sources[count++] = fd;
  sources[count++] = fds.ctl;
  sources[count++] = fds.prog;
  sources[count++] = plan.bytes.get();
  // Without a lock the number is taken all the same, so that nothing init opens lands on it.
  sources[count++] = fds.lock >= 0 ? fds.lock : plan.bytes.get();
  for (int fd : fds.inherited) sources[count++] = fd;
  // The child would meet it, too, as an EINVAL that nobody understands.
  rlimit most{};
  const rlim_t needed = kFirstInheritedFd + kMaxSlots + count + 1;
  if (::getrlimit(RLIMIT_NOFILE, &most) == 0 && most.rlim_cur < needed)
    return Error{ErrorCode::kLimit, EMFILE, cat("making a cell takes ", needed, " descriptors, and this process may have ", most.rlim_cur,
                                                ": raise it (ulimit -n ", needed, ")")};
  ChildArgs args{sources, count, init_fd, clone_flags != 0};
  TRY_SET(sys::Child child, sys::clone_vfork(clone_flags, cgroup_fd, become_init, &args));
  if (args.error != 0) {
    sys::reap(child.pid, true).ignore("it has told us why it ended");
    return errno_error("exec init", args.error);
  }
  return child;
}

}  // namespace hotcell
