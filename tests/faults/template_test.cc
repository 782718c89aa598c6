// Cells that a template stamps out: what the one before did must not reach the next, and a template that dies or fails
// must cost time only.
// g++ 12 takes the other alternative of a variant for an unset variable.
#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC diagnostic ignored "-Wmaybe-uninitialized"
#endif
#include <arpa/inet.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <signal.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <cstring>
#include <filesystem>
#include <set>
#include <sstream>

#include "base/strings.h"
#include "support/cells.h"
#include "support/leak_check.h"
#include "sys/fault.h"

namespace hotcell::testing {
namespace {

class Stamped : public LeakCheck {
 protected:
  void SetUp() override {
    LeakCheck::SetUp();
    auto made = Launcher::create();
    ASSERT_TRUE(made.ok());
    own_ = std::move(made).value();
  }
  void TearDown() override {
    sys::arm_fault(nullptr, 0);
    own_.reset();
    LeakCheck::TearDown();
  }

  Report go(Request request) {
    auto report = own_->run(default_policy(), std::move(request));
    EXPECT_TRUE(report.ok()) << (report.ok() ? "" : report.error().message);
    return report.ok() ? std::move(report).value() : Report{};
  }
  static bool is_stamped(const Report& r) {
    for (const auto& [step, took] : r.setup_ns)
      if (step == "user_ns" && took.count() > 0) return true;
    return false;
  }
  std::set<std::string> children() const {
    std::set<std::string> out;
    std::istringstream words(read_text("/proc/self/task/" + std::to_string(::getpid()) + "/children"));
    for (std::string pid; words >> pid;) out.insert(pid);
    return out;
  }

  std::unique_ptr<Launcher> own_;
};

constexpr const char* kWhere = "readlink /proc/self/ns/net";

HOTCELL_PROGRAM(talk_to_itself) {
  int server = ::socket(AF_INET, SOCK_STREAM, 0);
  sockaddr_in at{};
  at.sin_family = AF_INET;
  at.sin_port = htons(4711);
  at.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  if (::bind(server, reinterpret_cast<sockaddr*>(&at), sizeof at) != 0 || ::listen(server, 1) != 0) return 1;
  int client = ::socket(AF_INET, SOCK_STREAM, 0);
  if (::connect(client, reinterpret_cast<sockaddr*>(&at), sizeof at) != 0) return 2;
  return ::write(client, "trace", 5) == 5 ? 0 : 3;
}

HOTCELL_PROGRAM(knock_in_vain) {
  int fd = ::socket(AF_INET6, SOCK_DGRAM, 0);
  sockaddr_in6 at{};
  at.sin6_family = AF_INET6;
  at.sin6_port = htons(9);
  ::inet_pton(AF_INET6, "fd00::1", &at.sin6_addr);
  return ::sendto(fd, "x", 1, 0, reinterpret_cast<sockaddr*>(&at), sizeof at) < 0 && errno == ENETUNREACH ? 0 : 1;
}

TEST_F(Stamped, TheFirstCellIsMadeInOneGoAndTheNextIsStamped) {
  EXPECT_FALSE(is_stamped(go(shell("true"))));
  EXPECT_TRUE(is_stamped(go(shell("true"))));
}

TEST_F(Stamped, ANetworkNobodyTouchedServesAgain) {
  go(shell("true"));
  std::set<std::string> seen;
  for (int i = 0; i < 20; ++i) seen.insert(go(shell(kWhere)).out);
  EXPECT_LT(seen.size(), 6u) << "the control of the next test";
}

TEST_F(Stamped, ANetworkThatWasUsedIsNeverSeenAgain) {
  for (const char* user : {"talk_to_itself", "knock_in_vain"}) {
    SCOPED_TRACE(user);
    std::string fresh = "cat /proc/net/dev | tail -n 1; grep Udp: /proc/net/snmp; grep -E 'Ip6OutNoRoutes|Ip6InReceives' /proc/net/snmp6; cat /proc/net/ip6_flowlabel";
    go(shell("true"));
    std::string before = go(shell(fresh)).out;
    EXPECT_NE(before, "");
    for (int i = 0; i < 4; ++i) {
      Report used = go(carried_program(user));
      ASSERT_EQ(used.verdict.exit_code, 0) << describe(used);
      ASSERT_TRUE(is_stamped(used));
      for (int k = 0; k < 3; ++k) EXPECT_EQ(go(shell(fresh)).out, before);
    }
  }
}

// Reports of memberships leave seconds after the cell that had them.
HOTCELL_PROGRAM(join_groups) {
  int refused = 0;
  int four = ::socket(AF_INET, SOCK_DGRAM, 0), six = ::socket(AF_INET6, SOCK_DGRAM, 0);
  ip_mreqn m4{};
  m4.imr_multiaddr.s_addr = htonl(0xE0010203);
  m4.imr_ifindex = 1;
  refused += ::setsockopt(four, IPPROTO_IP, IP_ADD_MEMBERSHIP, &m4, sizeof m4) < 0 && errno == ENODEV;
  ipv6_mreq m6{};
  ::inet_pton(AF_INET6, "ff02::1:2", &m6.ipv6mr_multiaddr);
  m6.ipv6mr_interface = 1;
  refused += ::setsockopt(six, IPPROTO_IPV6, IPV6_JOIN_GROUP, &m6, sizeof m6) < 0 && errno == ENODEV;
  group_req g{};
  g.gr_interface = 1;
  reinterpret_cast<sockaddr_in*>(&g.gr_group)->sin_family = AF_INET;
  reinterpret_cast<sockaddr_in*>(&g.gr_group)->sin_addr = m4.imr_multiaddr;
  refused += ::setsockopt(four, IPPROTO_IP, MCAST_JOIN_GROUP, &g, sizeof g) < 0 && errno == ENODEV;
  int one = 1;
  bool others_work = ::setsockopt(four, SOL_SOCKET, SO_REUSEADDR, &one, sizeof one) == 0;
  return refused == 3 && others_work ? 0 : 1;
}

HOTCELL_PROGRAM(write_hints) {
  std::uint64_t hint = 3;
  int refused = 0, tried = 0;
  for (const char* path : {"/etc/passwd", "/etc", "/"}) {
    int fd = ::open(path, O_RDONLY | O_CLOEXEC);
    for (int what : {1036, 1038}) ++tried, refused += ::fcntl(fd, what, &hint) < 0 && errno == EINVAL;
    ::close(fd);
  }
  return refused == tried ? 0 : 1;
}

TEST_F(Stamped, WhatWouldOutliveTheCellIsRefused) {
  for (const char* name : {"join_groups", "write_hints"}) {
    go(shell("true"));
    Report r = go(carried_program(name));
    EXPECT_EQ(r.verdict.exit_code, 0) << name << ": " << describe(r);
  }
}

// Descriptors under way are counted per user, and an ordinary user's cells are all that user.
HOTCELL_PROGRAM(hold_descriptors_under_way) {
  int pair[2], fds[200];
  if (::socketpair(AF_UNIX, SOCK_STREAM, 0, pair) != 0) return 1;
  for (int& fd : fds) fd = pair[0];
  char byte = 0;
  iovec iov{&byte, 1};
  alignas(cmsghdr) char control[CMSG_SPACE(sizeof fds)] = {};
  msghdr msg{};
  msg.msg_iov = &iov;
  msg.msg_iovlen = 1;
  msg.msg_control = control;
  msg.msg_controllen = sizeof control;
  cmsghdr* c = CMSG_FIRSTHDR(&msg);
  c->cmsg_level = SOL_SOCKET;
  c->cmsg_type = SCM_RIGHTS;
  c->cmsg_len = CMSG_LEN(sizeof fds);
  std::memcpy(CMSG_DATA(c), fds, sizeof fds);
  if (::sendmsg(pair[1], &msg, 0) < 0) return 2;
  ::dprintf(1, "held\n");
  for (;;) ::pause();
}

TEST_F(Stamped, ACellThatHoldsDescriptorsUnderWayStopsNoOther) {
  Request greedy = carried_program("hold_descriptors_under_way");
  bool held = false, over = false;
  greedy.on_output = [&](Stream, std::string_view) { held = true; };
  auto id = own_->start(default_policy(), std::move(greedy), [&](RunId, Result<Report>) { over = true; });
  ASSERT_TRUE(id.ok());
  for (int i = 0; i < 500 && !held; ++i) ASSERT_TRUE(own_->step(std::chrono::milliseconds(10)).ok());
  ASSERT_TRUE(held);
  for (int i = 0; i < 3; ++i) EXPECT_EQ(go(shell("ulimit -n; ulimit -Hn")).out, "100\n100\n");
  own_->cancel(id.value());
  for (int i = 0; i < 500 && !over; ++i) ASSERT_TRUE(own_->step(std::chrono::milliseconds(10)).ok());
}

TEST_F(Stamped, ATemplateThatDiesInIdleTimeIsNoReasonToSpin) {
  go(shell("true"));
  go(shell("true"));
  for (const auto& pid : children()) ::kill(std::stoi(pid), SIGKILL);
  int steps = 0;
  for (auto until = std::chrono::steady_clock::now() + std::chrono::milliseconds(300); std::chrono::steady_clock::now() < until; ++steps)
    ASSERT_TRUE(own_->step(std::chrono::milliseconds(50)).ok());
  EXPECT_LT(steps, 100);
  EXPECT_EQ(go(shell("echo here")).out, "here\n");
  EXPECT_TRUE(is_stamped(go(shell("true")))) << "another template was made";
}

TEST_F(Stamped, SignalsAreCleanWithoutAFilterToo) {
  Policy policy = default_policy();
  policy.audit["seccomp"] = AuditMode::kObserve;
  for (int i = 0; i < 2; ++i) {
    auto r = own_->run(policy, shell("grep -E 'SigBlk|SigIgn' /proc/self/status | tr -d '\\t '"));
    ASSERT_TRUE(r.ok()) << r.error().message;
    EXPECT_EQ(r.value().out, "SigBlk:0000000000000000\nSigIgn:0000000000000000\n");
  }
}

TEST_F(Stamped, CellsOfOneTemplateShareNoFilesNoPidsNoIpc) {
  go(shell("true"));
  for (int i = 0; i < 3; ++i) {
    Report r = go(shell("ls -A /work /tmp /dev/shm; set -- /proc/[0-9]*; echo $#; ipcs -q 2>/dev/null | grep -c 0x; ipcmk -Q >/dev/null 2>&1; "
                        "echo left > /work/a; echo left > /tmp/b; echo left > /dev/shm/c; sleep 60 & exit 0"));
    EXPECT_TRUE(is_stamped(r));
    EXPECT_EQ(r.out, "/dev/shm:\n\n/tmp:\n\n/work:\n2\n0\n") << "init and sh";
  }
}

TEST_F(Stamped, ADeadTemplateCostsNoRun) {
  go(shell("true"));
  ASSERT_TRUE(is_stamped(go(shell("true"))));
  auto templates = children();
  ASSERT_EQ(templates.size(), 1u);
  ::kill(std::stoi(*templates.begin()), SIGKILL);
  for (int i = 0; i < 3; ++i) EXPECT_EQ(go(shell("echo here")).out, "here\n");
}

// Nobody waits for a template, so it may be asked for many cells before it looks up.
TEST_F(Stamped, ATemplateThatDiesWithManyCellsAskedForCostsNoRun) {
  go(shell("true"));
  ASSERT_TRUE(is_stamped(go(shell("true"))));
  auto templates = children();
  ASSERT_EQ(templates.size(), 1u);
  int pid = std::stoi(*templates.begin());
  ::kill(pid, SIGSTOP);
  int over = 0, stamped = 0;
  for (int i = 0; i < 12; ++i) {
    auto begun = own_->start(default_policy(), shell("echo here"), [&](RunId, Result<Report> r) {
      ++over;
      ASSERT_TRUE(r.ok()) << r.error().message;
      EXPECT_EQ(r.value().out, "here\n");
      stamped += is_stamped(r.value()) ? 1 : 0;
    });
    ASSERT_TRUE(begun.ok()) << begun.error().message;
  }
  ASSERT_TRUE(own_->step(std::chrono::milliseconds(50)).ok());
  EXPECT_EQ(over, 0) << "the control: they wait for it";
  ::kill(pid, SIGKILL);
  for (int i = 0; i < 1000 && over < 12; ++i) ASSERT_TRUE(own_->step(std::chrono::milliseconds(10)).ok());
  EXPECT_EQ(over, 12);
  EXPECT_EQ(stamped, 0);
  EXPECT_EQ(go(shell("echo here")).out, "here\n");
  EXPECT_TRUE(is_stamped(go(shell("true")))) << "another template was made";
}

TEST_F(Stamped, WhatIsCancelledBeforeItIsThereEndsWithoutAWait) {
  go(shell("true"));
  ASSERT_TRUE(is_stamped(go(shell("true"))));
  int pid = std::stoi(*children().begin());
  for (bool dies : {false, true}) {
    SCOPED_TRACE(dies);
    ::kill(pid, SIGSTOP);
    int cancelled = 0;
    std::vector<RunId> ids;
    for (int i = 0; i < 4; ++i) {
      auto begun = own_->start(default_policy(), shell("echo started"), [&](RunId, Result<Report> r) {
        ASSERT_TRUE(r.ok()) << r.error().message;
        EXPECT_EQ(r.value().verdict.reason, ExitReason::kCancelled);
        EXPECT_EQ(r.value().out, "");
        ++cancelled;
      });
      ASSERT_TRUE(begun.ok());
      ids.push_back(begun.value());
    }
    auto before = std::chrono::steady_clock::now();
    for (RunId id : ids) own_->cancel(id);
    EXPECT_LT(std::chrono::steady_clock::now() - before, std::chrono::seconds(2));
    ::kill(pid, dies ? SIGKILL : SIGCONT);
    for (int i = 0; i < 1000 && cancelled < 4; ++i) ASSERT_TRUE(own_->step(std::chrono::milliseconds(10)).ok());
    EXPECT_EQ(cancelled, 4);
  }
  EXPECT_EQ(go(shell("echo here")).out, "here\n");
}

// The template has made and told it, and it hangs before it is ready: that it is there is on a socket that nobody has read yet.
TEST_F(Stamped, ACellThatHangsBeforeItIsReadyEndsInTimeAndNothingElseDoes) {
  go(shell("true"));
  ASSERT_TRUE(is_stamped(go(shell("true"))));
  auto before = children();
  std::optional<Result<Report>> ended;
  int held = 0;
  // Its set-up takes some tenths of a millisecond: who is not quick enough tries again.
  for (int tries = 0; tries < 50 && held == 0; ++tries) {
    ended.reset();
    bool started = false;
    Request request = shell("echo started");
    request.on_output = [&](Stream, std::string_view) { started = true; };
    ASSERT_TRUE(own_->start(default_policy(), std::move(request), [&](RunId, Result<Report> r) { ended.emplace(std::move(r)); }).ok());
    for (auto until = std::chrono::steady_clock::now() + std::chrono::seconds(1); held == 0 && std::chrono::steady_clock::now() < until;)
      for (const auto& pid : children())
        if (before.count(pid) == 0) ::kill(held = std::stoi(pid), SIGSTOP);
    for (int i = 0; i < 30 && !started; ++i) ASSERT_TRUE(own_->step(std::chrono::milliseconds(10)).ok());
    if (!started) break;
    ::kill(std::exchange(held, 0), SIGKILL);
    while (!ended) ASSERT_TRUE(own_->step(std::chrono::milliseconds(10)).ok());
  }
  ASSERT_NE(held, 0) << "none could be stopped in time";
  EXPECT_EQ(go(shell("echo here")).out, "here\n") << "others do not wait for it";
  std::size_t steps = 0;
  for (auto until = std::chrono::steady_clock::now() + std::chrono::seconds(15); !ended && std::chrono::steady_clock::now() < until; ++steps)
    ASSERT_TRUE(own_->step(std::chrono::milliseconds(100)).ok());
  ASSERT_TRUE(ended) << "it never ended";
  EXPECT_LT(steps, 1000u) << "it spun";
  ASSERT_FALSE(ended->ok());
  EXPECT_NE(ended->error().message.find("set-up took too long"), std::string::npos) << ended->error().message;
  EXPECT_NE(::kill(held, 0), 0) << "it is left";
  EXPECT_TRUE(is_stamped(go(shell("true")))) << "the template has done nothing wrong";
}

// At any moment: before it has read what it is asked for, between a clone and its answer, after it.
TEST_F(Stamped, TemplatesThatAreKilledAgainAndAgainCostNoRunAndLeaveNothing) {
  for (int i = 0; i < 3; ++i) go(shell("true"));
  own_->trim();
  auto descriptors = [] { return matches("/proc/self/fd/*").size(); };
  const std::size_t before = descriptors();
  int begun = 0, over = 0;
  std::set<int> killed;
  auto next = [&] {
    Request request = shell(cat("echo ", begun));
    auto id = own_->start(default_policy(), std::move(request), [&, n = begun](RunId, Result<Report> r) {
      ++over;
      ASSERT_TRUE(r.ok()) << r.error().message;
      EXPECT_EQ(r.value().out, cat(n, "\n")) << "one got what was another's";
    });
    ASSERT_TRUE(id.ok()) << id.error().message;
    ++begun;
  };
  for (auto until = std::chrono::steady_clock::now() + std::chrono::seconds(60); over < 150 && std::chrono::steady_clock::now() < until;) {
    while (begun < 150 && begun - over < 8) next();
    // Templates have no command line, as cells; they are those of our children that lead a session.
    if (over % 5 == 4)
      for (const auto& pid : children())
        if (int p = std::stoi(pid); ::getsid(p) == p && ::kill(p, SIGKILL) == 0) killed.insert(p);
    ASSERT_TRUE(own_->step(std::chrono::milliseconds(over % 3)).ok());
  }
  EXPECT_EQ(over, 150);
  EXPECT_GT(killed.size(), 3u);
  for (int i = 0; i < 50; ++i) ASSERT_TRUE(own_->step(std::chrono::milliseconds(2)).ok());
  own_->trim();
  EXPECT_LE(descriptors(), before + 2);
  EXPECT_TRUE(children().empty()) << children().size() << " children are left";
}

// Its children leave no word of how they ended then, and what we know of that comes from init.
TEST_F(Stamped, ACallerThatIgnoresItsChildrenHearsOfTheEnd) {
  struct sigaction ignore{}, before{};
  ignore.sa_handler = SIG_IGN;
  ::sigaction(SIGCHLD, &ignore, &before);
  for (int i = 0; i < 3; ++i) {
    Request ends = shell("exit 7");
    ends.wall = std::chrono::seconds(5);
    EXPECT_EQ(go(std::move(ends)).verdict.exit_code, 7);
  }
  Request hangs = shell("sleep 60");
  hangs.wall = std::chrono::milliseconds(100);
  EXPECT_EQ(go(std::move(hangs)).verdict.reason, ExitReason::kTimeoutWall);
  ::sigaction(SIGCHLD, &before, nullptr);
}

// More than it is asked for at once.
TEST_F(Stamped, ManyAtOnceAreEachServed) {
  for (int i = 0; i < 2; ++i) go(shell("true"));
  std::set<std::string> seen;
  int over = 0;
  for (int i = 0; i < 40; ++i) {
    auto begun = own_->start(default_policy(), shell(cat("echo ", i)), [&](RunId, Result<Report> r) {
      ++over;
      ASSERT_TRUE(r.ok()) << r.error().message;
      seen.insert(r.value().out);
    });
    ASSERT_TRUE(begun.ok()) << begun.error().message;
  }
  for (int i = 0; i < 3000 && over < 40; ++i) ASSERT_TRUE(own_->step(std::chrono::milliseconds(10)).ok());
  EXPECT_EQ(over, 40);
  EXPECT_EQ(seen.size(), 40u);
}

TEST_F(Stamped, ATemplateThatCannotBeMadeCostsNoRun) {
  sys::arm_fault("stamp_mount_idle_proc", EPERM);
  for (int i = 0; i < 3; ++i) {
    Report r = go(shell("echo here"));
    EXPECT_EQ(r.out, "here\n");
    EXPECT_FALSE(is_stamped(r));
  }
}

// The mounts of the first are taken apart by a thread, where there is one.
TEST_F(Stamped, AHostWithoutAThreadToSpareCostsNoRun) {
  go(shell("true"));
  sys::arm_fault("thread", EAGAIN);
  for (int i = 0; i < 3; ++i) {
    Report r = go(shell("echo here"));
    EXPECT_EQ(r.out, "here\n");
    EXPECT_TRUE(is_stamped(r));
  }
  EXPECT_TRUE(sys::fault_given());
}

TEST_F(Stamped, AStepThatFailsInAStampedCellStopsTheProgramAndIsNamed) {
  for (const char* op : {"own_user", "mount_tmpfs", "bind", "identity"}) {
    SCOPED_TRACE(op);
    auto made = Launcher::create();
    ASSERT_TRUE(made.ok());
    // The fault goes into the plan, which the template shares with all its cells. `identity` comes first in the template.
    sys::arm_fault((std::string("stamp_") + op).c_str(), EIO, std::string(op) == "identity" ? 2 : 1);
    ASSERT_TRUE(made.value()->run(default_policy(), shell("true")).ok()) << "the first is made in one go";
    auto second = made.value()->run(default_policy(), shell("echo started"));
    ASSERT_FALSE(second.ok()) << "it ran";
    EXPECT_NE(second.error().message.find(op), std::string::npos) << second.error().message;
    EXPECT_EQ(second.error().err, EIO);
    sys::arm_fault(nullptr, 0);
  }
}

TEST_F(Stamped, ACgroupServesAgainOnlyAsLongAsItsCountersAreLikeNew) {
  if (!has_cgroups()) {
    EXPECT_EQ(layer_status(go(shell("true")), Layer::kMemory), LayerStatus::kPartial);
    return;
  }
  go(shell("true"));
  Report busy = go(shell("for i in 1 2 3 4; do sleep 0.2 & done; wait; dd if=/dev/zero of=/tmp/x bs=1M count=20 2>/dev/null"));
  EXPECT_GE(busy.usage.processes_peak, 5u);
  EXPECT_GT(busy.usage.memory_peak.n, 20u << 20);
  for (int i = 0; i < 3; ++i) {
    Report next = go(shell("true"));
    EXPECT_EQ(next.usage.processes_peak, 1u);
    EXPECT_LT(next.usage.memory_peak.n, 8u << 20);
    EXPECT_LT(next.usage.cpu, std::chrono::milliseconds(100));
  }
}

// By whoever tidies up, a script or somebody at a terminal.
TEST_F(Stamped, CgroupsThatSomebodyElseRemovedCostAFewRunsAndNotAll) {
  for (int i = 0; i < 6; ++i) go(shell("true"));
  const std::string own = cat(::getpid(), "-");
  std::size_t removed = 0;
  for (const auto& hierarchy : std::filesystem::directory_iterator("/sys/fs/cgroup")) {
    std::error_code gone;
    for (const auto& group : std::filesystem::directory_iterator(hierarchy.path() / "hotcell", gone))
      if (group.path().filename().string().starts_with(own)) removed += ::rmdir(group.path().c_str()) == 0 ? 1 : 0;
  }
  EXPECT_EQ(removed > 0, has_cgroups() && !read_text("/sys/fs/cgroup/memory/cgroup.procs").empty()) << "on v2 none waits";
  std::vector<std::string> failed;
  for (int i = 0; i < 20; ++i)
    if (auto run = own_->run(default_policy(), shell("true")); !run.ok()) failed.push_back(run.error().message);
  EXPECT_LE(failed.size(), 3u) << join(failed, "; ");   // one, and those that were being cleared away
}

}  // namespace
}  // namespace hotcell::testing
