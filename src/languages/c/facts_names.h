// Names of the C library that reach outside the program. A mere reference to one counts (a pointer is called later);
// of all other functions only calls are reported.
#pragma once
#include <string_view>
#include <unordered_set>

namespace hotcell::c {

inline constexpr std::string_view kReachOut[] = {
    "PROT_EXEC", "__libc_dlopen_mode", "__libc_dlsym", "__libc_system", "accept", "accept4", "access", "acct", "bind", "bpf",
    "chdir", "chmod", "chown", "chroot", "clone", "clone3", "connect", "creat", "delete_module", "dlinfo", "dlmopen",
    "dlopen", "dlsym", "dlvsym", "execl", "execle", "execlp", "execv", "execve", "execveat", "execvp", "execvpe",
    "faccessat", "fanotify_init", "fchmod", "fchmodat", "fchown", "fchownat", "fexecve", "finit_module", "fopen",
    "fopen64", "fork", "forkpty", "freopen", "ftw", "getaddrinfo", "gethostbyname", "gethostbyname2", "init_module",
    "initgroups", "io_uring_setup", "ioperm", "iopl", "kexec_load", "keyctl", "kill", "killpg", "lchown", "link", "linkat",
    "listen", "memfd_create", "memfd_secret", "mkfifo", "mknod", "mknodat", "mlockall", "mmap", "mount", "mprotect",
    "name_to_handle_at", "nftw", "open", "open64", "open_by_handle_at", "openat", "openat2", "opendir", "perf_event_open",
    "personality", "pidfd_getfd", "pidfd_open", "pidfd_send_signal", "pivot_root", "pkey_mprotect", "popen", "posix_spawn",
    "posix_spawnp", "prctl", "process_vm_readv", "process_vm_writev", "ptrace", "putenv", "readlink", "reboot", "remove",
    "rename", "renameat", "renameat2", "rmdir", "sendto", "setenv", "seteuid", "setegid", "setfsgid", "setfsuid", "setgid",
    "setgroups", "setns", "setregid", "setresgid", "setresuid", "setreuid", "setuid", "socket", "socketpair", "stat",
    "swapoff", "swapon", "symlink", "symlinkat", "syscall", "system", "tkill", "tgkill", "truncate", "umount", "umount2",
    "unlink", "unlinkat", "unshare", "userfaultfd", "vfork", "vmsplice", "wordexp"};

inline bool reaches_out(std::string_view name) {
  static const std::unordered_set<std::string_view> names(std::begin(kReachOut), std::end(kReachOut));
  return name.size() >= 3 && name.size() <= 20 && names.contains(name);
}

// __builtin_execve is execve to the compiler.
inline std::string_view library_name(std::string_view name) {
  constexpr std::string_view kPrefix = "__builtin_";
  return name.starts_with(kPrefix) && reaches_out(name.substr(kPrefix.size())) ? name.substr(kPrefix.size()) : name;
}

}  // namespace hotcell::c
