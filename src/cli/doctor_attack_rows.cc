// The built-in attacks. The first eight are the ones every sandbox is asked about.
#include "cli/doctor_attack.h"

namespace hotcell {
namespace {

using std::chrono::seconds;
using J = AttackJudge;
using R = ExitReason;

constexpr R kMemoryReason[] = {R::kMemory};
constexpr R kCpuReason[] = {R::kTimeoutCpu};
constexpr R kWallReason[] = {R::kTimeoutWall};
constexpr R kOutputReason[] = {R::kOutput};
constexpr R kProcessReason[] = {R::kProcesses};
constexpr R kDiskReason[] = {R::kDisk};
constexpr R kRoomReason[] = {R::kDisk, R::kMemory};
constexpr R kPolicyReason[] = {R::kPolicy};

// Small limits, so that the attacks are quick; the defaults are enforced by the same code.
void small_memory(Policy& p) { p.limits.memory = 64_MiB; }
void short_cpu(Policy& p) { p.limits.cpu_time = seconds(1); }
void small_disk(Policy& p) { p.limits.disk = 16_MiB; }
void short_wall(Policy& p) { p.limits.wall = seconds(1); }

constexpr AttackRow kRows[] = {
    {"fork bomb", "fork-bomb 10", "process limit", J::kProgram, Layer::kProcesses, kProcessReason, nullptr,
     "fork-bomb 10"},
    {"memory", "memory 512", "memory limit", J::kProgram, Layer::kMemory, kMemoryReason, small_memory, "memory 32"},
    {"CPU", "cpu 15", "CPU time limit", J::kLimit, Layer::kCpu, kCpuReason, short_cpu, "cpu 1"},
    {"disk fill", "disk-fill 16", "disk limit", J::kProgram, Layer::kDisk, kDiskReason, small_disk,
     "disk-fill 1 {dir}"},
    {"output flood", "output-flood 64", "output limit", J::kLimit, Layer::kRlimits, kOutputReason, nullptr,
     "output-flood 2"},
    {"network",
     "network 192.0.2.1 80 169.254.169.254 80 2001:db8::1 80",
     "network namespace",
     J::kProgram,
     Layer::kNetNs,
     {},
     nullptr,
     "network 127.0.0.1 {port}"},
    {"file damage",
     "file-damage {canary}",
     "own root, read-only",
     J::kProgram,
     Layer::kRootfs,
     {},
     nullptr,
     "file-damage {canary} only"},
    {"privilege escalation",
     "privilege",
     "no_new_privs, capabilities",
     J::kProgram,
     Layer::kCapabilities,
     {},
     nullptr,
     "privilege"},

    {"memory in pieces", "memory-spread 48 8", "memory limit", J::kProgram, Layer::kMemory, kMemoryReason, small_memory,
     "memory-spread 8 4"},
    {"inode fill", "inode-fill 300000", "disk limit", J::kProgram, Layer::kDisk, kRoomReason, small_disk,
     "inode-fill 100 {dir}"},
    {"frozen program", "stop", "wall limit", J::kLimit, Layer::kPidNs, kWallReason, short_wall},
    {"escape of the deadline", "deadline-escape {token}", "pid namespace", J::kLimit, Layer::kPidNs, kWallReason,
     short_wall, "deadline-escape {token}"},
    {"orphan holding stdout",
     "stdout-orphan {token}",
     "pid namespace",
     J::kOutside,
     Layer::kPidNs,
     {},
     nullptr,
     "stdout-orphan {token}"},

    {"host file read",
     "host-read {secret}",
     "own root",
     J::kProgram,
     Layer::kRootfs,
     {},
     nullptr,
     "host-read {secret}"},
    {"symlink out of the workspace",
     "symlink-out {secret}",
     "own root",
     J::kProgram,
     Layer::kRootfs,
     {},
     nullptr,
     "symlink-out {secret} {dir}"},
    {"setuid bit", "setuid-plant", "seccomp", J::kProgram, Layer::kSeccomp, {}, nullptr, "setuid-plant {dir}"},
    {"device node", "device-node", "seccomp, own /dev", J::kProgram, Layer::kRootfs},
    {"sysctl write", "sysctl-write", "read-only /proc/sys", J::kProgram, Layer::kRootfs},
    {"kernel information", "kernel-info", "masked /proc", J::kProgram, Layer::kRootfs},
    {"cgroup escape", "cgroup-write", "no cgroup files", J::kProgram, Layer::kRootfs},
    {"open by handle", "open-by-handle", "seccomp", J::kProgram, Layer::kSeccomp},
    {"inherited descriptors",
     "inherited-fds",
     "close_range",
     J::kProgram,
     Layer::kRootfs,
     {},
     nullptr,
     "inherited-fds"},
    {"environment leak",
     "environment {token}",
     "empty environment",
     J::kProgram,
     Layer::kRootfs,
     {},
     nullptr,
     "environment {token}"},
    {"core dump", "core-dump", "RLIMIT_CORE", J::kProgram, Layer::kRlimits, {}, nullptr, "core-dump"},

    {"signal to a host process",
     "signal-host {victim}",
     "pid namespace",
     J::kProgram,
     Layer::kPidNs,
     {},
     nullptr,
     "signal-host {victim}"},
    {"host process list",
     "host-processes {victim}",
     "own /proc",
     J::kProgram,
     Layer::kPidNs,
     {},
     nullptr,
     "host-processes {victim}"},
    {"ptrace of pid 1", "ptrace", "seccomp", J::kProgram, Layer::kSeccomp, {}, nullptr, "ptrace {victim}"},
    {"/proc/1/mem", "proc-mem", "init not dumpable", J::kProgram, Layer::kPidNs, {}, nullptr, "proc-mem {victim}"},
    {"process_vm, pidfd_getfd",
     "process-vm",
     "seccomp",
     J::kProgram,
     Layer::kSeccomp,
     {},
     nullptr,
     "process-vm {victim}"},
    {"join namespaces", "setns", "seccomp", J::kProgram, Layer::kSeccomp},

    {"mount", "mount", "seccomp", J::kProgram, Layer::kSeccomp},
    {"new mount API", "new-mount-api", "seccomp", J::kProgram, Layer::kSeccomp, {}, nullptr, "new-mount-api"},
    {"nested user namespace", "user-namespace", "seccomp", J::kProgram, Layer::kSeccomp, {}, nullptr, "user-namespace"},
    {"io_uring", "io-uring", "seccomp", J::kProgram, Layer::kSeccomp, {}, nullptr, "io-uring"},
    {"bpf", "bpf", "seccomp", J::kProgram, Layer::kSeccomp},
    {"keyctl", "keyctl", "seccomp", J::kProgram, Layer::kSeccomp, {}, nullptr, "keyctl"},
    {"perf events", "perf", "seccomp", J::kProgram, Layer::kSeccomp},
    {"userfaultfd", "userfaultfd", "seccomp", J::kProgram, Layer::kSeccomp, {}, nullptr, "userfaultfd"},
    {"modules, kexec, swap", "kernel-module", "seccomp", J::kProgram, Layer::kSeccomp},
    {"ia32 system call", "ia32", "seccomp", J::kProgram, Layer::kSeccomp, kPolicyReason, nullptr, "ia32"},
    {"x32 system call", "x32", "seccomp", J::kProgram, Layer::kSeccomp, kPolicyReason},
    {"unknown system calls",
     "unknown-syscalls",
     "seccomp",
     J::kProgram,
     Layer::kSeccomp,
     {},
     nullptr,
     "unknown-syscalls"},
    {"time set", "time-set", "seccomp, capabilities", J::kProgram, Layer::kSeccomp},
    {"TIOCSTI", "tiocsti", "seccomp, no terminal", J::kProgram, Layer::kSeccomp},

    {"host loopback",
     "host-loopback {port}",
     "network namespace",
     J::kProgram,
     Layer::kNetNs,
     {},
     nullptr,
     "host-loopback {port}"},
    {"abstract socket",
     "abstract-socket {abstract}",
     "network namespace",
     J::kProgram,
     Layer::kNetNs,
     {},
     nullptr,
     "abstract-socket {abstract}"},
    {"raw socket", "raw-socket", "seccomp, capabilities", J::kProgram, Layer::kSeccomp},
    {"AF_VSOCK", "vsock", "seccomp", J::kProgram, Layer::kSeccomp},
    {"AF_ALG", "alg-socket", "seccomp", J::kProgram, Layer::kSeccomp},
    {"other socket families", "odd-sockets", "seccomp", J::kProgram, Layer::kSeccomp, {}, nullptr, "odd-sockets"},
};

}  // namespace

std::span<const AttackRow> attack_rows() { return kRows; }

}  // namespace hotcell
