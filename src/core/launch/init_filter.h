// What init may still do once the program runs: reap, report, exit. Everything else kills it, and with it the cell.
#pragma once
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <sys/syscall.h>

namespace hotcell {

#if defined(__x86_64__)
inline constexpr unsigned kInitArch = AUDIT_ARCH_X86_64;
#define HOTCELL_INIT_POLL SYS_poll
#else
inline constexpr unsigned kInitArch = AUDIT_ARCH_AARCH64;
#define HOTCELL_INIT_POLL SYS_ppoll
#endif

#define HOTCELL_ALLOW(nr) BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, (nr), 0, 1), BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW)
inline constexpr sock_filter kInitFilter[] = {
    BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, arch)),
    BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, kInitArch, 1, 0),
    BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS),
    BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, nr)),
    HOTCELL_ALLOW(HOTCELL_INIT_POLL),
    HOTCELL_ALLOW(SYS_wait4),
    HOTCELL_ALLOW(SYS_read),
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
