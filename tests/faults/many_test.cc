// A launcher with many cells has descriptors everywhere; each cell must still get its own.
#include <fcntl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <sstream>
#include <thread>

#include "support/cells.h"
#include "support/leak_check.h"

namespace hotcell::testing {
namespace {

class Many : public LeakCheck {};

TEST_F(Many, HundredParkedCellsEachAnswerForThemselves) {
  constexpr std::size_t kCells = 100;  // some two thousand descriptors
  auto made = Launcher::create();
  ASSERT_TRUE(made.ok());
  Launcher& l = *made.value();
  Policy policy = default_policy();
  ASSERT_TRUE(l.park(policy, kCells).ok());
  for (int i = 0; i < 20'000 && l.parked(policy) < kCells; ++i) ASSERT_TRUE(l.step(std::chrono::milliseconds(10)).ok());
  ASSERT_EQ(l.parked(policy), kCells);
  for (int i = 0; i < 10; ++i) {
    Request request;
    std::string word = "run-" + std::to_string(i);
    request.argv = {"/bin/sh", "-c", "read line; echo $line"};
    request.stdin_source = StdinBytes{word + "\n"};
    auto report = l.run(policy, std::move(request));
    ASSERT_TRUE(report.ok()) << report.error().message;
    EXPECT_EQ(report.value().out, word + "\n");
  }
}

std::size_t own_descriptors() {
  std::size_t count = 0;
  for ([[maybe_unused]] const auto& fd : std::filesystem::directory_iterator("/proc/self/fd")) ++count;
  return count;
}

// What a process has in memory that is nobody else's, in KiB.
std::size_t own_memory(const std::string& pid) {
  std::istringstream words(read_text("/proc/" + pid + "/status"));
  for (std::string word; words >> word;)
    if (word == "RssAnon:") {
      std::size_t kib = 0;
      words >> kib;
      return kib;
    }
  return 0;
}

// Also those that serve from what others have used before.
TEST_F(Many, WhatWaitsHoldsLittle) {
  constexpr std::size_t kCells = 12, kMostDescriptors = 24, kMostKib = 20;
  auto made = Launcher::create();
  ASSERT_TRUE(made.ok());
  Launcher& l = *made.value();
  Policy policy = default_policy();
  for (int round = 0; round < 3; ++round) {
    ASSERT_TRUE(l.park(policy, 0).ok());
    for (int i = 0; i < 200; ++i) ASSERT_TRUE(l.step(std::chrono::milliseconds(1)).ok());
    const std::size_t before = own_descriptors();
    ASSERT_TRUE(l.park(policy, kCells).ok());
    for (int i = 0; i < 2'000 && l.parked(policy) < kCells; ++i) ASSERT_TRUE(l.step(std::chrono::milliseconds(10)).ok());
    ASSERT_EQ(l.parked(policy), kCells);
    // Groups that wait to be used again hold theirs, and were open before.
    EXPECT_LE(own_descriptors(), before + kCells * kMostDescriptors + 4) << round;   // four: the template
    std::istringstream pids(read_text("/proc/self/task/" + std::to_string(::getpid()) + "/children"));
    std::size_t small = 0, large = 0;
    for (std::string pid; pids >> pid;) ++(own_memory(pid) <= kMostKib ? small : large);
    // The template is larger, and so is a cell that was made without one: the host's mounts may change at any time.
    EXPECT_GE(small, kCells - 2) << round << ", " << large << " large ones";
    for (std::size_t i = 0; i < kCells; ++i) {
      Request request;
      request.argv = {"/bin/sh", "-c", "echo x; sleep 0.02"};
      ASSERT_TRUE(l.run(policy, std::move(request)).ok());
    }
  }
}

TEST_F(Many, RequestsWithoutAPauseFindCellsThatWait) {
  auto made = Launcher::create();
  ASSERT_TRUE(made.ok());
  Launcher& l = *made.value();
  Policy policy = default_policy();
  ASSERT_TRUE(l.park(policy, 8).ok());
  for (int i = 0; i < 2'000 && l.parked(policy) < 8; ++i) ASSERT_TRUE(l.step(std::chrono::milliseconds(10)).ok());
  int waiting = 0;
  for (int i = 0; i < 100; ++i) {
    waiting += l.parked(policy) > 0 ? 1 : 0;
    Request request;
    request.argv = {"/bin/sh", "-c", "echo $HOTCELL_ID"};
    request.id = "run-" + std::to_string(i);
    auto report = l.run(policy, std::move(request));
    ASSERT_TRUE(report.ok()) << report.error().message;
    EXPECT_EQ(report.value().out, "run-" + std::to_string(i) + "\n");
  }
  // With one processor there is no time to make any meanwhile.
  EXPECT_GT(waiting, std::thread::hardware_concurrency() > 1 ? 50 : 7);
}

// One that is on its way to the stock serves who cannot wait for it to get there, whatever moment of its making that is.
TEST_F(Many, ACellOnItsWayToTheStockServesWhoComesFirst) {
  for (int steps = 0; steps < 12; ++steps) {
    auto made = Launcher::create();
    ASSERT_TRUE(made.ok());
    Launcher& l = *made.value();
    Policy policy = default_policy();
    ASSERT_TRUE(l.park(policy, 1).ok());
    for (int i = 0; i < steps; ++i) ASSERT_TRUE(l.step(std::chrono::milliseconds(0)).ok());
    for (int i = 0; i < 2; ++i) {
      Request request;
      request.argv = {"/bin/sh", "-c", "read line; echo $line; exit 3"};
      request.stdin_source = StdinBytes{"hello\n"};
      auto report = l.run(policy, std::move(request));
      ASSERT_TRUE(report.ok()) << steps << " " << report.error().message;
      EXPECT_EQ(report.value().out, "hello\n") << steps;
      EXPECT_EQ(report.value().verdict.exit_code, 3) << steps;
    }
    for (int i = 0; i < 2'000 && l.parked(policy) < 1; ++i) ASSERT_TRUE(l.step(std::chrono::milliseconds(10)).ok());
    EXPECT_EQ(l.parked(policy), 1u) << steps;
  }
}

std::size_t own_children() {
  std::istringstream pids(read_text("/proc/self/task/" + std::to_string(::getpid()) + "/children"));
  std::size_t count = 0;
  for (std::string pid; pids >> pid;) ++count;
  return count;
}

TEST_F(Many, AStockNobodyWantsIsGoneAlsoWhenSomebodyAsksWhileItIsFilled) {
  auto made = Launcher::create();
  ASSERT_TRUE(made.ok());
  Launcher& l = *made.value();
  Policy policy = default_policy();
  ASSERT_TRUE(l.park(policy, 1).ok());
  ASSERT_TRUE(l.step(std::chrono::milliseconds(0)).ok());
  ASSERT_TRUE(l.park(policy, 0).ok());
  Request request;
  request.argv = {"/bin/true"};
  ASSERT_TRUE(l.run(policy, std::move(request)).ok());
  for (int i = 0; i < 300; ++i) ASSERT_TRUE(l.step(std::chrono::milliseconds(1)).ok());
  l.trim();
  for (int i = 0; i < 100 && own_children() > 0; ++i) {
    ASSERT_TRUE(l.step(std::chrono::milliseconds(10)).ok());
    l.trim();
  }
  EXPECT_EQ(own_children(), 0u) << "the template of a stock that is still there";
}

// The program's own memory is looked for only when there is reason to: no descriptor may be wanting by then.
TEST_F(Many, TheMemoryLimitHoldsWithoutADescriptorToSpare) {
  auto made = Launcher::create();
  ASSERT_TRUE(made.ok());
  Launcher& l = *made.value();
  Policy policy = default_policy();
  policy.limits.memory = 32_MiB;
  policy.limits.disk = 512_MiB;
  std::optional<Result<Report>> report;
  bool begun = false;
  Request request;
  request.argv = {"/bin/sh", "-c", "echo begun; sleep 0.2; head -c 150M /dev/zero | tail -c 150M | { sleep 2; wc -c; }"};
  request.on_output = [&](Stream, std::string_view) { begun = true; };
  ASSERT_TRUE(l.start(policy, std::move(request), [&](RunId, Result<Report> r) { report.emplace(std::move(r)); }).ok());
  while (!report && !begun) ASSERT_TRUE(l.step(std::chrono::milliseconds(50)).ok());
  rlimit was{};
  ASSERT_EQ(::getrlimit(RLIMIT_NOFILE, &was), 0);
  rlimit few = was;
  few.rlim_cur = 256;
  ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &few), 0);
  std::vector<int> held;
  for (int fd; (fd = ::open("/dev/null", O_RDONLY | O_CLOEXEC)) >= 0;) held.push_back(fd);
  bool stepped = true;
  while (!report && stepped) stepped = l.step(std::chrono::milliseconds(50)).ok();
  for (int fd : held) ::close(fd);
  ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &was), 0);
  ASSERT_TRUE(stepped);
  ASSERT_TRUE(report->ok()) << report->error().message;
  // Without cgroups each process is looked at in /proc, which takes a descriptor: there the limit of each holds, by RLIMIT_DATA.
  if (has_cgroups()) {
    EXPECT_EQ(report->value().verdict.reason, ExitReason::kMemory) << describe(report->value());
  } else {
    EXPECT_EQ(layer_status(report->value(), Layer::kMemory), LayerStatus::kPartial);
  }
}

// What programs use up is there again when they end, and so are the cells that wait.
TEST_F(Many, AStockThatCouldNotBeFilledForAWhileIsFilledAgain) {
  const std::string group = "/sys/fs/cgroup/pids/hotcell-short-" + std::to_string(::getpid());
  auto put = [](const std::string& path, const std::string& text) {
    std::ofstream out(path);
    out << text << std::flush;
    return out.good();
  };
  // Root alone can make such a group, and only where the hierarchy is v1. Whoever cannot has no template's limit to run into here.
  const bool can = has_cgroups() && ::mkdir(group.c_str(), 0755) == 0 && put(group + "/cgroup.procs", std::to_string(::getpid()));
  auto made = Launcher::create();
  ASSERT_TRUE(made.ok());
  Launcher& l = *made.value();
  Policy policy = default_policy();
  ASSERT_TRUE(l.park(policy, 8).ok());
  auto fill = [&] {
    for (int i = 0; i < 1'500 && l.parked(policy) < 8; ++i) ASSERT_TRUE(l.step(std::chrono::milliseconds(10)).ok());
  };
  fill();
  ASSERT_EQ(l.parked(policy), 8u);
  if (can) {
    EXPECT_TRUE(put(group + "/pids.max", std::to_string(std::atoi(read_text(group + "/pids.current").c_str()))));
  }
  for (int i = 0; i < 6; ++i) {
    Request request;
    request.argv = {"/bin/sleep", i == 5 ? "0.6" : "0"};
    auto report = l.run(policy, std::move(request));
    ASSERT_TRUE(report.ok()) << report.error().message;
  }
  if (can) {
    EXPECT_LT(l.parked(policy), 8u) << "the control: none could be made";
    EXPECT_TRUE(put(group + "/pids.max", "max"));
  }
  fill();
  EXPECT_EQ(l.parked(policy), 8u);
  made.value().reset();
  if (!can) return;
  EXPECT_TRUE(put("/sys/fs/cgroup/pids/cgroup.procs", std::to_string(::getpid())));
  for (int i = 0; i < 100 && ::rmdir(group.c_str()) < 0; ++i) ::usleep(10'000);
}

// At every moment of a cell's making, from before its first step on.
TEST_F(Many, CancelledBeforeItStartsIsCancelledAndNoFailure) {
  for (auto backend : {"native", "landlock"}) {
    LauncherOptions options;
    options.backend = backend;
    auto made = Launcher::create(options);
    ASSERT_TRUE(made.ok());
    Launcher& l = *made.value();
    for (int steps = 0; steps < 24; ++steps) {
      Request request;
      request.id = "some-id";
      request.argv = {"/bin/sleep", "60"};
      std::optional<Result<Report>> result;
      auto id = l.start(default_policy(), std::move(request), [&](RunId, Result<Report> r) { result.emplace(std::move(r)); });
      ASSERT_TRUE(id.ok());
      for (int i = 0; i < steps; ++i) ASSERT_TRUE(l.step(std::chrono::milliseconds(0)).ok());
      l.cancel(id.value());
      while (!result) ASSERT_TRUE(l.step(std::chrono::milliseconds(100)).ok());
      ASSERT_TRUE(result->ok()) << steps << " " << result->error().message;
      EXPECT_EQ(result->value().verdict.reason, ExitReason::kCancelled) << steps;
      EXPECT_EQ(result->value().verdict.status(), RunStatus::kKilled) << steps;
      EXPECT_EQ(result->value().id, "some-id") << steps;
    }
  }
}

TEST_F(Many, CellsInFlightKeepTheirStreamsApart) {
  constexpr int kCells = 40;
  auto made = Launcher::create();
  ASSERT_TRUE(made.ok());
  Launcher& l = *made.value();
  int ended = 0;
  for (int i = 0; i < kCells; ++i) {
    Request request;
    std::string word = "cell-" + std::to_string(i);
    request.argv = {"/bin/sh", "-c", "read line; sleep 0.3; echo $line"};
    request.stdin_source = StdinBytes{word + "\n"};
    auto started = l.start(default_policy(), std::move(request), [&ended, word](RunId, Result<Report> r) {
      ++ended;
      ASSERT_TRUE(r.ok()) << r.error().message;
      EXPECT_EQ(r.value().out, word + "\n");
      EXPECT_EQ(r.value().verdict.exit_code, 0);
    });
    ASSERT_TRUE(started.ok()) << started.error().message;
  }
  for (int i = 0; i < 2'000 && ended < kCells; ++i) ASSERT_TRUE(l.step(std::chrono::milliseconds(20)).ok());
  EXPECT_EQ(ended, kCells);
}

}  // namespace
}  // namespace hotcell::testing
