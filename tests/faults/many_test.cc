// A launcher with many cells has descriptors everywhere; each cell must still get its own.
#include <filesystem>
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
  constexpr std::size_t kCells = 12, kMostDescriptors = 22, kMostKib = 20;
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
    EXPECT_LE(own_descriptors(), before + kCells * kMostDescriptors) << round;
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
  if (std::thread::hardware_concurrency() > 1) EXPECT_GT(waiting, 50);
  else EXPECT_GE(waiting, 8);
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
