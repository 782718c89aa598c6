// Limits, the host's switches that matter to a cell, and which backends follow from all that was found.
#include <fcntl.h>
#include <sys/ioctl.h>
#include <sys/resource.h>
#include <unistd.h>

#include <cerrno>

#include "base/strings.h"
#include "sys/probe.h"

namespace hotcell::sys {
namespace {

constexpr unsigned long kKvmGetApiVersion = _IO(0xAE, 0x00);

Fact lsm_fact() {
  std::vector<std::string> active;
  if (read_line("/sys/module/apparmor/parameters/enabled") == "Y") active.emplace_back("apparmor");
  const std::string enforce = read_line("/sys/fs/selinux/enforce");
  if (!enforce.empty()) active.emplace_back(enforce == "1" ? "selinux enforcing" : "selinux permissive");
  const std::string list = read_line("/sys/kernel/security/lsm");
  Fact f{"limits", "lsm", active.empty() ? Have::kNo : Have::kYes, active.empty() ? "" : join(active, " "), "", ""};
  if (active.empty()) f.reason = "neither AppArmor nor SELinux: the optional lsm layer is none";
  if (!list.empty()) f.value += cat(f.value.empty() ? "" : "; ", "list: ", list);
  return f;
}

}  // namespace

void probe_limits(std::vector<Fact>& out) {
  // Down, then up again by one: the hard limit may be infinite, and the way down is always free.
  Trial raise = try_in_child([](Trial& t) {
    rlimit r{64, 64};
    if (setrlimit(RLIMIT_NOFILE, &r) != 0) {
      t.fail("lower", errno);
      return;
    }
    r.rlim_max = 65;
    if (setrlimit(RLIMIT_NOFILE, &r) != 0) t.fail("raise", errno);
  });
  rlimit nofile{};
  getrlimit(RLIMIT_NOFILE, &nofile);
  out.push_back(
      {"limits", "raise_limits", raise.ok() ? Have::kYes : Have::kNo,
       raise.ok() ? "hard limits can be raised" : cat("open files stay at or below ", nofile.rlim_max),
       raise.ok() ? "" : "no CAP_SYS_RESOURCE: a policy cannot ask for more than the caller's hard limits",
       raise.ok() ? "" : "raise the hard limits of the session (limits.conf, LimitNOFILE=) when a policy needs more"});

  // A piped core pattern runs a host program as root for every crash, RLIMIT_CORE 0 or not; 1 is the value it heeds.
  const std::string core = read_line("/proc/sys/kernel/core_pattern");
  const bool pipe = !core.empty() && core[0] == '|';
  out.push_back({"limits", "core_pattern", Have::kYes, core,
                 pipe ? "a pipe: cells get RLIMIT_CORE 1, which it refuses" : "", ""});

  const std::string scope = read_line("/proc/sys/kernel/yama/ptrace_scope");
  out.push_back({"limits", "ptrace_scope", Have::kYes, scope.empty() ? "no Yama" : scope,
                 scope.empty() || scope == "0"
                     ? "any process of the same user may trace another; cells cannot (seccomp, pid namespace)"
                     : "",
                 ""});
  const std::string uring = read_line("/proc/sys/kernel/io_uring_disabled");
  out.push_back({"limits", "io_uring", Have::kYes, uring.empty() ? "no switch" : cat("io_uring_disabled=", uring),
                 "refused inside cells either way", ""});
  out.push_back(lsm_fact());
}

void probe_backends(const Facts& found, std::vector<Fact>& out) {
  std::vector<std::string> missing;
  for (std::string_view need : {"user_ns", "pid_ns", "mount_ns", "net_ns", "own_proc", "seccomp_filter", "pidfd"})
    if (!found.has(need)) missing.emplace_back(need);
  Fact native{"backends", "native", missing.empty() ? Have::kYes : Have::kNo, "", "", ""};
  if (missing.empty()) native.value = "namespaces, Landlock, seccomp, limits";
  else native.reason = cat("missing: ", join(missing, " "));
  if (!missing.empty()) native.advice = "see those lines; meanwhile --backend landlock";
  out.push_back(std::move(native));

  const bool landlock = found.has("landlock_trial") && found.has("seccomp_filter");
  out.push_back({"backends", "landlock", landlock ? Have::kYes : Have::kNo,
                 landlock ? "Landlock, seccomp, rlimits; no namespaces" : "",
                 landlock ? "" : "needs Landlock and seccomp", landlock ? "" : "see landlock_abi and seccomp_filter"});

  Trial kvm = try_in_child([](Trial& t) {
    int fd = open("/dev/kvm", O_RDWR | O_CLOEXEC);
    if (fd < 0) {
      t.fail("/dev/kvm", errno);
      return;
    }
    t.value = ioctl(fd, kKvmGetApiVersion, 0);
    if (t.value < 0) t.fail("KVM_GET_API_VERSION", errno);
  });
  // Nested and cloud kernels answer here and then cannot run a guest, so this is never a plain yes.
  out.push_back({"backends", "kvm", kvm.ok() ? Have::kPartial : Have::kNo, kvm.ok() ? cat("API ", kvm.value) : "",
                 kvm.ok() ? std::string("the device answers; only booting a guest would prove it") : kvm.why(), ""});
}

}  // namespace hotcell::sys
