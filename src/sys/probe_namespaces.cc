// Each namespace by really making it, the way a cell does: inside a fresh user namespace.
#include <fcntl.h>
#include <net/if.h>
#include <sched.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mount.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>

#include "base/strings.h"
#include "sys/probe.h"

namespace hotcell::sys {
namespace {

#ifndef CLONE_NEWTIME
constexpr std::uint64_t CLONE_NEWTIME = 0x00000080;
#endif

// The three switches by which distributions forbid user namespaces, and how to turn each.
void explain_refusal(Fact& f, const Trial& t) {
  f.reason = t.why();
  if (read_line("/proc/sys/user/max_user_namespaces") == "0") {
    f.reason += "; user.max_user_namespaces is 0";
    f.advice = "sysctl user.max_user_namespaces=10000, or run as root, or --backend landlock";
  } else if (read_line("/proc/sys/kernel/unprivileged_userns_clone") == "0" && geteuid() != 0) {
    f.reason += "; kernel.unprivileged_userns_clone is 0";
    f.advice = "sysctl kernel.unprivileged_userns_clone=1, or run as root, or --backend landlock";
  } else if (read_line("/proc/sys/kernel/apparmor_restrict_unprivileged_userns") == "1" && geteuid() != 0) {
    f.reason += "; kernel.apparmor_restrict_unprivileged_userns is 1";
    f.advice = "install the shipped AppArmor profile for hotcell, or run as root, or --backend landlock";
  } else {
    f.advice = "inside a container, allow unshare and clone in its seccomp profile; or --backend landlock";
  }
}

struct Kind {
  const char* name;
  std::uint64_t flag;
  const char* note;
};

Fact one_namespace(const Kind& kind) {
  Trial nested = try_in_child([&](Trial& t) { enter_user_ns(t, kind.flag); });
  Fact f{"namespaces", kind.name, Have::kYes, "", "", ""};
  if (nested.ok()) return f;
  Trial direct = try_in_child([&](Trial& t) {
    if (unshare(static_cast<int>(kind.flag)) != 0) t.fail("unshare", errno);
  });
  f.have = direct.ok() ? Have::kPartial : Have::kNo;
  f.reason = nested.why();
  if (direct.ok()) f.value = "without a user namespace only";
  else f.advice = nested.err == EINVAL ? kind.note : "see user_ns";
  return f;
}

// lo of a new network namespace is down; a cell needs it up, which takes CAP_NET_ADMIN in there.
void raise_loopback(Trial& t) {
  if (!enter_user_ns(t, CLONE_NEWNET)) return;
  int s = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
  if (s < 0) {
    t.fail("socket", errno);
    return;
  }
  ifreq ifr{};
  strncpy(ifr.ifr_name, "lo", IFNAMSIZ - 1);
  ifr.ifr_flags = IFF_UP;
  if (ioctl(s, SIOCSIFFLAGS, &ifr) != 0) t.fail("SIOCSIFFLAGS lo", errno);
}

// A container whose /proc has masks over it cannot mount a fresh one: the kernel refuses to uncover them.
void mount_proc(Trial& t) {
  if (!enter_user_ns(t, CLONE_NEWNS | CLONE_NEWPID | CLONE_NEWIPC)) return;
  if (mount("none", "/", nullptr, MS_REC | MS_PRIVATE, nullptr) != 0) {
    t.fail("make / private", errno);
    return;
  }
  pid_t child = fork();  // the first child is pid 1 of the new namespace, and only it may mount that proc
  if (child == 0) {
    int bad = mount("proc", "/proc", "proc", MS_NOSUID | MS_NODEV | MS_NOEXEC, nullptr) == 0 ? 0 : errno;
    char self[16] = {};
    if (bad == 0 && (readlink("/proc/self", self, sizeof self - 1) != 1 || self[0] != '1')) bad = EIO;
    _exit(bad);
  }
  int status = 0;
  if (child < 0 || waitpid(child, &status, 0) != child) t.fail("fork", errno);
  else if (!WIFEXITED(status)) t.fail("mount proc", EIO);
  else if (WEXITSTATUS(status) != 0) t.fail("mount proc", WEXITSTATUS(status));
}

}  // namespace

void probe_namespaces(std::vector<Fact>& out) {
  Trial user = try_in_child([](Trial& t) { enter_user_ns(t, 0); });
  Fact f{"namespaces", "user_ns", user.ok() ? Have::kYes : Have::kNo, "", "", ""};
  if (user.ok()) f.value = cat("up to ", read_line("/proc/sys/user/max_user_namespaces"));
  else explain_refusal(f, user);
  out.push_back(std::move(f));

  constexpr Kind kKinds[] = {
      {"pid_ns", CLONE_NEWPID, "this kernel was built without CONFIG_PID_NS"},
      {"mount_ns", CLONE_NEWNS, ""},
      {"net_ns", CLONE_NEWNET, "this kernel was built without CONFIG_NET_NS"},
      {"ipc_ns", CLONE_NEWIPC, "this kernel was built without CONFIG_IPC_NS"},
      {"uts_ns", CLONE_NEWUTS, "this kernel was built without CONFIG_UTS_NS"},
      {"cgroup_ns", CLONE_NEWCGROUP, "this kernel was built without CONFIG_CGROUPS"},
      {"time_ns", CLONE_NEWTIME, "a kernel of 5.6 or newer with CONFIG_TIME_NS; only needed when a policy asks for it"},
  };
  for (const Kind& kind : kKinds) out.push_back(one_namespace(kind));

  Trial lo = try_in_child(raise_loopback);
  out.push_back({"namespaces", "own_loopback", lo.ok() ? Have::kYes : Have::kNo, lo.ok() ? "lo can be brought up" : "",
                 lo.why(), lo.ok() ? "" : "see net_ns"});
  Trial proc = try_in_child(mount_proc);
  out.push_back(
      {"namespaces", "own_proc", proc.ok() ? Have::kYes : Have::kNo, proc.ok() ? "a fresh /proc mounts" : "",
       proc.why(),
       proc.ok() ? ""
                 : "in a container, start it with an unmasked /proc (docker: --security-opt systempaths=unconfined)"});
}

}  // namespace hotcell::sys
