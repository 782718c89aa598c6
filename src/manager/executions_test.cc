#include "manager/executions.h"

#include <gtest/gtest.h>

#include "manager/poll_loop.h"

namespace hotcell {
namespace {

using namespace std::chrono_literals;

// Takes its time to commit.
class SlowHistory : public History {
 public:
  void begin(ExecutionRecord, std::string, Committed) override {}
  void end(ExecutionRecord, ExecutionDetails, Committed done) override { waiting.push_back(std::move(done)); }
  void flush() override {}
  std::uint64_t last_number() const override { return 0; }
  std::uint64_t abandoned() const override { return 0; }
  Result<std::optional<ExecutionRecord>> find(std::string_view) override { return std::optional<ExecutionRecord>(); }
  Result<std::optional<ExecutionRecord>> find_key(std::string_view, std::string_view) override { return std::optional<ExecutionRecord>(); }
  Result<ExecutionDetails> details(std::string_view) override { return ExecutionDetails(); }
  Result<std::vector<ExecutionRecord>> list(const HistoryQuery&) override { return std::vector<ExecutionRecord>(); }
  Result<void> clean_up() override { return {}; }

  std::vector<Committed> waiting;
};

// On a disk that is full: no row, and room for notes.
class FullHistory final : public SlowHistory {
 public:
  void begin(ExecutionRecord, std::string, Committed done) override {
    ++refused;
    if (done) done(make_error(ErrorCode::kIo, "database or disk is full"));
  }
  bool announce(const ExecutionRecord& r) override { return noted.push_back(r.idempotency_key), true; }

  int refused = 0;
  std::vector<std::string> noted;
};

TEST(ExecutionsOnAFullDisk, WhatMustBeFoundAgainIsNotedWhereItCannotBeWritten) {
  PollLoop loop;
  FullHistory history;
  auto executions = Executions::create({}, {}, history, loop, {});
  JobSpec spec;
  spec.argv = {"/bin/true"};
  spec.idempotency_key = "once";
  ASSERT_TRUE(executions->submit(std::move(spec)).ok());
  EXPECT_EQ(history.refused, 1);
  EXPECT_EQ(history.noted, std::vector<std::string>{"once"});
}

class ExecutionsAlone : public testing::Test {
 protected:
  // One that waited for a launcher, and was cancelled.
  std::string ended() {
    JobSpec spec;
    spec.client = "local";
    spec.argv = {"/bin/true"};
    auto submitted = executions->submit(std::move(spec));
    EXPECT_TRUE(submitted.ok()) << submitted.error().message;
    EXPECT_TRUE(executions->kill(submitted.value().id).ok());
    return submitted.value().id;
  }

  PollLoop loop;
  SlowHistory history;
  std::unique_ptr<Executions> executions = Executions::create({}, {}, history, loop, {});
};

TEST_F(ExecutionsAlone, AnEndIsToldWhenTheHistoryHasIt) {
  const std::string id = ended();
  bool told = false;
  auto waiting = executions->await(id, [&](const ExecutionRecord& r) { told = r.status == RunStatus::kKilled; });
  ASSERT_TRUE(waiting.ok());
  EXPECT_FALSE(loop.run([&] { return told; }, 20ms));
  ASSERT_EQ(history.waiting.size(), 1u);
  history.waiting[0]({});
  EXPECT_TRUE(loop.run([&] { return told; }, 10s));
}

// A front whose supervisor died ends in the middle of its work, and its history writes what it was given before.
TEST_F(ExecutionsAlone, WhatIsCommittedAfterTheirEndReachesNobody) {
  const std::string id = ended();
  bool told = false;
  auto waiting = executions->await(id, [&](const ExecutionRecord&) { told = true; });
  ASSERT_TRUE(waiting.ok());
  executions.reset();
  ASSERT_EQ(history.waiting.size(), 1u);
  history.waiting[0]({});
  EXPECT_FALSE(loop.run([&] { return told; }, 20ms));
}

}  // namespace
}  // namespace hotcell
