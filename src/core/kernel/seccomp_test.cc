// What the embedded filters answer, call by call, run in an interpreter.
#include "core/kernel/seccomp.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <set>

#include "base/strings.h"
#include "core/kernel/seccomp_compile.h"
#include "core/kernel/seccomp_testing.h"

namespace hotcell {
namespace {

using namespace testing_seccomp;

constexpr std::uint32_t kOk = SECCOMP_RET_ALLOW, kNotified = SECCOMP_RET_USER_NOTIF, kDead = SECCOMP_RET_KILL_PROCESS;
constexpr std::uint32_t fails(int err) { return SECCOMP_RET_ERRNO | static_cast<std::uint32_t>(err); }

std::vector<std::uint64_t> program(SeccompRequest r) {
  auto result = plan_seccomp(r);
  EXPECT_TRUE(result.ok()) << result.error().message;
  return result.ok() ? result.value().insns : std::vector<std::uint64_t>();
}
SeccompRequest with(std::string base, bool net = false, bool isolated = true, bool notify = true) {
  SeccompRequest r;
  r.base = std::move(base);
  r.network_on = net, r.isolated_network = isolated, r.notify = notify;
  return r;
}

struct Filter {
  std::vector<std::uint64_t> code;
  std::uint32_t arch = audit_arch(kNativeArch);
  std::uint32_t nr(std::uint32_t n, std::vector<std::uint64_t> args = {}) const {
    seccomp_data d{};
    d.nr = static_cast<int>(n), d.arch = arch;
    for (std::size_t i = 0; i < args.size(); ++i) d.args[i] = args[i];
    return run_bpf(code, d);
  }
  std::uint32_t operator()(std::string_view name, std::vector<std::uint64_t> args = {}) const {
    const auto n = syscall_number(name, kNativeArch);
    EXPECT_TRUE(n.has_value()) << name;
    return n ? nr(*n, std::move(args)) : kBroken;
  }
};

class SeccompRules : public ::testing::Test {
 protected:
  Filter def{program(with("default"))}, strict{program(with("strict"))}, net{program(with("default", true))};
  Filter bare{program(with("default", false, false))}, quiet{program(with("default", false, true, false))};
};

constexpr std::uint64_t kHigh = 0xabcd'0000'0000'0000;

TEST(SeccompLists, EachCallStandsInExactlyOneGroupPerBaseAndExists) {
  for (Bases base : {kDefaultBase, kStrictBase})
    for (Nets net : {kNoInet, kOwnInet, kRealInet, kFlatInet}) {
      std::set<std::string_view> seen;
      for (const CallGroup& g : call_groups()) {
        if (!(g.bases & base) || !(g.nets & net)) continue;
        EXPECT_FALSE(g.reason.empty());
        for (std::string_view name : split(g.names, ' ')) {
          EXPECT_TRUE(is_syscall_name(name)) << "'" << name << "'";
          EXPECT_TRUE(seen.insert(name).second) << name << " twice";
        }
      }
      for (const ArgumentRule& r : argument_rules())
        for (std::string_view name : split(r.names, ' ')) EXPECT_TRUE(seen.count(name)) << name;
    }
  for (std::string_view names : {never_allowed(), needed_to_start(), observed_calls()})
    for (std::string_view name : split(names, ' ')) EXPECT_TRUE(is_syscall_name(name)) << name;
}

TEST_F(SeccompRules, PresetsAreEmbeddedAndEqualWhatTheListsCompileTo) {
  for (bool real : {false, true})
    for (const char* base : {"default", "strict"})
      EXPECT_EQ(plan_seccomp(with(base, real)).value().source, cat("embedded ", base));
  ASSERT_EQ(kEmbeddedFilterCount, 32u);
  for (std::uint32_t i = 0; i < kEmbeddedFilterCount; ++i) {
    const EmbeddedFilter& f = kEmbeddedFilters[i];
    EXPECT_EQ(f.arch, kNativeArch);
    FilterModel model = build_model(f.base, f.net, f.arch);
    if (!f.counted) refuse_uncounted(model);
    if (f.notify && (f.net & kFlat)) hand_over_marks(model);
    const auto code = compile_filter(model, f.notify ? Listener::kPresent : Listener::kNone);
    EXPECT_EQ(code, std::vector<std::uint64_t>(f.insns, f.insns + f.count));
    EXPECT_LT(code.size(), 700u);
  }
}

TEST_F(SeccompRules, ForeignAbisAreKilled) {
#if defined(__x86_64__)
  Filter i386 = def;
  i386.arch = 0x40000003;
  for (std::uint32_t n : {0u, 1u, 20u, 102u, 450u}) EXPECT_EQ(i386.nr(n), kDead);
  for (std::uint32_t n : {0u, 1u, 59u, 101u, 450u, 512u, 545u, 0x3fffffffu})
    EXPECT_EQ(def.nr(0x40000000u + n), kDead) << n;
#endif
  Filter other = def;
  for (std::uint32_t arch : {0u, 0xc00000b7u, 0x40000028u, 0xc0000016u, 0xffffffffu}) {
    if (arch == audit_arch(kNativeArch)) continue;
    other.arch = arch;
    EXPECT_EQ(other("read"), kDead) << arch;
  }
}

TEST_F(SeccompRules, UnknownAndNegativeNumbersAnswerEnosys) {
  std::set<std::uint32_t> listed;
  const FilterModel model = model_seccomp(with("default")).value();
  for (const CallRule& r : model.rules) listed.insert(r.number);
  for (std::uint32_t n = 450; n <= 1000; ++n) {
    if (listed.count(n)) continue;
    EXPECT_EQ(def.nr(n), fails(ENOSYS)) << n;
  }
  for (std::uint32_t n : {470u + 1, 600u, 1000u, 0x3fffffffu, 0x80000000u, 0xc0000000u, 0xfffffffeu, 0xffffffffu})
    EXPECT_EQ(def.nr(n), fails(ENOSYS)) << n;
  for (const char* name : {"clone3", "openat2", "cachestat", "file_setattr", "remap_file_pages"})
    EXPECT_EQ(def(name), fails(ENOSYS)) << name;
#if defined(__x86_64__)
  for (const char* name : {"uselib", "ustat", "sysfs", "_sysctl", "create_module", "nfsservctl", "set_thread_area"})
    EXPECT_EQ(def(name), fails(ENOSYS)) << name;
#endif
}

TEST_F(SeccompRules, NamedDeniedCallsGoToTheListenerOrAnswerEperm) {
  for (const char* name : {"ptrace",
                           "process_vm_readv",
                           "process_vm_writev",
                           "pidfd_getfd",
                           "kcmp",
                           "perf_event_open",
                           "bpf",
                           "userfaultfd",
                           "io_uring_setup",
                           "io_uring_enter",
                           "io_uring_register",
                           "keyctl",
                           "add_key",
                           "request_key",
                           "mount",
                           "umount2",
                           "pivot_root",
                           "open_tree",
                           "open_tree_attr",
                           "move_mount",
                           "fsopen",
                           "fsconfig",
                           "fsmount",
                           "fspick",
                           "mount_setattr",
                           "statmount",
                           "listmount",
                           "chroot",
                           "unshare",
                           "setns",
                           "swapon",
                           "swapoff",
                           "reboot",
                           "kexec_load",
                           "kexec_file_load",
                           "init_module",
                           "finit_module",
                           "delete_module",
                           "quotactl",
                           "quotactl_fd",
                           "fanotify_init",
                           "fanotify_mark",
                           "open_by_handle_at",
                           "name_to_handle_at",
                           "lookup_dcookie",
                           "acct",
                           "syslog",
                           "settimeofday",
                           "clock_settime",
                           "adjtimex",
                           "clock_adjtime",
                           "sethostname",
                           "setdomainname",
                           "vhangup",
                           "memfd_secret",
                           "lsm_set_self_attr",
                           "vmsplice",
                           "io_setup",
                           "io_submit"}) {
    EXPECT_EQ(def(name), kNotified) << name;
    EXPECT_EQ(strict(name), kNotified) << name;
    EXPECT_EQ(quiet(name), fails(EPERM)) << name;
  }
#if defined(__x86_64__)
  for (const char* name : {"iopl", "ioperm", "modify_ldt", "uretprobe", "uprobe"})
    EXPECT_EQ(def(name), kNotified) << name;
#endif
}

TEST_F(SeccompRules, CloneMakesThreadsAndProcessesButNoNamespaces) {
  EXPECT_EQ(def("clone", {17}), kOk);
  EXPECT_EQ(def("clone", {0x3d0f00}), kOk);  // pthread_create
  EXPECT_EQ(def("clone", {0x4111}), kOk);    // vfork
  for (std::uint64_t flag :
       {0x00020000u, 0x02000000u, 0x04000000u, 0x08000000u, 0x10000000u, 0x20000000u, 0x40000000u}) {
    EXPECT_EQ(def("clone", {flag | 17}), kNotified) << flag;
    EXPECT_EQ(def("clone", {kHigh | flag}), kNotified) << flag;
  }
}

TEST_F(SeccompRules, WithoutNamespacesTheCallersOtherProcessesAreOutOfReach) {
  SeccompRequest with_network = with("default", true, false);
  with_network.own_namespaces = false;
  Filter flat_net{program(with_network)};
  constexpr std::uint64_t kPid = 4711;
  for (const char* name : {"prlimit64", "sched_setaffinity", "sched_setparam", "sched_setscheduler", "sched_setattr"})
    for (const Filter* f : {&bare, &flat_net, &def, &net}) {
      bool flat = f == &bare || f == &flat_net;
      EXPECT_EQ((*f)(name, {0}), kOk) << name;
      EXPECT_EQ((*f)(name, {kPid}), flat ? kNotified : kOk) << name;
    }
  for (const Filter* f : {&bare, &flat_net}) {
    EXPECT_EQ((*f)("setpriority", {0, 0, 19}), kOk);
    EXPECT_EQ((*f)("setpriority", {1, 0, 19}), kOk);
    EXPECT_EQ((*f)("setpriority", {2, 0, 19}), kNotified) << "every process of the user";
    EXPECT_EQ((*f)("setpriority", {0, kPid, 19}), kNotified);
    EXPECT_EQ((*f)("ioprio_set", {1, 0, 0}), kOk);
    EXPECT_EQ((*f)("ioprio_set", {1, kPid, 0}), kNotified);
    EXPECT_EQ((*f)("ioprio_set", {3, 0, 0}), kNotified);
    for (const char* name : {"shmget", "msgget", "semget", "mq_open", "inotify_init", "inotify_init1", "inotify_add_watch"}) EXPECT_EQ((*f)(name), kNotified) << name;
    for (const char* name : {"chown", "fchown", "lchown", "fchownat"}) EXPECT_EQ((*f)(name), fails(EPERM)) << name;
    for (const char* name : {"chmod", "fchmod", "fchmodat", "fchmodat2", "utime", "utimes", "futimesat", "utimensat"})
      if (syscall_number(name, kNativeArch)) {
        EXPECT_EQ((*f)(name, {0, 0, 0}), kNotified) << name << " is done for the program";
      }
    // Setting flags, versions and verity; cloning; XFS's reading of any inode by its number; f2fs' writes at once.
    for (std::uint64_t own : {0x40086602u, 0x401c5820u, 0x40087602u, 0x40806685u, 0x40049409u, 0xc0045877, 0xc0205865, 0xf501u}) {
      EXPECT_EQ((*f)("ioctl", {3, own}), fails(ENOTTY));
      EXPECT_EQ((*f)("ioctl", {3, own | kHigh}), fails(ENOTTY));
      EXPECT_EQ(def("ioctl", {3, own}), kOk) << "mounts decide";
    }
    for (std::uint64_t common : {0x5401, 0x5413, 0x541b, 0x5421, 0x5450}) EXPECT_EQ((*f)("ioctl", {0, common}), kOk);
    for (const char* name : {"getxattr", "lgetxattr", "getxattrat", "listxattr", "llistxattr", "listxattrat"})
      if (syscall_number(name, kNativeArch)) {
        EXPECT_EQ((*f)(name), fails(EOPNOTSUPP)) << name;
        EXPECT_EQ(def(name), kOk) << name;
      }
    for (const char* name : {"fgetxattr", "flistxattr"}) EXPECT_EQ((*f)(name), kOk) << "what could be opened";
    EXPECT_EQ((*f)("socketpair", {1, 1, 0}), kOk);
    EXPECT_EQ((*f)("socketpair", {1, 5, 0}), kOk);
    EXPECT_EQ((*f)("socketpair", {1, 2, 0}), kNotified) << "a datagram socket sends to any address";
    EXPECT_EQ((*f)("socket", {1, 2, 0}), fails(EAFNOSUPPORT));
  }
  SeccompRequest lifted = with("default", false, false);
  lifted.allow = {"prlimit64", "ioprio_set", "socket"};
  Filter f{program(lifted)};
  EXPECT_EQ(f("prlimit64", {kPid}), kNotified) << "a profile cannot lift an argument rule";
  EXPECT_EQ(f("ioprio_set", {1, kPid}), kNotified);
  EXPECT_EQ(f("socket", {1, 1, 0}), fails(EAFNOSUPPORT));
}

// What a profile or a file takes away is not done for the program either; what it gives, the kernel does.
TEST_F(SeccompRules, MarksAreHandedOverOnlyWhereTheyAreAllowed) {
  SeccompRequest r = with("default", false, false);
  auto handed = [&](const char* name) {
    auto marks = plan_seccomp(r).value().marks;
    return std::find(marks.begin(), marks.end(), *syscall_number(name, kNativeArch)) != marks.end();
  };
  EXPECT_TRUE(handed("fchmodat"));
  EXPECT_TRUE(handed("utimensat"));
  r.deny = {"fchmodat"};
  EXPECT_FALSE(handed("fchmodat"));
  EXPECT_TRUE(handed("utimensat"));
  r.deny.clear();
  r.observe_files = true;
  EXPECT_TRUE(handed("fchmodat"));
  auto observed = plan_seccomp(r).value().observed;
  EXPECT_EQ(std::count(observed.begin(), observed.end(), *syscall_number("fchmodat", kNativeArch)), 0) << "it would go on by itself";
  r = with("default");
  EXPECT_TRUE(plan_seccomp(r).value().marks.empty());
}

TEST_F(SeccompRules, ListeningOnARealNetworkTakesAProfileThatSaysSo) {
  EXPECT_EQ(def("listen", {3, 1}), kOk);
  EXPECT_EQ(bare("listen", {3, 1}), kOk) << "no internet socket can be made there";
  EXPECT_EQ(net("listen", {3, 1}), kNotified);
  SeccompRequest allowed = with("default", true);
  allowed.allow = {"listen"};
  EXPECT_EQ(Filter{program(allowed)}("listen", {3, 1}), kOk);
}

TEST_F(SeccompRules, WhereNoCgroupCountsMemoryItCannotBeHidden) {
  SeccompRequest r = with("default");
  r.counted_memory = false;
  EXPECT_EQ(plan_seccomp(r).value().source, "embedded default");
  Filter f{program(r)};
  for (const char* name : {"memfd_create", "shmget"}) {
    EXPECT_EQ(def(name), kOk) << name;
    EXPECT_EQ(f(name), fails(ENOSYS)) << name;
    EXPECT_EQ(strict(name), kNotified) << name;
  }
  r.base = "strict";
  EXPECT_EQ(Filter{program(r)}("memfd_create"), kNotified) << "strict refuses it as ever";
}

TEST_F(SeccompRules, SocketFamilies) {
  const std::uint64_t stream = 1 | 02000000, dgram = 2, raw = 3, packet = 10;
  for (const Filter* f : {&def, &strict, &net, &bare}) {
    EXPECT_EQ((*f)("socket", {1, stream, 0}), f == &bare ? fails(EAFNOSUPPORT) : kOk);
    EXPECT_EQ((*f)("socket", {kHigh | 1, stream, 0}), f == &bare ? fails(EAFNOSUPPORT) : kOk);
    EXPECT_EQ((*f)("socketpair", {1, stream, 0}), kOk);
    EXPECT_EQ((*f)("socketpair", {30, stream, 0}), kNotified);
    for (std::uint64_t family : {0, 3, 4, 5, 8, 9, 15, 17, 21, 29, 30, 31, 38, 39, 40, 41, 42, 43, 44, 45}) {
      EXPECT_EQ((*f)("socket", {family, stream, 0}), kNotified) << family;
      EXPECT_EQ((*f)("socket", {kHigh | family, raw, 0}), kNotified) << family;
    }
    for (std::uint64_t protocol : {1, 9, 12, 15, 16}) EXPECT_EQ((*f)("socket", {16, raw, protocol}), kNotified);
    EXPECT_EQ((*f)("socket", {2, stream, 262}), fails(EPROTONOSUPPORT));
    for (std::uint64_t family : {2, 10}) {
      for (std::uint64_t type : {raw, packet, std::uint64_t{4}, std::uint64_t{5}, std::uint64_t{6}})
        EXPECT_EQ((*f)("socket", {family, type, 0}), kNotified) << type;
      for (auto [type, protocol] :
           {std::pair<std::uint64_t, std::uint64_t>{stream, 132}, {stream, 17}, {dgram, 1}, {dgram, 58}, {dgram, 136}})
        EXPECT_EQ((*f)("socket", {family, type, protocol}), kNotified) << type << " " << protocol;
    }
  }
  for (std::uint64_t family : {std::uint64_t{2}, std::uint64_t{10}, kHigh | 2})
    for (auto [type, protocol] :
         {std::pair<std::uint64_t, std::uint64_t>{stream, 0}, {stream, 6}, {dgram, 0}, {dgram | 04000, 17}}) {
      EXPECT_EQ(def("socket", {family, type, protocol}), kOk);
      EXPECT_EQ(net("socket", {family, type, protocol}), kOk);
      EXPECT_EQ(strict("socket", {family, type, protocol}), kNotified);
      EXPECT_EQ(bare("socket", {family, type, protocol}), kNotified)
          << "without a network of its own it would be the host's";
    }
  EXPECT_EQ(net("socket", {16, raw, 0}), kOk);
  for (const Filter* f : {&def, &strict, &bare}) EXPECT_EQ((*f)("socket", {16, raw, 0}), fails(EAFNOSUPPORT));
  EXPECT_EQ(def("setsockopt", {3, 6, 31}), fails(ENOENT));
  EXPECT_EQ(def("setsockopt", {3, 6, 1}), kOk);
  EXPECT_EQ(def("setsockopt", {3, 1, 31}), kOk);
}

TEST_F(SeccompRules, HighBitsDoNotHideIoctlAndPrctl) {
  for (std::uint64_t high : {std::uint64_t{0}, kHigh, std::uint64_t{1} << 32, ~std::uint64_t{0} << 32}) {
    for (std::uint64_t cmd : {0x5412, 0x541c, 0x541d, 0x5423}) EXPECT_EQ(def("ioctl", {0, high | cmd}), kNotified);
    for (std::uint64_t cmd : {0x5401, 0x5413, 0x5421, 0x541b, 0x5450}) EXPECT_EQ(def("ioctl", {0, high | cmd}), kOk);
    for (std::uint64_t cmd : {0x800c6613u, 0xc0506617, 0xc0406618, 0xc0406619}) EXPECT_EQ(def("ioctl", {0, high | cmd}), fails(ENOTTY));
    for (std::uint64_t cmd : {1024, 1026}) EXPECT_EQ(def("fcntl", {0, high | cmd}), kNotified);
    for (std::uint64_t cmd : {1, 3, 6, 1025, 1030, 1032, 1033}) EXPECT_EQ(def("fcntl", {0, high | cmd}), kOk);
    EXPECT_EQ(def("fcntl", {0, high | 1031}), fails(EPERM)) << "larger pipes are the caller's to have";
    for (std::uint64_t option : {1, 4, 15, 22, 36, 38, 47, 0x53564d41, 0x59616d61})
      EXPECT_EQ(def("prctl", {high | option}), kOk) << option;
    for (std::uint64_t option : {0, 5, 28, 31, 32, 33, 35, 57, 59, 62, 67, 69, 78, 1000})
      EXPECT_EQ(def("prctl", {high | option}), fails(EINVAL)) << option;
    EXPECT_EQ(def("madvise", {0, 0, high | 12}), fails(EINVAL));
    EXPECT_EQ(def("madvise", {0, 0, high | 4}), kOk);
    EXPECT_EQ(def("personality", {high | 0}), kOk);
    EXPECT_EQ(def("personality", {high | 0xffffffff}), kOk);
    for (std::uint64_t p : {0x0040000, 0x0400000, 8, 0x20000}) EXPECT_EQ(def("personality", {high | p}), kNotified);
    EXPECT_EQ(def("seccomp", {high | 1, 0}), kOk);
    EXPECT_EQ(def("seccomp", {high | 1, high | 1}), kOk);
    EXPECT_EQ(def("seccomp", {high | 1, high | 8}), kNotified);
    EXPECT_EQ(def("seccomp", {high | 1, high | 9 | 32}), kNotified);
    EXPECT_EQ(def("seccomp", {high | 2, 0}), kOk);
    for (std::uint64_t op : {0, 3, 4}) EXPECT_EQ(def("seccomp", {high | op, 0}), kNotified);
  }
}

TEST_F(SeccompRules, SetIdBitsAndDevicesAreRefusedWhereverAModeIsSeen) {
  for (std::uint64_t bit : {04000, 02000, 06000})
    for (std::uint64_t high : {std::uint64_t{0}, kHigh, std::uint64_t{0x10000}}) {
      const std::uint64_t mode = high | bit | 0755;
#if defined(__x86_64__)
      for (const char* name : {"chmod", "creat", "mkdir", "mknod"}) EXPECT_EQ(def(name, {1, mode}), kNotified) << name;
      EXPECT_EQ(def("open", {1, 0101, mode}), kNotified);
      EXPECT_EQ(def("open", {1, 020200002, mode}), kNotified);
      EXPECT_EQ(def("open", {1, 02, mode}), kOk) << "the mode register is garbage without O_CREAT";
#endif
      EXPECT_EQ(def("fchmod", {1, mode}), kNotified);
      for (const char* name : {"fchmodat", "fchmodat2", "mkdirat", "mknodat"})
        EXPECT_EQ(def(name, {1, 1, mode}), kNotified) << name;
      EXPECT_EQ(def("openat", {1, 1, kHigh | 0101, mode}), kNotified);
      EXPECT_EQ(def("openat", {1, 1, 020200002, mode}), kNotified);
      EXPECT_EQ(def("openat", {1, 1, 0, mode}), kOk);
    }
  EXPECT_EQ(def("openat", {1, 1, 0101, 0644}), kOk);
  EXPECT_EQ(def("fchmodat", {1, 1, 01777}), kOk);
  EXPECT_EQ(def("mkdirat", {1, 1, 0755}), kOk);
  for (std::uint64_t type : {0, 0100000, 0010000, 0140000}) EXPECT_EQ(def("mknodat", {1, 1, type | 0644}), kOk) << type;
  for (std::uint64_t type : {0020000, 0060000, 0040000, 0120000, 0170000})
    EXPECT_EQ(def("mknodat", {1, 1, type | 0644}), kNotified) << type;
  for (const char* name :
       {"setxattr", "lsetxattr", "fsetxattr", "setxattrat", "removexattr", "fremovexattr", "removexattrat"})
    EXPECT_EQ(def(name), fails(EOPNOTSUPP)) << name;
  EXPECT_EQ(def("getxattr"), kOk);
}

TEST_F(SeccompRules, StrictHasNoWritableExecutableMemoryAndNoSplice) {
  for (const char* name : {"mmap", "mprotect", "pkey_mprotect"}) {
    for (std::uint64_t prot : {std::uint64_t{6}, std::uint64_t{7}, kHigh | 7}) {
      EXPECT_EQ(def(name, {0, 0, prot}), kOk);
      EXPECT_EQ(strict(name, {0, 0, prot}), kNotified);
    }
    for (std::uint64_t prot : {0, 1, 2, 3, 4, 5}) EXPECT_EQ(strict(name, {0, 0, prot}), kOk);
  }
  for (const char* name : {"splice", "tee", "memfd_create", "shmat", "shmget", "mq_open"}) {
    EXPECT_EQ(def(name), kOk) << name;
    EXPECT_EQ(strict(name), kNotified) << name;
  }
  SeccompRequest again = with("strict");
  again.allow = {"shmat"};
  const Filter f{program(again)};
  EXPECT_EQ(f("shmat", {1, 0, 0}), kOk);
  EXPECT_EQ(f("shmat", {1, 0, 0100000}), kNotified);
}

TEST_F(SeccompRules, WhatProgramsProbeIsAnsweredWithoutARecord) {
  EXPECT_EQ(def("sync"), fails(0));
  EXPECT_EQ(def("syncfs"), kOk);
  for (const char* name : {"mbind", "set_mempolicy", "move_pages", "migrate_pages"})
    EXPECT_EQ(def(name), fails(EPERM)) << name;
  for (const char* name : {"get_mempolicy",
                           "rseq",
                           "membarrier",
                           "futex_waitv",
                           "close_range",
                           "faccessat2",
                           "epoll_pwait2",
                           "statx",
                           "landlock_restrict_self",
                           "pidfd_open",
                           "pidfd_send_signal",
                           "execveat",
                           "restart_syscall",
                           "kill",
                           "setuid",
                           "capset",
                           "mseal",
                           "copy_file_range",
                           "flock",
                           "getrandom"})
    EXPECT_EQ(def(name), kOk) << name;
}

TEST(SeccompNames, DenialsAreNamedWithTheirFix) {
  const std::uint32_t arch = audit_arch(kNativeArch);
  auto describe = [&](std::string_view name, std::uint64_t a0 = 0, std::uint64_t a1 = 0, std::uint64_t a2 = 0,
                      std::uint64_t a3 = 0) {
    const std::uint64_t args[6] = {a0, a1, a2, a3, 0, 0};
    return describe_denial(static_cast<int>(syscall_number(name, kNativeArch).value()), arch, args);
  };
  EXPECT_EQ(describe("ptrace").what, "ptrace() was refused");
  EXPECT_EQ(describe("ptrace").fix, "syscalls: {allow: [ptrace]}");
  EXPECT_EQ(describe("splice").fix, "syscalls: {allow: [splice]}");
  EXPECT_EQ(describe("shmat").fix, "syscalls: {allow: [shmat]}");
  EXPECT_EQ(describe("mount").fix, "");
  EXPECT_EQ(describe("socket", 40, 1, 0).what, "socket(AF_VSOCK) was refused");
  EXPECT_EQ(describe("socket", 40, 1, 0).fix, "");
  EXPECT_EQ(describe("socket", 2, 3, 1).what, "socket(AF_INET, SOCK_RAW) was refused");
  EXPECT_EQ(describe("socket", 2, 1, 6).fix, "syscalls: {base: default}");
  EXPECT_EQ(describe("clone", 0x30000011).what, "clone(CLONE_NEWUSER|CLONE_NEWPID) was refused");
  EXPECT_EQ(describe("ioctl", 0, kHigh | 0x5412).what, "ioctl(TIOCSTI) was refused");
  EXPECT_EQ(describe("fchmodat", 0, 0, 04755).what, "fchmodat(mode 04755) was refused");
  EXPECT_EQ(describe("mprotect").fix, "syscalls: {base: default}");
  const std::uint64_t none[6] = {};
  EXPECT_EQ(describe_denial(4000, arch, none).name, "syscall 4000");
  EXPECT_EQ(syscall_name(-1, arch), "");
  EXPECT_EQ(syscall_name(0, 0x40000003), "");
  EXPECT_EQ(syscall_name(457, arch), "statmount");
}

}  // namespace
}  // namespace hotcell
