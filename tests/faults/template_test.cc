// Cells that a template stamps out: what the one before did must not reach the next, and a template that dies or fails
// must cost time only.
#include <arpa/inet.h>
#include <netinet/in.h>
#include <signal.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <set>
#include <sstream>

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

TEST_F(Stamped, ATemplateThatCannotBeMadeCostsNoRun) {
  sys::arm_fault("stamp_mount_idle_proc", EPERM);
  for (int i = 0; i < 3; ++i) {
    Report r = go(shell("echo here"));
    EXPECT_EQ(r.out, "here\n");
    EXPECT_FALSE(is_stamped(r));
  }
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

}  // namespace
}  // namespace hotcell::testing
