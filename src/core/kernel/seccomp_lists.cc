#include "core/kernel/seccomp_lists.h"

#include <cerrno>

namespace hotcell {
namespace {

constexpr std::uint32_t kLow = 0xffffffff;
constexpr Condition eq(std::uint8_t arg, std::uint32_t value) { return {arg, Compare::kMaskedEqual, kLow, value}; }
constexpr Condition bits(std::uint8_t arg, std::uint32_t mask, std::uint32_t value) {
  return {arg, Compare::kMaskedEqual, mask, value};
}
constexpr Condition any(std::uint8_t arg, std::uint32_t mask) { return {arg, Compare::kAnyBit, mask, 0}; }

constexpr CallGroup kGroups[] = {
    // Allowed: what programs are made of, and what reaches only the program's own objects.
    {kAllow, kBothBases,
     "read write readv writev pread64 pwrite64 preadv pwritev preadv2 pwritev2 lseek close close_range dup dup2 dup3 "
     "pipe pipe2 fcntl ioctl flock fsync fdatasync sync_file_range syncfs fallocate truncate ftruncate fadvise64 "
     "readahead sendfile copy_file_range",
     "descriptors that the cell was given or opened; the mounts and Landlock decide which those are"},
    {kAllow, kBothBases,
     "open openat creat stat fstat lstat newfstatat statx access faccessat faccessat2 readlink readlinkat getdents "
     "getdents64 getcwd chdir fchdir statfs fstatfs fgetxattr flistxattr",
     "names: the root shows only what the policy grants"},
    {kAllow, kBothBases, "getxattr lgetxattr getxattrat listxattr llistxattr listxattrat", "as other names", kNamespaces},
    {refuse(EOPNOTSUPP), kBothBases, "getxattr lgetxattr getxattrat listxattr llistxattr listxattrat",
     "without mounts of its own the caller's files are in reach by name, and Landlock does not look at attributes; the answer of a file "
     "system that has none",
     kFlat},
    {kAllow, kBothBases,
     "rename renameat renameat2 link linkat unlink unlinkat symlink symlinkat mkdir mkdirat rmdir chmod "
     "fchmod fchmodat fchmodat2 utime utimes futimesat utimensat umask",
     "changes to names: everything outside the writable grants is mounted read-only"},
    {kAllow, kBothBases, "chown fchown lchown fchownat", "without capabilities only a change to what it is already",
     kNamespaces},
    {refuse(EPERM), kBothBases, "chown fchown lchown fchownat",
     "without mounts of its own the caller's files are in reach, and Landlock does not look at owners; programs expect "
     "EPERM",
     kFlat},
    {kAllow, kBothBases,
     "poll ppoll select pselect6 epoll_create epoll_create1 epoll_ctl epoll_wait epoll_pwait epoll_pwait2 eventfd "
     "eventfd2 signalfd signalfd4 timerfd_create timerfd_settime timerfd_gettime inotify_rm_watch",
     "waiting"},
    {kAllow, kBothBases, "inotify_init inotify_init1 inotify_add_watch", "waiting for changes of what the root shows", kNamespaces},
    {kNotify, kBothBases, "inotify_init inotify_init1 inotify_add_watch",
     "tells the names in folders that Landlock keeps from being listed; a user has few instances, and without a user namespace "
     "those here are the caller's",
     kFlat},
    {kAllow, kBothBases,
     "brk mmap munmap mremap mprotect pkey_alloc pkey_free pkey_mprotect msync mincore madvise mlock mlock2 mlockall "
     "munlock munlockall membarrier get_mempolicy mseal map_shadow_stack",
     "its own memory, bounded by the cgroup and RLIMIT_MEMLOCK"},
    {kAllow, kDefaultBase, "memfd_create",
     "files without a name; under strict they would be the one thing both writable and executable"},
    {kAllow, kBothBases,
     "fork vfork clone execve execveat exit exit_group wait4 waitid kill tkill tgkill rt_sigaction rt_sigprocmask "
     "rt_sigreturn rt_sigpending rt_sigsuspend rt_sigtimedwait rt_sigqueueinfo rt_tgsigqueueinfo sigaltstack pause "
     "getpid getppid gettid getpgrp getpgid setpgid getsid setsid arch_prctl set_tid_address set_robust_list "
     "get_robust_list rseq restart_syscall futex futex_waitv futex_wait futex_wake futex_requeue pidfd_open "
     "pidfd_send_signal",
     "processes, threads and signals: the pid namespace and the Landlock signal scope end at the cell"},
    {kAllow, kBothBases,
     "sched_yield sched_getaffinity sched_getparam sched_getscheduler sched_getattr sched_get_priority_min "
     "sched_get_priority_max sched_rr_get_interval getpriority ioprio_get getcpu",
     "asking about scheduling"},
    {kAllow, kBothBases,
     "sched_setaffinity sched_setparam sched_setscheduler sched_setattr setpriority ioprio_set prlimit64",
     "scheduling and limits: without capabilities they can only be lowered", kNamespaces},
    {kAllow, kBothBases,
     "clock_gettime clock_getres clock_nanosleep nanosleep gettimeofday time times alarm getitimer setitimer "
     "timer_create timer_settime timer_gettime timer_getoverrun timer_delete",
     "reading clocks and setting alarms"},
    {kAllow, kBothBases,
     "getuid geteuid getgid getegid getresuid getresgid getgroups setuid setgid setreuid setregid setresuid setresgid "
     "setfsuid setfsgid setgroups capget capset getrlimit setrlimit getrusage uname sysinfo getrandom",
     "identity and limits: programs call setuid(getuid()); without capabilities nothing can be gained"},
    {kAllow, kBothBases,
     "bind connect accept accept4 getsockname getpeername getsockopt setsockopt shutdown sendto recvfrom "
     "sendmsg recvmsg sendmmsg recvmmsg",
     "sockets of the families that socket() may make"},
    {kAllow, kBothBases, "listen", "on the cell's own network, or on no network at all", kNoInet | kOwnInet},
    {kNotify, kBothBases, "listen",
     "a socket that was never bound would listen on a port of the kernel's choice, past Landlock's rule for binding",
     kReal},
    {kAllow, kDefaultBase,
     "shmget shmat shmctl shmdt semget semop semtimedop semctl msgget msgsnd msgrcv msgctl mq_open mq_unlink "
     "mq_timedsend mq_timedreceive mq_notify mq_getsetattr",
     "System V and POSIX IPC, in the cell's own IPC namespace", kNamespaces},
    {kNotify, kDefaultBase,
     "shmget shmat shmctl shmdt semget semop semtimedop semctl msgget msgsnd msgrcv msgctl mq_open mq_unlink "
     "mq_timedsend mq_timedreceive mq_notify mq_getsetattr",
     "without an IPC namespace these are the segments and queues of the caller's other programs", kFlat},
    {kAllow, kBothBases, "landlock_create_ruleset landlock_add_rule landlock_restrict_self",
     "a program may lock itself in further"},
    {kAllow, kDefaultBase, "splice tee", "node and go copy with it; strict refuses it (Dirty Pipe, Copy Fail)"},

    // Answered with an error that programs expect, without a record: they probe these as a matter of course.
    {refuse(0), kBothBases, "sync",
     "would flush the host's disks; reports success, fsync() does the program's own files"},
    {refuse(EOPNOTSUPP), kBothBases,
     "setxattr lsetxattr fsetxattr setxattrat removexattr lremovexattr fremovexattr removexattrat",
     "the name is behind a pointer, so security.* cannot be told from user.*; cp, tar, git and rsync expect "
     "EOPNOTSUPP"},
    {refuse(EPERM), kBothBases, "mbind set_mempolicy set_mempolicy_home_node migrate_pages move_pages",
     "NUMA placement needs CAP_SYS_NICE elsewhere too; runtimes probe it and go on"},
    {refuse(ENOSYS), kBothBases, "clone3 openat2",
     "flags and modes are behind a pointer, out of sight of a filter; libc and tools fall back to clone and openat"},

    // Conditional by their arguments: argument_rules() says what passes; the rest is denied here.
    {refuse(EINVAL), kBothBases, "prctl", "options outside the list look like those of an older kernel"},
    {kNotify, kBothBases, "socket", "any other family, type or protocol (VSOCK, ALG, PACKET, KEY, XDP, raw, SCTP)"},
    {kNotify, kBothBases, "mknod mknodat", "device nodes and set-id bits"},
    {kNotify, kBothBases, "socketpair", "pairs of any family but AF_UNIX"},
    {kNotify, kBothBases, "personality", "READ_IMPLIES_EXEC, ADDR_NO_RANDOMIZE and foreign personalities"},
    {kNotify, kBothBases,
     "sched_setaffinity sched_setparam sched_setscheduler sched_setattr setpriority ioprio_set prlimit64",
     "scheduling and limits of the caller's other processes, which have pids where there is no pid namespace", kFlat},
    {kNotify, kBothBases, "seccomp", "a listener of the program's own would compete with the cell's"},

    // Named-denied: recorded and answered EPERM.
    {kNotify, kBothBases,
     "mount umount2 pivot_root open_tree open_tree_attr move_mount fsopen fsconfig fsmount fspick mount_setattr "
     "statmount listmount",
     "the mount API, old and new: the root is finished before the program starts"},
    {kNotify, kBothBases, "unshare setns listns", "nested namespaces hand out capabilities over most of the kernel"},
    {kNotify, kBothBases, "chroot", "a second root confuses path checks"},
    {kNotify, kBothBases, "ptrace process_vm_readv process_vm_writev pidfd_getfd kcmp process_madvise process_mrelease",
     "hands in another process's memory or descriptors"},
    {kNotify, kBothBases, "io_uring_setup io_uring_enter io_uring_register",
     "does files and sockets unseen by seccomp; 60 % of kCTF's kernel exploits came through it"},
    {kNotify, kBothBases, "io_setup io_submit io_getevents io_pgetevents io_cancel io_destroy",
     "legacy AIO: hardly used, much attacked"},
    {kNotify, kBothBases, "bpf perf_event_open userfaultfd uprobe uretprobe",
     "programs in the kernel, hardware counters and page-fault races"},
    {kNotify, kBothBases, "add_key request_key keyctl", "keyrings are per user and outlive the cell"},
    {kNotify, kBothBases, "open_by_handle_at name_to_handle_at lookup_dcookie",
     "files by number, past every path rule (Shocker)"},
    {kNotify, kBothBases, "fanotify_init fanotify_mark", "watches whole mounts"},
    {kNotify, kBothBases,
     "init_module finit_module delete_module kexec_load kexec_file_load reboot swapon swapoff acct quotactl "
     "quotactl_fd "
     "vhangup syslog",
     "administration of the host"},
    {kNotify, kBothBases, "iopl ioperm modify_ldt", "hardware ports and segments: long a source of kernel bugs"},
    {kNotify, kBothBases, "settimeofday clock_settime adjtimex clock_adjtime sethostname setdomainname",
     "clocks and names belong to the host and the cell's maker"},
    {kNotify, kBothBases, "memfd_secret vmsplice lsm_get_self_attr lsm_set_self_attr lsm_list_modules",
     "memory that not even the kernel can account, user pages in pipes, other LSMs' state"},
    {kNotify, kStrictBase,
     "memfd_create splice tee shmget shmat shmctl shmdt semget semop semtimedop semctl msgget msgsnd msgrcv msgctl "
     "mq_open "
     "mq_unlink mq_timedsend mq_timedreceive mq_notify mq_getsetattr",
     "not under strict: writable executable memory by the back door, and kernel code that small programs never need"},
};

// CLONE_NEWNS NEWCGROUP NEWUTS NEWIPC NEWUSER NEWPID NEWNET; NEWTIME cannot be asked of clone().
constexpr std::uint32_t kCloneNew = 0x7e020000;
constexpr std::uint32_t kSetIdBits = 06000;
constexpr std::uint32_t kCreates = 0100 | 020000000;  // O_CREAT, __O_TMPFILE: without them the mode register is garbage
constexpr std::uint32_t kTypeMask = 0xf;              // the rest are SOCK_CLOEXEC and SOCK_NONBLOCK
constexpr std::uint32_t kUnix = 1, kInet = 2, kInet6 = 10, kNetlink = 16;

// TIOCSTI and TIOCLINUX type into the terminal of whoever started us, TIOCCONS takes over the console, TIOCSETD loads
// line disciplines (n_gsm, n_hdlc).
constexpr std::uint32_t kBadIoctls[] = {0x5412, 0x541c, 0x541d, 0x5423};
// FS_IOC_SET_ENCRYPTION_POLICY, ADD_ENCRYPTION_KEY, REMOVE_ENCRYPTION_KEY and _ALL_USERS: they need no more than a descriptor of a file
// system's, and take away from its other users what they have open there.
constexpr std::uint32_t kKeyIoctls[] = {0x800c6613, 0xc0506617, 0xc0406618, 0xc0406619};
// The file systems' own, by their type: 'f' (flags, verity, encryption), 'v' (versions), 'X' (XFS's, also by others), btrfs' 0x94, f2fs' 0xf5.
// Many change an inode by a descriptor that may only read, or tell of what is not granted; a read-only mount refuses the former.
constexpr std::uint32_t kIoctlType = 0xff00;
constexpr std::string_view kFileSystemIoctls = "flags and more of the caller's files, past Landlock; the answer of a file system that has none";
// F_SETLEASE stalls other openers of a shared file, F_NOTIFY watches it.
constexpr std::uint32_t kBadFcntls[] = {1024, 1026};
// F_SET_RW_HINT and F_SET_FILE_RW_HINT are kept with the inode, on a read-only mount too: a note for the next reader.
constexpr std::uint32_t kHints[] = {1036, 1038};
// F_SETPIPE_SZ: a user's pipes have 64 MiB together. Past that the next ones, of every program the user has, hold a page or two.
constexpr std::uint32_t kPipeSize[] = {1031};
// Joining and leaving groups: IP_{ADD,DROP}_MEMBERSHIP and the like, IPV6_{JOIN,LEAVE}_GROUP and _ANYCAST, MCAST_*.
// The kernel reports them seconds later, when the cell may be gone and its net namespace another's.
constexpr std::uint32_t kGroups4[] = {35, 36, 37, 38, 39, 40, 41, 42, 43, 44, 45, 46, 47, 48};
constexpr std::uint32_t kGroups6[] = {20, 21, 27, 28, 42, 43, 44, 45, 46, 47, 48};
constexpr std::uint32_t kMergeable[] = {12};  // MADV_MERGEABLE
constexpr std::uint32_t kPersonalities[] = {0, 0xffffffff};
constexpr std::uint32_t kTcp[] = {0, 6}, kUdp[] = {0, 17};
// Plain files, FIFOs and sockets; the type bits and the set-id bits are judged together.
constexpr std::uint32_t kMknodMask = 0170000 | kSetIdBits;

constexpr std::uint32_t kPrctls[] = {
    15,         16,                      // name
    38,         39,                      // no_new_privs
    1,          2,                       // parent-death signal
    3,          4,                       // dumpable
    0x53564d41, 0x41555856,              // names of mappings, own auxv
    41,         42,                      // transparent huge pages
    29,         30,                      // timer slack
    36,         37,                      // child subreaper
    21,         22,                      // seccomp: a filter of its own can only take away
    23,         24,         47,          // capability sets: there is nothing in them to raise
    7,          8,          27,          // keep-caps, reading securebits
    25,         26,                      // own time-stamp counter
    40,                                  // tid address
    52,         53,                      // speculation: can only be made safer
    0x59616d61,                          // Yama's ptracer: ptrace itself is denied
    65,         66,                      // memory-deny-write-execute
    50,         51,         63, 64,      // SVE and SME vector lengths
    54,         55,         56, 60, 61,  // pointer authentication, tagged addresses
};

constexpr ArgumentRule kArgumentRules[] = {
    {"clone",
     {any(0, kCloneNew)},
     0,
     {},
     kNotify,
     kBothBases,
     kAnyNet,
     "new namespaces (nested user namespaces above all)"},

    {"open", {any(1, kCreates), any(2, kSetIdBits)}, 0, {}, kNotify, kBothBases, kAnyNet, "creates a set-id file"},
    {"openat", {any(2, kCreates), any(3, kSetIdBits)}, 0, {}, kNotify, kBothBases, kAnyNet, "creates a set-id file"},
    {"creat chmod fchmod mkdir",
     {any(1, kSetIdBits)},
     0,
     {},
     kNotify,
     kBothBases,
     kAnyNet,
     "set-id bits, planted for a later user of the folder"},
    {"fchmodat fchmodat2 mkdirat",
     {any(2, kSetIdBits)},
     0,
     {},
     kNotify,
     kBothBases,
     kAnyNet,
     "set-id bits, planted for a later user of the folder"},
    {"mknod", {bits(1, kMknodMask, 0)}, 0, {}, kAllow, kBothBases, kAnyNet, "a plain file"},
    {"mknod", {bits(1, kMknodMask, 0100000)}, 0, {}, kAllow, kBothBases, kAnyNet, "a plain file"},
    {"mknod", {bits(1, kMknodMask, 0010000)}, 0, {}, kAllow, kBothBases, kAnyNet, "a FIFO"},
    {"mknod", {bits(1, kMknodMask, 0140000)}, 0, {}, kAllow, kBothBases, kAnyNet, "a socket"},
    {"mknodat", {bits(2, kMknodMask, 0)}, 0, {}, kAllow, kBothBases, kAnyNet, "a plain file"},
    {"mknodat", {bits(2, kMknodMask, 0100000)}, 0, {}, kAllow, kBothBases, kAnyNet, "a plain file"},
    {"mknodat", {bits(2, kMknodMask, 0010000)}, 0, {}, kAllow, kBothBases, kAnyNet, "a FIFO"},
    {"mknodat", {bits(2, kMknodMask, 0140000)}, 0, {}, kAllow, kBothBases, kAnyNet, "a socket"},

    {"ioctl", {}, 1, kBadIoctls, kNotify, kBothBases, kAnyNet, "terminal injection and line disciplines"},
    {"ioctl", {}, 1, kKeyIoctls, refuse(ENOTTY), kBothBases, kAnyNet, "keys of encrypted file systems; the answer of one that has none"},
    {"ioctl", {bits(1, kIoctlType, 'f' << 8)}, 0, {}, refuse(ENOTTY), kBothBases, kFlat, kFileSystemIoctls},
    {"ioctl", {bits(1, kIoctlType, 'v' << 8)}, 0, {}, refuse(ENOTTY), kBothBases, kFlat, kFileSystemIoctls},
    {"ioctl", {bits(1, kIoctlType, 'X' << 8)}, 0, {}, refuse(ENOTTY), kBothBases, kFlat, kFileSystemIoctls},
    {"ioctl", {bits(1, kIoctlType, 0x94 << 8)}, 0, {}, refuse(ENOTTY), kBothBases, kFlat, kFileSystemIoctls},
    {"ioctl", {bits(1, kIoctlType, 0xf5 << 8)}, 0, {}, refuse(ENOTTY), kBothBases, kFlat, kFileSystemIoctls},
    {"fcntl", {}, 1, kBadFcntls, kNotify, kBothBases, kAnyNet, "leases and directory notification on shared files"},
    {"fcntl", {}, 1, kHints, refuse(EINVAL), kBothBases, kAnyNet, "hints that stay with a shared file"},
    {"fcntl", {}, 1, kPipeSize, refuse(EPERM), kBothBases, kAnyNet, "larger pipes, out of what the caller's other programs have; the kernel answers the same past its limit"},
    {"setsockopt", {eq(1, 0)}, 2, kGroups4, refuse(ENODEV), kBothBases, kOwnInet, "multicast groups: nobody is there to join"},
    {"setsockopt", {eq(1, 41)}, 2, kGroups6, refuse(ENODEV), kBothBases, kOwnInet, "multicast groups: nobody is there to join"},
    {"madvise",
     {},
     2,
     kMergeable,
     refuse(EINVAL),
     kBothBases,
     kAnyNet,
     "merged pages tell one cell what another has in memory"},
    {"prctl", {}, 0, kPrctls, kAllow, kBothBases, kAnyNet, "options that touch only the caller"},
    {"personality", {}, 0, kPersonalities, kAllow, kBothBases, kAnyNet, "the ordinary one, or asking"},
    {"seccomp", {eq(0, 0), eq(1, 1)}, 0, {}, kAllow, kBothBases, kAnyNet, "what the kernel always refuses: libseccomp asks so whether the call is there"},
    {"seccomp", {eq(0, 1), bits(1, 8, 0)}, 0, {}, kAllow, kBothBases, kAnyNet, "a filter without a listener"},
    {"seccomp", {eq(0, 2)}, 0, {}, kAllow, kBothBases, kAnyNet, "asking which actions there are"},

    {"socket socketpair", {eq(0, kUnix)}, 0, {}, kAllow, kBothBases, kNamespaces, "AF_UNIX: only what the root shows"},
    // Without mounts of its own every socket of the caller's lies in reach (agents, desktop buses, databases), and
    // Landlock does not look at connecting by path.
    {"socket",
     {eq(0, kUnix)},
     0,
     {},
     refuse(EAFNOSUPPORT),
     kBothBases,
     kFlat,
     "AF_UNIX reaches the caller's services; libc asks for nscd as a matter of course"},
    // A connected pair stays connected; one of datagrams could still send to any address.
    {"socketpair", {eq(0, kUnix), bits(1, kTypeMask, 1)}, 0, {}, kAllow, kBothBases, kFlat, "a pair of streams"},
    {"socketpair", {eq(0, kUnix), bits(1, kTypeMask, 5)}, 0, {}, kAllow, kBothBases, kFlat, "a pair of packet sockets"},
    // strict has AF_UNIX alone until the policy grants a real network: then that grant is the one that counts.
    {"socket",
     {eq(0, kInet), bits(1, kTypeMask, 1), eq(2, 262)},
     0,
     {},
     refuse(EPROTONOSUPPORT),
     kBothBases,
     kAnyNet,
     "MPTCP evades Landlock's TCP rules; go tries it first and falls back"},
    {"socket", {eq(0, kInet), bits(1, kTypeMask, 1)}, 2, kTcp, kAllow, kDefaultBase, kOwnInet | kReal, "TCP"},
    {"socket", {eq(0, kInet), bits(1, kTypeMask, 1)}, 2, kTcp, kAllow, kStrictBase, kReal, "TCP"},
    {"socket", {eq(0, kInet), bits(1, kTypeMask, 2)}, 2, kUdp, kAllow, kDefaultBase, kOwnInet | kReal, "UDP"},
    {"socket", {eq(0, kInet), bits(1, kTypeMask, 2)}, 2, kUdp, kAllow, kStrictBase, kReal, "UDP"},
    {"socket",
     {eq(0, kInet6), bits(1, kTypeMask, 1), eq(2, 262)},
     0,
     {},
     refuse(EPROTONOSUPPORT),
     kBothBases,
     kAnyNet,
     "MPTCP evades Landlock's TCP rules; go tries it first and falls back"},
    {"socket", {eq(0, kInet6), bits(1, kTypeMask, 1)}, 2, kTcp, kAllow, kDefaultBase, kOwnInet | kReal, "TCP"},
    {"socket", {eq(0, kInet6), bits(1, kTypeMask, 1)}, 2, kTcp, kAllow, kStrictBase, kReal, "TCP"},
    {"socket", {eq(0, kInet6), bits(1, kTypeMask, 2)}, 2, kUdp, kAllow, kDefaultBase, kOwnInet | kReal, "UDP"},
    {"socket", {eq(0, kInet6), bits(1, kTypeMask, 2)}, 2, kUdp, kAllow, kStrictBase, kReal, "UDP"},
    {"socket",
     {eq(0, kNetlink), eq(2, 0)},
     0,
     {},
     kAllow,
     kBothBases,
     kReal,
     "NETLINK_ROUTE: interfaces of a real network"},
    {"socket",
     {eq(0, kNetlink), eq(2, 0)},
     0,
     {},
     refuse(EAFNOSUPPORT),
     kBothBases,
     kNoInet | kOwnInet,
     "NETLINK_ROUTE without a network: getaddrinfo and if_nameindex ask as a matter of course"},
    {"setsockopt",
     {eq(1, 6), eq(2, 31)},
     0,
     {},
     refuse(ENOENT),
     kBothBases,
     kAnyNet,
     "TCP_ULP: in-kernel TLS and espintcp, a row of exploits; OpenSSL goes on without"},

    // 0 is the calling thread.
    {"prlimit64 sched_setaffinity sched_setparam sched_setscheduler sched_setattr",
     {eq(0, 0)},
     0,
     {},
     kAllow,
     kBothBases,
     kFlat,
     "of the calling process"},
    {"setpriority", {eq(0, 0), eq(1, 0)}, 0, {}, kAllow, kBothBases, kFlat, "of the calling process"},
    {"setpriority", {eq(0, 1), eq(1, 0)}, 0, {}, kAllow, kBothBases, kFlat, "of its own process group"},
    {"ioprio_set", {eq(0, 1), eq(1, 0)}, 0, {}, kAllow, kBothBases, kFlat, "of the calling process"},

    // strict refuses shmat() altogether; this holds where a profile allows it again.
    {"shmat", {any(2, 0100000)}, 0, {}, kNotify, kStrictBase, kAnyNet, "SHM_EXEC: executable shared memory"},
    {"mmap mprotect pkey_mprotect",
     {bits(2, 6, 6)},
     0,
     {},
     kNotify,
     kStrictBase,
     kAnyNet,
     "memory that is writable and executable at once"},
};

}  // namespace

std::span<const CallGroup> call_groups() { return kGroups; }
std::span<const ArgumentRule> argument_rules() { return kArgumentRules; }

std::string_view uncounted_calls() { return "memfd_create shmget"; }

std::string_view never_allowed() {
  return "mount umount2 pivot_root open_tree open_tree_attr move_mount fsopen fsconfig fsmount fspick mount_setattr "
         "unshare setns clone3 openat2 open_by_handle_at io_uring_setup io_uring_enter io_uring_register bpf "
         "perf_event_open userfaultfd uprobe uretprobe add_key request_key keyctl init_module finit_module "
         "delete_module "
         "kexec_load kexec_file_load reboot swapon swapoff acct quotactl quotactl_fd iopl ioperm settimeofday "
         "clock_settime fanotify_init fanotify_mark memfd_secret";
}

// What the program's process calls after the filter is on: hand over the listener, wait for argv, exec, or say why not.
std::string_view needed_to_start() {
  return "execve exit_group rt_sigreturn sendmsg recvmsg sendto close close_range mmap";
}

std::string_view observed_calls() {
  return "open openat creat stat lstat newfstatat statx access faccessat faccessat2 readlink readlinkat execve "
         "execveat "
         "mkdir mkdirat mknod mknodat unlink unlinkat rmdir rename renameat renameat2 link linkat symlink symlinkat "
         "truncate chmod fchmodat fchmodat2 chown lchown fchownat utime utimes futimesat utimensat chdir statfs "
         "inotify_add_watch connect bind";
}

std::string_view file_marks() { return "chmod fchmod fchmodat fchmodat2 utime utimes futimesat utimensat"; }

bool contains_name(std::string_view names, std::string_view name) {
  if (name.empty()) return false;
  for (std::size_t at = names.find(name); at != std::string_view::npos; at = names.find(name, at + 1)) {
    const std::size_t end = at + name.size();
    if ((at == 0 || names[at - 1] == ' ') && (end == names.size() || names[end] == ' ')) return true;
  }
  return false;
}

}  // namespace hotcell
