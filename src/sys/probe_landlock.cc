#include <fcntl.h>
#include <linux/audit.h>
#include <linux/netlink.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "base/strings.h"
#include "sys/probe.h"

namespace hotcell::sys {
namespace {

constexpr unsigned kVersion = 1U << 0;
constexpr unsigned kErrata = 1U << 1;
constexpr std::uint64_t kReadFile = 1ULL << 2;

int create_ruleset(const void* attr, std::size_t size, unsigned flags) {
  return static_cast<int>(syscall(SYS_landlock_create_ruleset, attr, size, flags));
}

// What each version added; a cell on an older one goes without.
struct Step {
  int abi;
  std::string_view what;
};
constexpr Step kSteps[] = {
    {2, "refer (moves between folders)"},     {3, "truncate"},     {4, "TCP bind and connect"}, {5, "device ioctl"},
    {6, "signal and abstract-socket scopes"}, {7, "audit records"}};

void deny_everything(Trial& t) {
  std::uint64_t handled = kReadFile;
  int fd = create_ruleset(&handled, sizeof handled, 0);
  if (fd < 0) {
    t.fail("landlock_create_ruleset", errno);
    return;
  }
  if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0) {
    t.fail("no_new_privs", errno);
    return;
  }
  if (syscall(SYS_landlock_restrict_self, fd, 0) != 0) {
    t.fail("landlock_restrict_self", errno);
    return;
  }
  if (open("/etc/passwd", O_RDONLY | O_CLOEXEC) >= 0) t.fail("a forbidden read went through", EIO);
  else if (errno != EACCES) t.fail("open", errno);
}

// Landlock's audit records (ABI 7) reach whoever may listen (CAP_AUDIT_READ) while auditing is switched on for the
// whole machine. Asks only: switching it on is not ours to do.
void listen_to_audit(Trial& t) {
  int fd = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_AUDIT);
  if (fd < 0) {
    t.fail("audit socket", errno);
    return;
  }
  sockaddr_nl own{};
  own.nl_family = AF_NETLINK;
  own.nl_groups = 1U << (AUDIT_NLGRP_READLOG - 1);
  if (bind(fd, reinterpret_cast<const sockaddr*>(&own), sizeof own) != 0) {
    t.fail("listening to the audit log", errno);
    return;
  }
  sockaddr_nl kernel{};
  kernel.nl_family = AF_NETLINK;
  nlmsghdr ask{};
  ask.nlmsg_len = sizeof ask;
  ask.nlmsg_type = AUDIT_GET;
  ask.nlmsg_flags = NLM_F_REQUEST;
  if (sendto(fd, &ask, sizeof ask, 0, reinterpret_cast<const sockaddr*>(&kernel), sizeof kernel) < 0) {
    t.fail("asking for the state of auditing", errno);
    return;
  }
  for (;;) {
    alignas(nlmsghdr) char answer[8192];
    nlmsghdr head{};
    if (recv(fd, answer, sizeof answer, 0) < static_cast<ssize_t>(sizeof head)) {
      t.fail("asking for the state of auditing", errno);
      return;
    }
    std::memcpy(&head, answer, sizeof head);
    if (head.nlmsg_type == NLMSG_ERROR) {
      nlmsgerr error{};
      std::memcpy(&error, answer + NLMSG_HDRLEN, sizeof error);
      if (error.error == 0) continue;
      t.fail("asking for the state of auditing", -error.error);
      return;
    }
    if (head.nlmsg_type != AUDIT_GET) continue;  // the log itself
    audit_status status{};
    std::memcpy(&status, answer + NLMSG_HDRLEN, sizeof status);
    t.value = status.enabled;
    return;
  }
}

std::string advice_for(int err) {
  if (err == EOPNOTSUPP) return "boot with landlock in the lsm= list (see /sys/kernel/security/lsm)";
  if (err == ENOSYS) return "a kernel of 5.13 or newer with CONFIG_SECURITY_LANDLOCK";
  return "inside a container, allow the landlock_* calls in its seccomp profile";
}

}  // namespace

void probe_landlock(std::vector<Fact>& out) {
  Trial version = try_in_child([](Trial& t) {
    t.value = create_ruleset(nullptr, 0, kVersion);
    if (t.value < 0) t.fail("landlock_create_ruleset", errno);
  });
  Fact f{"landlock", "landlock_abi", Have::kNo, "", version.why(), ""};
  if (version.ok()) {
    const int abi = static_cast<int>(version.value);
    std::vector<std::string> missing;
    for (const Step& s : kSteps)
      if (abi < s.abi) missing.emplace_back(s.what);
    f.value = cat("ABI ", abi);
    f.have = missing.empty() ? Have::kYes : Have::kPartial;
    if (!missing.empty()) {
      f.reason = cat("missing: ", join(missing, ", "));
      f.advice = "a kernel of 6.15 or newer has them all; until then the other layers stand in";
    }
  } else {
    f.advice = advice_for(version.err);
  }
  const bool there = version.ok();
  out.push_back(std::move(f));
  if (!there) return;

  Trial errata = try_in_child([](Trial& t) {
    t.value = create_ruleset(nullptr, 0, kErrata);
    if (t.value < 0) t.fail("landlock_create_ruleset", errno);
  });
  std::vector<std::string> fixed;
  if (errata.ok())
    for (unsigned i = 0; i < 31; ++i)
      if (((errata.value >> i) & 1) != 0) fixed.push_back(cat(i + 1));
  out.push_back({"landlock", "landlock_errata", errata.ok() ? Have::kYes : Have::kPartial,
                 errata.ok() ? cat("fixed here: ", fixed.empty() ? "none" : join(fixed, " ")) : "",
                 errata.ok() ? "" : "this kernel does not say which Landlock bugs it has fixed", ""});

  Trial audit = try_in_child(listen_to_audit);
  const bool records = audit.ok() && audit.value != 0 && version.value >= 7;
  out.push_back({"landlock", "landlock_audit", records ? Have::kYes : Have::kPartial,
                 records ? "refusals are in the kernel's audit log" : "no records of refusals",
                 records             ? ""
                 : version.value < 7 ? "this kernel writes none (ABI 7, 6.15)"
                 : audit.ok()        ? "auditing is off on this machine"
                                     : audit.why(),
                 records ? "" : "not needed: hotcell run --explain-denials finds refused files without it"});

  Trial real = try_in_child(deny_everything);
  out.push_back({"landlock", "landlock_trial", real.ok() ? Have::kYes : Have::kNo,
                 real.ok() ? "a forbidden read was refused" : "", real.why(), real.ok() ? "" : advice_for(real.err)});
}

}  // namespace hotcell::sys
