// What init may still do once the program runs: reap, report, exit. Everything else kills it, and with it the cell.
// The kernel tries a new filter with the number of every call there is: those beyond the last are sorted out first.
#pragma once
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <sys/syscall.h>

namespace hotcell {

#if defined(__x86_64__)
inline constexpr unsigned kInitArch = AUDIT_ARCH_X86_64, kInitLastCall = SYS_exit_group;
#else
inline constexpr unsigned kInitArch = AUDIT_ARCH_AARCH64, kInitLastCall = SYS_wait4;
#endif
static_assert(SYS_wait4 <= kInitLastCall && SYS_sendto <= kInitLastCall && SYS_clock_gettime <= kInitLastCall && SYS_exit_group <= kInitLastCall &&
              SYS_exit <= kInitLastCall && SYS_restart_syscall <= kInitLastCall && SYS_rt_sigreturn <= kInitLastCall);

#define HOTCELL_ALLOW(nr) BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, (nr), 0, 1), BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW)
inline constexpr sock_filter kInitFilter[] = {
    BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, arch)),
    BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, kInitArch, 1, 0),
    BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS),
    BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, nr)),
    BPF_JUMP(BPF_JMP | BPF_JGT | BPF_K, kInitLastCall, 0, 1),
    BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS),
    HOTCELL_ALLOW(SYS_wait4),
    HOTCELL_ALLOW(SYS_sendto),
    HOTCELL_ALLOW(SYS_clock_gettime),  // where the clock cannot be read without asking the kernel
    HOTCELL_ALLOW(SYS_exit_group),
    HOTCELL_ALLOW(SYS_exit),
    HOTCELL_ALLOW(SYS_restart_syscall),
    HOTCELL_ALLOW(SYS_rt_sigreturn),
    BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS),
};
#undef HOTCELL_ALLOW
inline constexpr sock_fprog kInitProgram = {sizeof kInitFilter / sizeof kInitFilter[0], const_cast<sock_filter*>(kInitFilter)};

}  // namespace hotcell
