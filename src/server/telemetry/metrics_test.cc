#include "server/telemetry/metrics.h"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>

namespace hotcell::server {
namespace {

using std::chrono::microseconds;
using std::chrono::milliseconds;

std::string everything(Metrics& metrics) {
  RunSample warm{StartPath::kWarm, microseconds(300), milliseconds(2), true, "exited", {{"seccomp", 3}, {"land\"lock", 1}}, 10, 20};
  RunSample refused{StartPath::kCold, {}, milliseconds(1), false, "verification", {}, 0, 0};
  metrics.ran(warm);
  metrics.ran(refused);
  metrics.answered("GET", "/health", 200, microseconds(50));
  metrics.launcher_restarted();
  metrics.audit_entry();
  metrics.store_committed(microseconds(70));
  metrics.reader_dropped();
  ExecutionsStats now;
  now.queued = 3;
  now.launcher_up = true;
  return metrics.text(now);
}

bool has_line(const std::string& text, const std::string& line) { return ("\n" + text).find("\n" + line + "\n") != std::string::npos; }

TEST(Metrics, CountWhatHappened) {
  Metrics metrics;
  const std::string text = everything(metrics);
  EXPECT_TRUE(has_line(text, R"(hotcell_start_seconds_bucket{path="warm",le="0.0005"} 1)")) << text;
  EXPECT_TRUE(has_line(text, R"(hotcell_start_seconds_bucket{path="warm",le="0.00025"} 0)"));
  EXPECT_TRUE(has_line(text, R"(hotcell_start_seconds_count{path="cold"} 0)"));
  EXPECT_TRUE(has_line(text, "hotcell_execution_seconds_count 2"));
  EXPECT_TRUE(has_line(text, R"(hotcell_verdicts_total{reason="verification"} 1)"));
  EXPECT_TRUE(has_line(text, R"(hotcell_denials_total{layer="seccomp"} 3)"));
  EXPECT_TRUE(has_line(text, R"(hotcell_denials_total{layer="land\"lock"} 1)"));
  EXPECT_TRUE(has_line(text, R"(hotcell_http_requests_total{method="GET",route="/health",code="200"} 1)"));
  EXPECT_TRUE(has_line(text, "hotcell_queue_length 3"));
  EXPECT_TRUE(has_line(text, "hotcell_launcher_restarts_total 1"));
}

TEST(Metrics, QuantilesAreOfTheLastThousand) {
  Recent recent;
  EXPECT_EQ(recent.quantiles().p50, 0U);
  for (int i = 1; i <= 100; ++i) recent.add(microseconds(i));
  EXPECT_EQ(recent.quantiles().p50, 50U);
  EXPECT_EQ(recent.quantiles().p90, 90U);
  EXPECT_EQ(recent.quantiles().p99, 99U);
  for (int i = 0; i < 1000; ++i) recent.add(microseconds(7));
  EXPECT_EQ(recent.quantiles().p99, 7U);
}

TEST(Metrics, PromtoolFindsNothingToComplainAbout) {
  if (std::system("command -v promtool >/dev/null") != 0) {
    if (std::getenv("HOTCELL_MUST_WORK") != nullptr) FAIL() << "promtool is missing";
    GTEST_SKIP() << "promtool is missing";
  }
  Metrics metrics;
  std::string file = ::testing::TempDir() + "/hotcell-metrics-XXXXXX";
  int fd = ::mkstemp(file.data());
  ASSERT_GE(fd, 0);
  const std::string text = everything(metrics);
  ASSERT_EQ(::write(fd, text.data(), text.size()), static_cast<ssize_t>(text.size()));
  ::close(fd);
  FILE* pipe = ::popen(("promtool check metrics < " + file + " 2>&1").c_str(), "r");
  ASSERT_NE(pipe, nullptr);
  std::string said;
  char buffer[4096];
  while (std::fgets(buffer, sizeof buffer, pipe) != nullptr) said += buffer;
  const int status = ::pclose(pipe);
  ::unlink(file.c_str());
  EXPECT_EQ(WEXITSTATUS(status), 0) << said;
  EXPECT_EQ(said, "");
}

}  // namespace
}  // namespace hotcell::server
