#include "cells/monitor/limit_watch.h"

#include <gtest/gtest.h>


namespace hotcell::cells {
namespace {

UsageSample at(int ms, std::uint64_t memory, std::uint64_t disk = 0, std::uint64_t processes = 1, Nanoseconds cpu = Nanoseconds(0)) {
  UsageSample s;
  s.at = std::chrono::sys_time<std::chrono::milliseconds>(std::chrono::milliseconds(ms));
  s.memory = {memory};
  s.disk = {disk};
  s.processes = processes;
  s.cpu = cpu;
  return s;
}
WatchLimits hundred() {
  WatchLimits limits;
  limits.memory = limits.disk = {100};
  limits.processes = 10;
  limits.cpu_share = 1000;
  return limits;
}

TEST(LimitWatch, SeedsWarnedOnEveryPollWeWarnOncePerCrossing) {
  LimitWatch watch("c-1", hundred());
  for (int i = 0; i < 50; ++i) watch.add(at(i, 85));
  auto warnings = watch.take_warnings();
  ASSERT_EQ(warnings.size(), 1u);
  EXPECT_EQ(warnings[0].type, "limit.warning");
  EXPECT_EQ(warnings[0].id, "c-1");
  EXPECT_EQ(warnings[0].fields, (std::map<std::string, std::string>{{"limit_type", "memory"}, {"current", "85"}, {"max", "100"}}));
  watch.add(at(60, 79));
  EXPECT_TRUE(watch.take_warnings().empty());
  watch.add(at(61, 80));
  EXPECT_EQ(watch.take_warnings().size(), 1u) << "crossed again";
  watch.add(at(62, 120));
  EXPECT_TRUE(watch.take_warnings().empty()) << "past the limit is the same crossing";
  EXPECT_EQ(watch.exceeded(), "memory");
  watch.add(at(63, 100));
  EXPECT_FALSE(watch.exceeded()) << "at the limit is within it";
}

TEST(LimitWatch, EachQuantityHasItsOwnCrossing) {
  LimitWatch watch("c", hundred());
  watch.add(at(0, 90, 90, 9));
  auto warnings = watch.take_warnings();
  ASSERT_EQ(warnings.size(), 3u);
  EXPECT_EQ(warnings[0].fields["limit_type"], "memory");
  EXPECT_EQ(warnings[1].fields["limit_type"], "disk");
  EXPECT_EQ(warnings[2].fields["limit_type"], "processes");
  watch.add(at(1, 1, 101, 11));
  EXPECT_EQ(watch.exceeded(), "disk");
}

TEST(LimitWatch, ShareOfCpuIsJudgedBetweenSamplesAndNeverExceeded) {
  LimitWatch watch("c", hundred());
  watch.add(at(0, 0, 0, 1, std::chrono::seconds(100)));
  EXPECT_TRUE(watch.take_warnings().empty()) << "what was used before is no share";
  watch.add(at(1000, 0, 0, 1, std::chrono::seconds(102)));
  auto warnings = watch.take_warnings();
  ASSERT_EQ(warnings.size(), 1u);
  EXPECT_EQ(warnings[0].fields["limit_type"], "cpu");
  EXPECT_EQ(warnings[0].fields["current"], "2000");
  EXPECT_FALSE(watch.exceeded());
}

TEST(LimitWatch, WithoutALimitThereIsNoWarningAndTheLargestOverflowsNothing) {
  LimitWatch none("c", {});
  none.add(at(0, UINT64_MAX, UINT64_MAX, UINT64_MAX));
  EXPECT_TRUE(none.take_warnings().empty());
  EXPECT_FALSE(none.exceeded());
  WatchLimits huge;
  huge.memory = {UINT64_MAX};
  LimitWatch watch("c", huge);
  watch.add(at(0, UINT64_MAX / 2));
  EXPECT_TRUE(watch.take_warnings().empty());
  watch.add(at(1, UINT64_MAX - 1));
  EXPECT_EQ(watch.take_warnings().size(), 1u);
}

TEST(LimitWatch, NewLimitsAreJudgedAnew) {
  LimitWatch watch("c", hundred());
  watch.add(at(0, 90));
  EXPECT_EQ(watch.take_warnings().size(), 1u);
  auto limits = hundred();
  limits.memory = {1000};
  watch.set_limits(limits);
  watch.add(at(1, 90));
  EXPECT_TRUE(watch.take_warnings().empty());
  watch.add(at(2, 900));
  EXPECT_EQ(watch.take_warnings().size(), 1u);
}

TEST(LimitWatch, TheRingKeepsTheNewestInOrderAndDropsWhatComesLate) {
  LimitWatch watch("c", {}, 4);
  for (int i = 0; i < 10; ++i) watch.add(at(i, static_cast<std::uint64_t>(i)));
  watch.add(at(3, 99));
  auto all = watch.series();
  ASSERT_EQ(all.size(), 4u);
  for (std::size_t i = 0; i < 4; ++i) EXPECT_EQ(all[i].memory.n, i + 6);
  auto thin = watch.series(2);
  ASSERT_EQ(thin.size(), 2u);
  EXPECT_EQ(thin[1].memory.n, 9u) << "the newest is always there";
  EXPECT_TRUE(watch.series(0).empty());
  EXPECT_EQ(watch.series(1).at(0).memory.n, 9u);
}

TEST(LimitWatch, TheSeriesHasRatesWhereSamplesCountUp) {
  LimitWatch watch("c", {});
  auto first = at(0, 5, 7, 2, std::chrono::milliseconds(10));
  auto second = at(500, 6, 8, 3, std::chrono::milliseconds(260));
  second.read = {4096};
  second.written = {1000};
  watch.add(first);
  watch.add(second);
  EXPECT_EQ(watch.series_json(), R"({"time_ms":[0,500],"cpu_permille":[0,500],"memory_bytes":[5,6],"disk_bytes":[7,8],"processes":[2,3],)"
                                 R"("read_bytes_per_second":[0,8192],"written_bytes_per_second":[0,2000]})");
  EXPECT_EQ(LimitWatch("c", {}).series_json(), R"({"time_ms":[],"cpu_permille":[],"memory_bytes":[],"disk_bytes":[],"processes":[],)"
                                               R"("read_bytes_per_second":[],"written_bytes_per_second":[]})");
}

}  // namespace
}  // namespace hotcell::cells
