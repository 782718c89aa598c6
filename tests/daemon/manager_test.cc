// The public Manager: a thread, a launcher process and a history of its own, used as a library is.
#include "hotcell/manager.h"

#include <gtest/gtest.h>
#include <signal.h>

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <mutex>
#include <set>
#include <thread>

#include "base/strings.h"
#include "support/leak_check.h"

namespace hotcell::testing {
namespace {

using namespace std::chrono_literals;

class ManagerTest : public LeakCheck {
 protected:
  void SetUp() override {
    LeakCheck::SetUp();
    std::string folder = (std::filesystem::temp_directory_path() / "hotcell-manager-XXXXXX").string();
    ASSERT_NE(::mkdtemp(folder.data()), nullptr);
    options_.state_folder = folder;
    open();
  }
  void TearDown() override {
    manager_.reset();
    std::filesystem::remove_all(options_.state_folder);
    LeakCheck::TearDown();
  }
  void open() {
    manager_.reset();
    auto made = Manager::create(options_);
    ASSERT_TRUE(made.ok()) << made.error().message;
    manager_ = std::move(made).value();
  }
  static Submission command(std::string line) {
    Submission s;
    s.argv = {"/bin/sh", "-c", std::move(line)};
    return s;
  }
  std::string submit(Submission s) {
    auto id = manager_->submit(std::move(s));
    EXPECT_TRUE(id.ok()) << id.error().message;
    return id.ok() ? id.value() : std::string();
  }
  Execution await(const std::string& id) {
    auto ended = manager_->await(id, 60s);
    EXPECT_TRUE(ended.ok()) << ended.error().message;
    return ended.ok() ? ended.value() : Execution{};
  }
  // Our launcher process: a child of the manager's thread.
  static int launcher_pid() {
    for (const auto& entry : std::filesystem::directory_iterator("/proc")) {
      const std::string name = entry.path().filename();
      if (name.find_first_not_of("0123456789") != std::string::npos) continue;
      std::string line;
      std::getline(std::ifstream(entry.path() / "stat"), line);
      if (line.find("(hotcell-launch") == std::string::npos) continue;
      if (auto at = line.rfind(") "); std::atoi(line.c_str() + at + 4) == ::getpid()) return std::atoi(name.c_str());
    }
    return 0;
  }

  ManagerOptions options_;
  std::unique_ptr<Manager> manager_;
};

TEST_F(ManagerTest, WhatIsSubmittedRunsAndIsRememberedByTheNextOne) {
  Submission code;
  code.language = "python";
  code.code = "import os, sys\nprint(os.environ['V'], sys.argv[1], open('a.txt').read(), sys.stdin.read())\n";
  code.env["V"] = "var";
  code.args = {"arg"};
  code.files["a.txt"] = "file";
  code.stdin_bytes = "in";
  const std::string id = submit(code);
  Execution ran = await(id);
  EXPECT_EQ(ran.status, RunStatus::kCompleted) << ran.error;
  EXPECT_EQ(ran.language, "python");
  EXPECT_GT(ran.duration.count(), 0);
  const std::string result = manager_->result(id).value_or("");
  EXPECT_NE(result.find("\"stdout\":\"var arg file in\\n\""), std::string::npos) << result;
  open();
  auto again = manager_->status(id);
  ASSERT_TRUE(again.ok()) << again.error().message;
  EXPECT_EQ(again.value().exit_code, 0);
  EXPECT_EQ(manager_->result(id).value_or(""), result);
  EXPECT_EQ(await(id).exit_reason, "exited") << "awaiting what has ended does not wait";
}

TEST_F(ManagerTest, WhatIsWrongIsSaidAndNothingRuns) {
  EXPECT_EQ(manager_->submit({}).error().code, ErrorCode::kInvalid);
  Submission unknown;
  unknown.language = "cobol", unknown.code = "x";
  EXPECT_EQ(manager_->submit(unknown).error().code, ErrorCode::kNotFound);
  Submission much = command("true");
  much.memory = 64_GiB;
  EXPECT_EQ(manager_->submit(much).error().code, ErrorCode::kInvalid) << "past the ceiling";
  for (auto* what : {"status", "result", "await", "kill", "follow"}) {
    const std::string name = what;
    const Error error = name == "status"   ? manager_->status("nobody").error()
                        : name == "result" ? manager_->result("nobody").error()
                        : name == "await"  ? manager_->await("nobody").error()
                        : name == "kill"   ? manager_->kill("nobody").error()
                                           : manager_->follow("nobody", [](const ExecutionEvent&) {}).error();
    EXPECT_EQ(error.code, ErrorCode::kNotFound) << name;
  }
  EXPECT_TRUE(manager_->list().value().empty());
  auto second = Manager::create(options_);
  ASSERT_FALSE(second.ok()) << "two of them would both write one history";
  EXPECT_EQ(second.error().code, ErrorCode::kDenied) << second.error().message;
  ManagerOptions elsewhere = options_;
  elsewhere.state_folder += "/other";
  elsewhere.programs = "/nowhere";
  EXPECT_EQ(Manager::create(elsewhere).error().code, ErrorCode::kNotFound);
}

TEST_F(ManagerTest, AQueueIsBoundedSharedAndInOrder) {
  options_.max_running = 1;
  options_.max_queued_each = 3;
  open();
  const std::string first = submit(command("sleep 600"));
  std::vector<std::string> waiting;
  for (int i = 0; i < 3; ++i) waiting.push_back(submit(command("true")));
  auto refused = manager_->submit(command("true"));
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.error().code, ErrorCode::kLimit);
  Submission other = command("true");
  other.client = "somebody else";
  EXPECT_TRUE(manager_->submit(other).ok()) << "everybody has a share";
  EXPECT_EQ(manager_->await(waiting[0], 50ms).error().code, ErrorCode::kCancelled);
  EXPECT_EQ(manager_->status(waiting[0]).value().status, RunStatus::kPending);
  EXPECT_EQ(manager_->result(waiting[0]).error().code, ErrorCode::kInvalid);
  EXPECT_TRUE(manager_->kill(waiting[2]).ok());
  EXPECT_EQ(await(waiting[2]).error, "execution killed");
  EXPECT_TRUE(manager_->kill(first).ok());
  EXPECT_EQ(await(first).error, "execution killed");
  EXPECT_EQ(manager_->kill(first).error().code, ErrorCode::kInvalid);
  for (int i = 0; i < 2; ++i) EXPECT_EQ(await(waiting[static_cast<std::size_t>(i)]).status, RunStatus::kCompleted);
  ExecutionFilter killed;
  killed.status = RunStatus::kKilled;
  EXPECT_EQ(manager_->list(killed).value().size(), 2u);
  ExecutionFilter theirs;
  theirs.client = "somebody else";
  EXPECT_EQ(manager_->list(theirs).value().size(), 1u);
  ExecutionFilter page;
  page.limit = 2;
  auto newest = manager_->list(page).value();
  ASSERT_EQ(newest.size(), 2u);
  page.before = newest[1].number;
  EXPECT_LT(manager_->list(page).value().at(0).number, newest[1].number);
}

TEST_F(ManagerTest, TheSameKeyIsTheSameExecution) {
  Submission s = command("echo once");
  s.idempotency_key = "k";
  const std::string id = submit(s);
  EXPECT_EQ(submit(s), id);
  await(id);
  EXPECT_EQ(submit(s), id);
  s.client = "somebody else";
  EXPECT_NE(submit(s), id);
}

TEST_F(ManagerTest, WhatHappensIsToldInOrderToTheEnd) {
  std::vector<std::string> types;
  std::string last;
  std::atomic<bool> over = false;
  std::uint64_t seq = 0;
  bool ordered = true;
  const std::string id = submit(command("echo one; sleep 0.3; echo two >&2"));
  ASSERT_TRUE(manager_->follow(id, [&](const ExecutionEvent& e) {
    types.push_back(e.type);
    ordered = ordered && e.seq > seq;
    seq = e.seq, last = e.data;
    if (e.type == "done") over = true;
  }).ok());
  await(id);
  for (int i = 0; i < 200 && !over; ++i) std::this_thread::sleep_for(10ms);
  ASSERT_TRUE(over);
  EXPECT_TRUE(ordered);
  for (auto* type : {"state", "stdout", "stderr", "event", "done"}) EXPECT_NE(std::find(types.begin(), types.end(), type), types.end()) << type;
  EXPECT_EQ(std::count(types.begin(), types.end(), "done"), 1);
  EXPECT_NE(last.find("\"status\":\"completed\""), std::string::npos) << last;
}

TEST_F(ManagerTest, ManyThreadsLoseNothing) {
  std::mutex mutex;
  std::set<std::string> ids;
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t)
    threads.emplace_back([&, t] {
      for (int i = 0; i < 5; ++i) {
        auto id = manager_->submit(command(cat("exit ", i)));
        auto ended = id.ok() ? manager_->await(id.value(), 60s) : Result<Execution>(id.error());
        EXPECT_TRUE(ended.ok() && ended.value().exit_code == i) << t << " " << i;
        std::lock_guard lock(mutex);
        if (id.ok()) ids.insert(id.value());
      }
    });
  for (auto& t : threads) t.join();
  EXPECT_EQ(ids.size(), 20u);
  EXPECT_EQ(manager_->list().value().size(), 20u);
}

TEST_F(ManagerTest, ALauncherThatDiesIsReplacedAndItsRunHasFailed) {
  const std::string lost = submit(command("sleep 600"));
  for (int i = 0; i < 200 && manager_->status(lost).value().status != RunStatus::kRunning; ++i) std::this_thread::sleep_for(10ms);
  const int pid = launcher_pid();
  ASSERT_GT(pid, 0);
  ::kill(pid, SIGKILL);
  Execution failed = await(lost);
  EXPECT_EQ(failed.status, RunStatus::kFailed);
  EXPECT_EQ(failed.exit_reason, "sandbox_error") << "we failed, not the program";
  EXPECT_EQ(await(submit(command("true"))).status, RunStatus::kCompleted);
  EXPECT_NE(launcher_pid(), pid);
}

TEST_F(ManagerTest, DrainingLetsWhatRunsEndAndForcesTheRest) {
  const std::string quick = submit(command("sleep 0.3")), endless = submit(command("sleep 600"));
  manager_->drain(2s);
  EXPECT_EQ(manager_->status(quick).value().status, RunStatus::kCompleted);
  EXPECT_EQ(manager_->status(endless).value().status, RunStatus::kKilled);
  EXPECT_EQ(manager_->submit(command("true")).error().code, ErrorCode::kLimit);
}

TEST_F(ManagerTest, OneThatIsDestroyedEndsWhatRuns) {
  const std::string id = submit(command("sleep 600"));
  open();
  auto after = manager_->status(id);
  ASSERT_TRUE(after.ok()) << after.error().message;
  EXPECT_TRUE(after.value().has_ended()) << "accounted for";
}

}  // namespace
}  // namespace hotcell::testing
