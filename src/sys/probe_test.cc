#include "sys/probe.h"

#include <dirent.h>
#include <fcntl.h>
#include <grp.h>
#include <gtest/gtest.h>
#include <sched.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <map>
#include <set>
#include <thread>

#include "sys/thread.h"

namespace hotcell::sys {
namespace {

using std::chrono::milliseconds;

std::string link_of(const std::string& path) {
  char buf[256] = {};
  ssize_t n = readlink(path.c_str(), buf, sizeof buf - 1);
  return n > 0 ? std::string(buf, static_cast<std::size_t>(n)) : "";
}

std::string whole(const char* path) {
  std::string out;
  int fd = open(path, O_RDONLY | O_CLOEXEC);
  char buf[4096];
  for (ssize_t n; fd >= 0 && (n = read(fd, buf, sizeof buf)) > 0;) out.append(buf, static_cast<std::size_t>(n));
  if (fd >= 0) close(fd);
  return out;
}

std::set<std::string> names_in(const char* path) {
  std::set<std::string> out;
  if (DIR* d = opendir(path)) {
    while (dirent* e = readdir(d)) out.insert(e->d_name);
    closedir(d);
  }
  return out;
}

TEST(ParseRelease, TakesTheNumbersAndNothingElse) {
  EXPECT_EQ(parse_release("6.1.0-18-amd64"), (KernelVersion{6, 1, 0}));
  EXPECT_EQ(parse_release("5.13"), (KernelVersion{5, 13, 0}));
  EXPECT_EQ(parse_release("6.18.44-fc"), (KernelVersion{6, 18, 44}));
  EXPECT_EQ(parse_release(""), (KernelVersion{0, 0, 0}));
  EXPECT_EQ(parse_release("x.y"), (KernelVersion{0, 0, 0}));
  EXPECT_LT(parse_release("5.9.16"), parse_release("5.13.0"));
}

TEST(TryInChild, AnswerCrossesWhole) {
  Trial t = try_in_child([](Trial& a) { a.value = 0x123456789abcdefLL; });
  EXPECT_TRUE(t.ok());
  EXPECT_EQ(t.value, 0x123456789abcdefLL);
  EXPECT_EQ(t.why(), "");
}

TEST(TryInChild, FailureNamesTheStep) {
  Trial t = try_in_child([](Trial& a) { a.fail("mount tmpfs", EPERM); });
  EXPECT_FALSE(t.ok());
  EXPECT_EQ(t.why(), "mount tmpfs: Operation not permitted");
}

TEST(TryInChild, HangIsEndedWithItsChildren) {
  int ends[2];
  ASSERT_EQ(pipe2(ends, O_CLOEXEC), 0);
  auto before = std::chrono::steady_clock::now();
  Trial t = try_in_child(
      [](Trial&) {
        fork();
        for (;;) pause();
      },
      milliseconds(150));
  EXPECT_EQ(t.end, Trial::End::kTimedOut);
  EXPECT_FALSE(t.ok());
  EXPECT_LT(std::chrono::steady_clock::now() - before, milliseconds(1900));
  // Both held the write end; end-of-file proves that neither lives.
  close(ends[1]);
  fcntl(ends[0], F_SETFL, O_NONBLOCK);
  ssize_t n = -1;
  char c;
  for (int i = 0; i < 200 && (n = read(ends[0], &c, 1)) < 0; ++i) usleep(5000);
  EXPECT_EQ(n, 0);
  close(ends[0]);
}

TEST(TryInChild, DeathIsReportedAsDeath) {
  Trial t = try_in_child([](Trial&) {
    kill(getpid(), SIGKILL);
    pause();
  });
  EXPECT_EQ(t.end, Trial::End::kDied);
  EXPECT_EQ(t.signal, SIGKILL);
  EXPECT_FALSE(t.ok());
}

TEST(Probe, ChangesNothingAboutTheCaller) {
  std::map<std::string, std::string> before;
  for (const auto& ns : names_in("/proc/self/ns")) before[ns] = link_of("/proc/self/ns/" + ns);
  ASSERT_GE(before.size(), 8U);
  const std::string mounts = whole("/proc/self/mountinfo");
  const std::string status_caps = whole("/proc/self/status").substr(whole("/proc/self/status").find("CapInh:"), 200);
  const auto fds = names_in("/proc/self/fd");
  rlimit was{}, is{};
  getrlimit(RLIMIT_NOFILE, &was);

  Facts facts = probe();
  ASSERT_GT(facts.all.size(), 30U);

  for (const auto& [ns, link] : before) EXPECT_EQ(link_of("/proc/self/ns/" + ns), link) << ns;
  EXPECT_EQ(whole("/proc/self/mountinfo"), mounts);
  EXPECT_EQ(whole("/proc/self/status").substr(whole("/proc/self/status").find("CapInh:"), 200), status_caps);
  EXPECT_EQ(names_in("/proc/self/fd"), fds);
  getrlimit(RLIMIT_NOFILE, &is);
  EXPECT_EQ(was.rlim_max, is.rlim_max);
  errno = 0;
  EXPECT_EQ(waitpid(-1, nullptr, WNOHANG), -1);
  EXPECT_EQ(errno, ECHILD) << "a trial's child was left behind";
  for (const auto& m : parse_cgroup_mounts(whole("/proc/self/mountinfo"), whole("/proc/self/cgroup")))
    EXPECT_NE(access((m.own + "/hotcell-probe-" + std::to_string(getpid())).c_str(), F_OK), 0) << m.own;
}

TEST(Probe, NamesAreUniqueAndShortfallsAreExplained) {
  std::set<std::string> seen;
  for (const Fact& f : probe().all) {
    EXPECT_TRUE(seen.insert(f.name).second) << f.name;
    EXPECT_FALSE(f.group.empty()) << f.name;
    EXPECT_TRUE(f.have == Have::kYes || !f.reason.empty()) << f.name;
  }
}

TEST(Probe, LandlockIsWhatTheKernelSays) {
  long abi = syscall(SYS_landlock_create_ruleset, nullptr, 0, 1U);
  Facts facts = probe();
  const Fact* f = facts.find("landlock_abi");
  ASSERT_NE(f, nullptr);
  if (abi < 0) {
    EXPECT_EQ(f->have, Have::kNo);
  } else {
    EXPECT_EQ(f->value, "ABI " + std::to_string(abi));
  }
  EXPECT_EQ(facts.has("landlock_trial"), abi > 0);
}

// Runs `check` in a child that was made weaker by `weaken`; the exit code is the verdict.
template <typename Weaken, typename Check>
int in_weaker_child(Weaken weaken, Check check) {
  std::thread([] {}).join();   // what a sanitizer ends below it knows of from here
  pid_t pid = fork();
  if (pid == 0) {
    end_sanitizer_thread();
    if (!weaken()) _exit(77);
    _exit(check() ? 0 : 1);
  }
  int status = 0;
  waitpid(pid, &status, 0);
  return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

TEST(Probe, OrdinaryUserIsToldWhatIsMissing) {
  // Root becomes one, with a foreign group; who is one already stays himself.
  EXPECT_EQ(in_weaker_child(
                [] {
                  if (geteuid() != 0) return true;
                  gid_t extra[] = {4};
                  return setgroups(1, extra) == 0 && setresgid(65534, 65534, 65534) == 0 &&
                         setresuid(65534, 65534, 65534) == 0;
                },
                [was_root = geteuid() == 0] {
                  Facts f = probe();
                  auto id = [](auto n) { return std::to_string(n); };
                  return f.find("user")->value == "uid " + id(geteuid()) + " gid " + id(getegid()) &&
                         f.find("capabilities")->have == Have::kNo &&
                         (!was_root || f.find("supplementary_groups")->have == Have::kPartial) && !f.has("cgroup_memory") &&
                         f.find("idmapped_mounts")->have == Have::kNo && f.find("raise_limits")->have == Have::kNo;
                }),
            0);
}

TEST(Probe, ForbiddenUserNamespacesAreExplainedByTheirSysctl) {
  int code = in_weaker_child(
      [] {
        // The switch is per user namespace, so that it can be turned in one of our own.
        Trial t;
        if (!enter_user_ns(t, 0)) return false;
        int fd = open("/proc/sys/user/max_user_namespaces", O_WRONLY);
        return fd >= 0 && write(fd, "0", 1) == 1;
      },
      [] {
        Facts f = probe();
        const Fact* u = f.find("user_ns");
        return u->have == Have::kNo && u->reason.find("user.max_user_namespaces is 0") != std::string::npos &&
               u->advice.find("landlock") != std::string::npos && f.find("native")->have == Have::kNo &&
               f.has("landlock");
      });
  if (code == 77) GTEST_SKIP() << "user namespaces are forbidden here already";
  EXPECT_EQ(code, 0);
}

TEST(CgroupMounts, UnifiedHostOfAnOrdinaryUser) {
  auto m = parse_cgroup_mounts("25 20 0:22 / /sys/fs/cgroup rw,nosuid shared:9 - cgroup2 cgroup2 rw,nsdelegate\n",
                               "0::/user.slice/user-1000.slice/session-2.scope\n");
  ASSERT_EQ(m.size(), 1U);
  EXPECT_EQ(m[0].version, 2);
  EXPECT_EQ(m[0].own, "/sys/fs/cgroup/user.slice/user-1000.slice/session-2.scope");
}

TEST(CgroupMounts, JoinedV1ControllersAndContainersOwnRoot) {
  auto m = parse_cgroup_mounts(
      "30 25 0:26 /docker/abc /sys/fs/cgroup/cpu,cpuacct ro - cgroup cgroup rw,cpu,cpuacct\n"
      "31 25 0:27 / /sys/fs/cgroup/with\\040space rw - cgroup cgroup rw,memory\n"
      "32 25 0:28 / /sys/fs/cgroup/systemd rw - cgroup cgroup rw,xattr,name=systemd\n"
      "33 25 0:29 / /proc rw - proc proc rw\n",
      "4:cpu,cpuacct:/docker/abc/x\n3:memory:/a\n1:name=systemd:/b\n");
  ASSERT_EQ(m.size(), 2U);
  EXPECT_EQ(m[0].own, "/sys/fs/cgroup/cpu,cpuacct/x");
  EXPECT_EQ(m[0].controllers, (std::vector<std::string>{"cpu", "cpuacct"}));
  EXPECT_EQ(m[1].own, "/sys/fs/cgroup/with space/a");
}

TEST(CgroupMounts, OwnGroupAboveTheNamespaceRootStaysAtTheMount) {
  auto m = parse_cgroup_mounts("25 20 0:22 / /sys/fs/cgroup rw - cgroup2 c rw\n", "0::/../outer\n");
  ASSERT_EQ(m.size(), 1U);
  EXPECT_EQ(m[0].own, "/sys/fs/cgroup");
}

}  // namespace
}  // namespace hotcell::sys
