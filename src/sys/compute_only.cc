#include "sys/compute_only.h"

#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>

namespace hotcell::sys {
namespace {

#if defined(__x86_64__)
constexpr unsigned kArch = AUDIT_ARCH_X86_64;
#else
constexpr unsigned kArch = AUDIT_ARCH_AARCH64;
#endif

Result<void> limit(decltype(RLIMIT_AS) what, rlim_t most, const char* name) {
  rlimit have{};
  if (::getrlimit(what, &have) == 0 && have.rlim_max < most) most = have.rlim_max;  // never above what we were given
  rlimit want{most, most};
  if (::setrlimit(what, &want) < 0) return errno_error(name, errno);
  return {};
}

#define ALLOW(nr) BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, (nr), 0, 1), BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW)
// Number `nr` jumps to the look at the protection, `left` instructions further on.
#define PROTECTION(nr, left) BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, (nr), (left), 0)
constexpr sock_filter kFilter[] = {
    BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, arch)),
    BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, kArch, 1, 0),
    BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS),
    BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, nr)),
    ALLOW(SYS_read),
    ALLOW(SYS_write),
    ALLOW(SYS_recvfrom),
    ALLOW(SYS_sendto),
    ALLOW(SYS_munmap),
    ALLOW(SYS_mremap),
    ALLOW(SYS_brk),
    ALLOW(SYS_madvise),
    ALLOW(SYS_futex),
    ALLOW(SYS_clock_gettime),
    ALLOW(SYS_restart_syscall),
    ALLOW(SYS_rt_sigreturn),
    ALLOW(SYS_exit),
    ALLOW(SYS_exit_group),
    PROTECTION(SYS_mmap, 2),
    PROTECTION(SYS_mprotect, 1),
    BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS),
    // Both have the protection as their third argument. Memory that can be executed is not a parser's business.
    BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, args) + 2 * sizeof(__u64)),
    BPF_JUMP(BPF_JMP | BPF_JSET | BPF_K, PROT_EXEC, 0, 1),
    BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS),
    BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
};
#undef ALLOW
#undef PROTECTION

}  // namespace

Result<void> compute_only(const ComputeLimits& limits) {
  if (::prctl(PR_SET_DUMPABLE, 0) < 0) return errno_error("PR_SET_DUMPABLE", errno);
  TRY(limit(RLIMIT_CORE, 0, "RLIMIT_CORE"));
  TRY(limit(RLIMIT_NOFILE, limits.descriptors, "RLIMIT_NOFILE"));
  if (!limits.writes_files) TRY(limit(RLIMIT_FSIZE, 0, "RLIMIT_FSIZE"));
  TRY(limit(RLIMIT_CPU, limits.cpu_seconds, "RLIMIT_CPU"));
  if (::prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0) return errno_error("PR_SET_NO_NEW_PRIVS", errno);
#ifdef HOTCELL_SANITIZED
  (void)kFilter;  // a sanitizer reserves terabytes of address space and makes calls of its own
#else
  TRY(limit(RLIMIT_AS, limits.memory_bytes, "RLIMIT_AS"));
  sock_fprog program{sizeof kFilter / sizeof kFilter[0], const_cast<sock_filter*>(kFilter)};
  if (::syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0, &program) < 0) return errno_error("seccomp", errno);
#endif
  return {};
}

}  // namespace hotcell::sys
