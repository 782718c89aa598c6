// A launcher with many cells has descriptors everywhere; each cell must still get its own.
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
