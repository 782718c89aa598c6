// PR: other processes, identity and privileges. Lifetimes are in lifetime_test.cc.
#include <fcntl.h>
#include <grp.h>
#include <linux/capability.h>
#include <linux/sched.h>
#include <sched.h>
#include <signal.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <termios.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>

#include "escape/escape.h"

namespace hotcell::testing {
namespace {

pid_t victim() { return scene_number("S_PID"); }

// The controlling terminal of a session of our own: the one on which the kernel would let us push input.
int terminal_ioctl(unsigned long request) {
  ::setsid();
  int master = ::posix_openpt(O_RDWR | O_NOCTTY | O_CLOEXEC);
  if (master < 0 || ::grantpt(master) != 0 || ::unlockpt(master) != 0) return -3;
  int fd = ::open(::ptsname(master), O_RDWR | O_CLOEXEC);
  if (fd < 0) return -3;
  char c = 'x';
  return result_of(::syscall(SYS_ioctl, fd, request, &c));
}
int raise_limit(int resource) {
  rlimit limit{};
  ::getrlimit(static_cast<__rlimit_resource>(resource), &limit);
  limit.rlim_max = limit.rlim_cur = limit.rlim_max == RLIM_INFINITY ? RLIM_INFINITY : limit.rlim_max + 4096;
  return result_of(::setrlimit(static_cast<__rlimit_resource>(resource), &limit));
}

// clang-format off
const Area kOthers({
    {"PR-01a", "signal a host process",
     [] { return result_of(::kill(victim(), 0)); }, ESRCH, {}, {.landlock = EPERM, .structure = ESRCH}},
    {"PR-01b", "signal a host thread",
     [] { return result_of(::syscall(SYS_tgkill, victim(), victim(), 0)); },
     ESRCH, {}, {.landlock = EPERM, .structure = ESRCH}},
    {"PR-01c", "a descriptor for a host process",
     [] { return result_of(::syscall(SYS_pidfd_open, victim(), 0)); }, ESRCH, {}, {.structure = ESRCH}},
    {"PR-01d", "queue a signal to a host process",
     [] {
       siginfo_t info{};
       info.si_code = SI_QUEUE;
       return result_of(::syscall(SYS_rt_sigqueueinfo, victim(), 0, &info));
     },
     ESRCH, {}, {.landlock = EPERM, .structure = ESRCH}},
    {"PR-01e", "signal the cell's init",
     [] { return result_of(::kill(::getppid(), 0)); }, EPERM, {}, {.landlock = EPERM}},
    {"PR-02a", "ptrace a host process",
     [] { return result_of(::ptrace(static_cast<__ptrace_request>(PTRACE_SEIZE), victim(), 0, 0)); },
     EPERM, {}, {.seccomp = EPERM, .landlock = EPERM, .structure = ESRCH}, "ptrace"},
    {"PR-02b", "read a host process's memory",
     [] {
       char byte;
       static const char kHere = 'x';
       iovec mine = {&byte, 1}, theirs = {const_cast<char*>(&kHere), 1};
       return result_of(::process_vm_readv(victim(), &mine, 1, &theirs, 1, 0));
     },
     EPERM, {}, {.seccomp = EPERM, .landlock = EPERM, .structure = ESRCH}, "process_vm_readv"},
    {"PR-02c", "a host process's memory by /proc",
     [] { return result_of(::open(("/proc/" + std::to_string(victim()) + "/mem").c_str(), O_RDONLY)); },
     ENOENT, {}, {.landlock = EACCES, .structure = ENOENT}},
    {"PR-02d", "be traced by the parent",
     [] { return result_of(::ptrace(PTRACE_TRACEME, 0, 0, 0)); }, EPERM, {}, {.seccomp = EPERM}, "ptrace"},
    {"PR-03", "take a descriptor out of another process",
     [] {
       int self = static_cast<int>(::syscall(SYS_pidfd_open, ::getpid(), 0));
       return result_of(::syscall(438, self, 1, 0));
     },
     EPERM, {}, {.seccomp = EPERM}, "pidfd_getfd"},
    {"PR-04a", "join a namespace",
     [] { int fd = ::open("/proc/self/ns/uts", O_RDONLY | O_CLOEXEC); return result_of(::setns(fd, 0)); },
     EPERM, {kOpen, EPERM}, {.seccomp = EPERM, .structure = EPERM}, "setns"},
    {"PR-04b", "the namespaces of a host process",
     [] { return result_of(::open(("/proc/" + std::to_string(victim()) + "/ns/mnt").c_str(), O_RDONLY)); },
     ENOENT, {}, {.structure = ENOENT}},
    {"PR-05a", "change a host process's limits",
     [] { rlimit old; return result_of(::prlimit(victim(), RLIMIT_NOFILE, nullptr, &old)); },
     ESRCH, {}, {.structure = ESRCH}},
    {"PR-05b", "change a host process's priority",
     [] { return result_of(::setpriority(PRIO_PROCESS, static_cast<id_t>(victim()), 5)); },
     ESRCH, {}, {.structure = ESRCH}},
    {"PR-05c", "change a host process's processors",
     [] { cpu_set_t set; return result_of(::sched_getaffinity(victim(), sizeof set, &set)); },
     ESRCH, {}, {.structure = ESRCH}},
    {"PR-06", "see a host process",
     [] { return result_of(::open(("/proc/" + std::to_string(victim()) + "/cmdline").c_str(), O_RDONLY)); },
     ENOENT, {}, {.structure = ENOENT}},
});
// clang-format on

// clang-format off
const Area kNamespacesAndTerminals({
    {"PR-07a", "a nested user namespace by unshare",
     [] { return result_of(::unshare(CLONE_NEWUSER)); }, EPERM, {}, {.seccomp = EPERM}, "unshare"},
    {"PR-07b", "a nested user namespace by clone",
     [] {
       long pid = ::syscall(SYS_clone, CLONE_NEWUSER | SIGCHLD, nullptr, nullptr, nullptr, nullptr);
       if (pid == 0) ::_exit(0);
       int err = errno;
       if (pid > 0) ::waitpid(static_cast<pid_t>(pid), nullptr, 0);
       return pid < 0 ? err : kOpen;
     },
     EPERM, {}, {.seccomp = EPERM}, "clone"},
    {"PR-07c", "a nested network namespace",
     [] { return result_of(::unshare(CLONE_NEWNET)); },
     EPERM, {kOpen, EPERM}, {.seccomp = EPERM, .structure = EPERM}, "unshare"},
    {"PR-07d", "a nested mount namespace",
     [] { return result_of(::unshare(CLONE_NEWNS)); },
     EPERM, {kOpen, EPERM}, {.seccomp = EPERM, .structure = EPERM}, "unshare"},
    {"PR-08", "clone3, whose flags a filter cannot see",
     [] { return result_of(::syscall(SYS_clone3, nullptr, 0)); }, ENOSYS, {EINVAL, EINVAL}, {.seccomp = ENOSYS}},
    {"PR-10", "TIOCSTI",
     [] { return terminal_ioctl(TIOCSTI); }, EPERM, {kDiffers, kDiffers}, {.seccomp = EPERM}, "ioctl"},
    {"PR-11", "TIOCSTI with high bits set",
     [] { return terminal_ioctl(TIOCSTI | (1UL << 32)); }, EPERM, {kDiffers, kDiffers}, {.seccomp = EPERM}, "ioctl"},
    {"PR-12", "TIOCLINUX",
     [] { return terminal_ioctl(TIOCLINUX); }, EPERM, {kDiffers, kDiffers}, {.seccomp = EPERM}, "ioctl"},
    {"PR-12b", "TIOCSETD, a line discipline",
     [] { return terminal_ioctl(TIOCSETD); }, EPERM, {kDiffers, kDiffers}, {.seccomp = EPERM}, "ioctl"},
});
// clang-format on

// clang-format off
const Area kPrivileges({
    {"PR-26a", "become root",
     [] { return result_of(::syscall(SYS_setuid, 0)); }, EINVAL, {kOpen, EPERM}, {.structure = EINVAL}},
    {"PR-26b", "become another user of the host",
     [] { return result_of(::syscall(SYS_setresuid, 1, 1, 1)); }, EINVAL, {kOpen, EPERM}, {.structure = EINVAL}},
    {"PR-26c", "take another group",
     [] { gid_t g = 0; return result_of(::setgroups(1, &g)); }, EPERM, {kOpen, EPERM}, {.structure = EPERM}},
    {"PR-26d", "raise capabilities",
     [] {
       __user_cap_header_struct header = {_LINUX_CAPABILITY_VERSION_3, 0};
       __user_cap_data_struct data[2] = {};
       data[0].effective = data[0].permitted = 1u << CAP_CHOWN;
       return result_of(::syscall(SYS_capset, &header, data));
     },
     EPERM, {kOpen, EPERM}, {.structure = EPERM}},
    {"PR-27a", "run without no_new_privs",
     [] { return ::prctl(PR_GET_NO_NEW_PRIVS, 0, 0, 0, 0) == 1 ? EPERM : kOpen; }, EPERM, {}, {.structure = EPERM}},
    {"PR-27b", "take no_new_privs back",
     [] { return result_of(::prctl(PR_SET_NO_NEW_PRIVS, 0, 0, 0, 0)); },
     EINVAL, {EINVAL, EINVAL}, {.structure = EINVAL}},
    {"PR-31a", "a higher priority",
     [] { return result_of(::setpriority(PRIO_PROCESS, 0, -5)); }, EACCES, {kDiffers, EACCES}, {.structure = EACCES}},
    {"PR-31b", "real-time scheduling",
     [] { sched_param p = {10}; return result_of(::sched_setscheduler(0, SCHED_FIFO, &p)); },
     EPERM, {kDiffers, EPERM}, {.structure = EPERM}},
    {"PR-32", "be spared by the OOM killer",
     [] { return result_of(::open("/proc/self/oom_score_adj", O_WRONLY)); },
     EROFS, {}, {.landlock = EACCES, .structure = EROFS}},
    {"PR-33", "core dumps", [] { return raise_limit(RLIMIT_CORE); }, EPERM, {kDiffers, kDiffers}, {.structure = EPERM}},
});
// clang-format on

}  // namespace
}  // namespace hotcell::testing
