// The kernel itself, the caller's identity, and the process-handling calls.
#include <fcntl.h>
#include <linux/openat2.h>
#include <signal.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/utsname.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <utility>

#include "base/strings.h"
#include "sys/probe.h"

namespace hotcell::sys {
namespace {

// linux/pidfd.h of Debian 12 has none of these.
constexpr unsigned kPidfsMagic = 0xFF;
constexpr unsigned long kPidfdGetUserNs = _IO(kPidfsMagic, 9);
struct PidfdInfo {
  std::uint64_t mask, cgroupid;
  std::uint32_t pid, tgid, ppid, ruid, rgid, euid, egid, suid, sgid, fsuid, fsgid;
  std::int32_t exit_code;
};
static_assert(sizeof(PidfdInfo) == 64);
constexpr unsigned long kPidfdGetInfo = _IOWR(kPidfsMagic, 11, PidfdInfo);
constexpr unsigned kMfdExec = 0x0010U;

// Capabilities the launcher uses when it has them, and what each buys.
constexpr std::array<std::pair<int, std::string_view>, 10> kCapabilities = {{
    {21, "sys_admin"},
    {7, "setuid"},
    {6, "setgid"},
    {0, "chown"},
    {1, "dac_override"},
    {5, "kill"},
    {12, "net_admin"},
    {19, "sys_ptrace"},
    {31, "setfcap"},
    {24, "sys_resource"},
}};

std::uint64_t effective_capabilities() {
  int fd = open("/proc/self/status", O_RDONLY | O_CLOEXEC);
  if (fd < 0) return 0;
  char buf[8192];
  ssize_t n = read(fd, buf, sizeof buf);
  close(fd);
  std::string_view text(buf, n > 0 ? static_cast<std::size_t>(n) : 0);
  auto at = text.find("CapEff:");
  if (at == std::string_view::npos) return 0;
  auto line = text.substr(at + 7);
  line = trim(line.substr(0, line.find('\n')));
  std::uint64_t bits = 0;
  std::from_chars(line.data(), line.data() + line.size(), bits, 16);
  return bits;
}

void probe_user(std::vector<Fact>& out) {
  const uid_t uid = geteuid();
  out.push_back({"kernel", "user", Have::kYes, cat("uid ", uid, " gid ", getegid()),
                 uid == 0 ? "" : "an ordinary user: no cgroups unless delegated, the cell runs under this uid", ""});

  const std::uint64_t bits = effective_capabilities();
  std::vector<std::string> have, missing;
  for (auto [bit, name] : kCapabilities) (((bits >> bit) & 1) != 0 ? have : missing).emplace_back(name);
  Fact caps{"kernel",
            "capabilities",
            missing.empty() ? Have::kYes
            : have.empty()  ? Have::kNo
                            : Have::kPartial,
            have.empty() ? "none" : join(have, " "),
            "",
            ""};
  if (!missing.empty()) caps.reason = cat("missing: ", join(missing, " "));
  if (uid == 0 && ((bits >> 21) & 1) == 0)
    caps.advice = "root without sys_admin, as in a container: --backend landlock";
  out.push_back(std::move(caps));

  const int groups = getgroups(0, nullptr);
  Fact g{"kernel", "supplementary_groups", Have::kYes, cat(groups, groups == 1 ? " group" : " groups"), "", ""};
  // setgroups(2) needs CAP_SETGID outside, and is forbidden for good in a user namespace made without it.
  bool extra = false;
  std::vector<gid_t> list(static_cast<std::size_t>(groups > 0 ? groups : 0));
  if (groups > 0 && getgroups(groups, list.data()) >= 0)
    for (gid_t one : list) extra = extra || one != getegid();
  if (extra && ((bits >> 6) & 1) == 0) {
    g.have = Have::kPartial;
    g.reason = "cannot be dropped without setgid: files readable by them stay readable where they are shown";
    g.advice = "grant no folder that these groups may read and the program must not; or run as root";
  }
  out.push_back(std::move(g));
}

void probe_pidfd(std::vector<Fact>& out) {
  enum : std::int64_t { kOpen = 1, kSignal = 2, kWait = 4, kGetfd = 8, kInfo = 16, kNamespaces = 32 };
  Trial t = try_in_child([](Trial& a) {
    pid_t child = fork();
    if (child == 0) {
      pause();
      _exit(0);
    }
    int fd = static_cast<int>(syscall(SYS_pidfd_open, child, 0));
    if (fd < 0) {
      a.fail("pidfd_open", errno);
      return;
    }
    a.value |= kOpen;
    if (syscall(SYS_pidfd_getfd, fd, 0, 0) >= 0) a.value |= kGetfd;
    PidfdInfo info{};
    if (ioctl(fd, kPidfdGetInfo, &info) == 0 && info.pid == static_cast<std::uint32_t>(child)) a.value |= kInfo;
    if (ioctl(fd, kPidfdGetUserNs, 0) >= 0) a.value |= kNamespaces;
    if (syscall(SYS_pidfd_send_signal, fd, SIGKILL, nullptr, 0) == 0) a.value |= kSignal;
    siginfo_t si{};
    if (syscall(SYS_waitid, 3 /* P_PIDFD */, fd, &si, WEXITED, nullptr) == 0) a.value |= kWait;
  });
  constexpr std::pair<std::int64_t, std::string_view> kParts[] = {{kOpen, "open"},     {kSignal, "signal"},
                                                                  {kWait, "wait"},     {kGetfd, "getfd"},
                                                                  {kInfo, "get_info"}, {kNamespaces, "namespaces"}};
  std::vector<std::string> have, missing;
  for (auto [bit, name] : kParts) ((t.value & bit) != 0 ? have : missing).emplace_back(name);
  Fact f{"kernel", "pidfd", Have::kYes, join(have, " "), "", ""};
  const bool enough = (t.value & (kOpen | kSignal | kWait)) == (kOpen | kSignal | kWait);
  if (!enough) f.have = Have::kNo;
  else if (!missing.empty()) f.have = Have::kPartial;
  if (!missing.empty()) f.reason = t.ok() ? cat("missing: ", join(missing, " ")) : t.why();
  if (!enough) f.advice = "a kernel of 5.4 or newer; inside a container, a seccomp profile that allows pidfd_open";
  out.push_back(std::move(f));
}

Fact from_trial(std::string name, const Trial& t, std::string value, std::string advice) {
  return {"kernel",
          std::move(name),
          t.ok() ? Have::kYes : Have::kNo,
          t.ok() ? std::move(value) : "",
          t.why(),
          t.ok() ? "" : std::move(advice)};
}

}  // namespace

void probe_host(std::vector<Fact>& out) {
  utsname u{};
  uname(&u);
  const KernelVersion v = parse_release(u.release);
  Fact kernel{"kernel", "kernel", Have::kYes, cat(std::string_view(u.release), " ", std::string_view(u.machine)),
              "",       ""};
  if (v < KernelVersion{5, 13, 0}) {
    kernel.have = Have::kPartial;
    kernel.reason = "older than 5.13: no Landlock";
    kernel.advice = "a kernel of 6.12 or newer has every layer";
  }
  out.push_back(std::move(kernel));
  probe_user(out);
  probe_pidfd(out);

  out.push_back(from_trial("close_range", try_in_child([](Trial& t) {
                             int fd = dup(2);
                             if (syscall(SYS_close_range, fd < 0 ? 900 : fd, ~0U, 4 /* CLOSE_RANGE_CLOEXEC */) != 0)
                               t.fail("close_range", errno);
                           }),
                           "with CLOEXEC", "a kernel of 5.11 or newer"));

  out.push_back(from_trial("openat2", try_in_child([](Trial& t) {
                             open_how how{};
                             how.flags = O_PATH | O_CLOEXEC;
                             how.resolve = RESOLVE_NO_MAGICLINKS | RESOLVE_NO_SYMLINKS;
                             if (syscall(SYS_openat2, AT_FDCWD, "/", &how, sizeof how) < 0) t.fail("openat2", errno);
                           }),
                           "RESOLVE_*", "a kernel of 5.6 or newer"));

  // vm.memfd_noexec=2 refuses MFD_EXEC outright; then init cannot run from sealed memory.
  const std::string noexec = read_line("/proc/sys/vm/memfd_noexec");
  Fact memfd = from_trial(
      "memfd_exec", try_in_child([](Trial& t) {
        int fd = static_cast<int>(syscall(SYS_memfd_create, "probe", MFD_CLOEXEC | MFD_ALLOW_SEALING | kMfdExec));
        if (fd < 0 && errno == EINVAL)
          fd = static_cast<int>(syscall(SYS_memfd_create, "probe", MFD_CLOEXEC | MFD_ALLOW_SEALING));
        if (fd < 0) t.fail("memfd_create", errno);
        else if (fcntl(fd, F_ADD_SEALS, F_SEAL_WRITE | F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL) != 0)
          t.fail("seal", errno);
      }),
      noexec.empty() ? "sealed memory may be executed" : cat("vm.memfd_noexec=", noexec),
      "sysctl vm.memfd_noexec=1 (programs that ask for an executable memfd then get one)");
  out.push_back(std::move(memfd));
}

}  // namespace hotcell::sys
