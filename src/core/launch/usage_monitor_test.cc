#include "hotcell/usage_monitor.h"

#include <gtest/gtest.h>

#include <limits>

namespace hotcell {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

Limits limits() {
  Limits l;
  l.wall = seconds(10);
  l.cpu_time = seconds(5);
  l.memory = {1000};
  l.disk = {500};
  l.processes = 10;
  return l;
}
Usage usage(Nanoseconds cpu, std::uint64_t memory, std::uint32_t processes = 1) {
  Usage u;
  u.cpu = cpu;
  u.memory_peak = {memory};
  u.processes_peak = processes;
  return u;
}
std::string types(const std::vector<Event>& events) {
  std::string out;
  for (const auto& e : events) out += e.fields.at("limit_type") + " ";
  return out;
}

TEST(UsageMonitor, NothingIsExceededBelowEveryLimit) {
  UsageMonitor m(limits());
  EXPECT_FALSE(m.exceeded());
  m.update(usage(seconds(1), 100), seconds(1), {100});
  EXPECT_FALSE(m.exceeded());
  EXPECT_TRUE(m.take_warnings().empty());
}

TEST(UsageMonitor, TimeIsUsedUpWhenReachedAQuantityWhenPassed) {
  UsageMonitor at(limits());
  at.update(usage({}, 1000, 10), {}, {500});
  EXPECT_FALSE(at.exceeded());
  auto reason = [](const Usage& u, Nanoseconds elapsed, Bytes disk) {
    UsageMonitor m(limits());
    m.update(u, elapsed, disk);
    return m.exceeded();
  };
  EXPECT_EQ(reason({}, seconds(10) - Nanoseconds(1), {}), std::nullopt);
  EXPECT_EQ(reason({}, seconds(10), {}), ExitReason::kTimeoutWall);
  EXPECT_EQ(reason(usage(seconds(5), 0), {}, {}), ExitReason::kTimeoutCpu);
  EXPECT_EQ(reason(usage({}, 1001), {}, {}), ExitReason::kMemory);
  EXPECT_EQ(reason({}, {}, {501}), ExitReason::kDisk);
  EXPECT_EQ(reason(usage({}, 0, 11), {}, {}), ExitReason::kProcesses);
}

TEST(UsageMonitor, OfSeveralInOneSampleTheFixedOrderDecides) {
  UsageMonitor all(limits());
  all.update(usage(seconds(9), 9999, 99), seconds(99), {9999});
  EXPECT_EQ(all.exceeded(), ExitReason::kTimeoutWall);
  UsageMonitor no_wall(limits());
  no_wall.update(usage(seconds(9), 9999, 99), seconds(1), {9999});
  EXPECT_EQ(no_wall.exceeded(), ExitReason::kTimeoutCpu);
  UsageMonitor no_cpu(limits());
  no_cpu.update(usage({}, 9999, 99), seconds(1), {9999});
  EXPECT_EQ(no_cpu.exceeded(), ExitReason::kMemory);
  UsageMonitor no_memory(limits());
  no_memory.update(usage({}, 0, 99), seconds(1), {9999});
  EXPECT_EQ(no_memory.exceeded(), ExitReason::kDisk);
}

TEST(UsageMonitor, TheFirstReasonStands) {
  UsageMonitor m(limits());
  m.update(usage({}, 1001), seconds(1));
  m.update(usage(seconds(9), 0), seconds(99));
  EXPECT_EQ(m.exceeded(), ExitReason::kMemory);
}

TEST(UsageMonitor, EachLimitWarnsOnceAtFourFifths) {
  UsageMonitor m(limits(), "run-1");
  m.update(usage(seconds(4) - Nanoseconds(1), 799, 7), seconds(8) - Nanoseconds(1), {399});
  EXPECT_EQ(types(m.take_warnings()), "");
  m.update(usage(seconds(4), 800, 8), seconds(8), {400});
  auto first = m.take_warnings();
  EXPECT_EQ(types(first), "timeout cpu_time memory disk processes ");
  EXPECT_EQ(first[2].type, "limit.warning");
  EXPECT_EQ(first[2].id, "run-1");
  EXPECT_EQ(first[2].fields.at("current"), "800");
  EXPECT_EQ(first[2].fields.at("max"), "1000");
  m.update(usage(seconds(4), 900, 9), seconds(9), {450});
  EXPECT_EQ(types(m.take_warnings()), "");
}

TEST(UsageMonitor, ALimitPassedInOneLeapStillWarns) {
  UsageMonitor m(limits());
  m.update(usage({}, 5000), milliseconds(1));
  EXPECT_EQ(types(m.take_warnings()), "memory ");
  EXPECT_EQ(m.exceeded(), ExitReason::kMemory);
}

TEST(UsageMonitor, ALateLowerSampleTakesNothingBack) {
  UsageMonitor m(limits());
  m.update(usage({}, 790), seconds(1));
  m.update(usage({}, 10), seconds(1));
  m.update(usage({}, 1001), milliseconds(1));
  m.update({}, {});
  EXPECT_EQ(m.exceeded(), ExitReason::kMemory);
}

TEST(UsageMonitor, TheLargestLimitsDoNotOverflow) {
  Limits l = limits();
  l.memory = {std::numeric_limits<std::uint64_t>::max()};
  l.wall = Nanoseconds::max();
  UsageMonitor m(l);
  m.update(usage({}, std::numeric_limits<std::uint64_t>::max() / 2), Nanoseconds::max() / 2);
  EXPECT_EQ(types(m.take_warnings()), "");
  m.update(usage({}, std::numeric_limits<std::uint64_t>::max()), Nanoseconds::max() - Nanoseconds(1));
  EXPECT_EQ(types(m.take_warnings()), "timeout memory ");
  EXPECT_FALSE(m.exceeded());
}

}  // namespace
}  // namespace hotcell
