// The manager with a real launcher process and a real history, without any door.
#include "manager/executions.h"

#include <gtest/gtest.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>

#include "core/remote/launcher_process.h"
#include "core/remote/remote_launcher.h"
#include "languages/plugins.h"
#include "manager/poll_loop.h"

namespace hotcell {
namespace {

using namespace std::chrono_literals;

class ExecutionsTest : public testing::Test {
 protected:
  void SetUp() override {
    std::string pattern = testing::TempDir() + "executions.XXXXXX";
    ASSERT_NE(::mkdtemp(pattern.data()), nullptr);
    folder_ = pattern;
    open({});
    start_launcher_process();
  }

  void open(ExecutionsOptions options) {
    executions_.reset();
    history_.reset();
    auto history = History::open(folder_ + "/history.db", {});
    ASSERT_TRUE(history.ok()) << history.error().message;
    history_ = std::move(history).value();
    options.cache_folder = folder_ + "/cache";
    if (options.park_runtimes.empty()) options.park_cells = 2;
    JobRules rules;
    rules.profiles.built_in = language_profiles();
    rules.most.memory = 1_GiB;
    rules.most.processes = 256;
    executions_ = Executions::create(std::move(options), rules, *history_, loop_, {});
  }

  void start_launcher_process() {
    auto program = remote::find_program_of_ours("hotcell-launcher");
    auto verify = remote::find_program_of_ours("hotcell-verify");
    ASSERT_TRUE(program.ok() && verify.ok());
    auto process = remote::start_launcher(program.value(), {}, {.verify = verify.value(), .inspect = {}, .proxy = {}, .proxy_words = {}});
    ASSERT_TRUE(process.ok()) << process.error().message;
    launcher_ = std::move(process.value().child);
    auto remote = RemoteLauncher::open(std::move(process.value().socket));
    ASSERT_TRUE(remote.ok());
    executions_->attach(std::move(remote).value());
  }

  void TearDown() override {
    executions_.reset();
    if (launcher_.pid > 0) {
      int status = 0;
      EXPECT_EQ(::waitpid(launcher_.pid, &status, 0), launcher_.pid);
    }
    history_.reset();
    std::filesystem::remove_all(folder_);
  }

  JobSpec command(std::vector<std::string> argv) {
    JobSpec spec;
    spec.door = "test";
    spec.client = "local";
    spec.argv = std::move(argv);
    return spec;
  }
  JobSpec code(std::string language, std::string text) {
    JobSpec spec = command({});
    spec.language = std::move(language);
    spec.code = std::move(text);
    return spec;
  }

  ExecutionRecord wait(const std::string& id) {
    std::optional<ExecutionRecord> out;
    auto waiting = executions_->await(id, [&](const ExecutionRecord& r) { out = r; });
    EXPECT_TRUE(waiting.ok());
    EXPECT_TRUE(loop_.run([&] { return out.has_value(); }, 60s));
    return out.value_or(ExecutionRecord{});
  }
  ExecutionRecord run(JobSpec spec) {
    auto submitted = executions_->submit(std::move(spec));
    EXPECT_TRUE(submitted.ok()) << submitted.error().message;
    return submitted.ok() ? wait(submitted.value().id) : ExecutionRecord{};
  }
  std::string result(const std::string& id) { return history_->details(id).value_or({}).result; }

  std::string folder_;
  PollLoop loop_;
  std::unique_ptr<History> history_;
  std::unique_ptr<Executions> executions_;
  sys::Child launcher_;
};

TEST_F(ExecutionsTest, ACommandRunsAndIsRemembered) {
  auto r = run(command({"/bin/echo", "hello"}));
  EXPECT_EQ(r.status, RunStatus::kCompleted) << r.error;
  EXPECT_EQ(r.exit_code, 0);
  EXPECT_NE(result(r.id).find("\"stdout\":\"hello\\n\""), std::string::npos) << result(r.id);
  auto known = history_->find(r.id);
  ASSERT_TRUE(known.ok() && known.value());
  EXPECT_EQ(known.value()->command, "/bin/echo hello");
}

TEST_F(ExecutionsTest, CodeIsVerifiedAndRuns) {
  auto r = run(code("python", "import os\nprint(6 * 7)\nos.system('true')\n"));
  EXPECT_EQ(r.status, RunStatus::kCompleted) << r.error << result(r.id);
  EXPECT_NE(result(r.id).find("\"stdout\":\"42\\n\""), std::string::npos) << result(r.id);
  EXPECT_GT(r.findings_error + r.findings_warning, 0u) << result(r.id);
}

TEST_F(ExecutionsTest, CompiledCodeRuns) {
  auto r = run(code("c", "#include <stdio.h>\nint main(void) { puts(\"from C\"); return 3; }\n"));
  EXPECT_EQ(r.status, RunStatus::kFailed) << r.error;
  EXPECT_EQ(r.exit_code, 3);
  auto broken = run(code("c", "int main(void) { return x; }\n"));
  EXPECT_EQ(broken.exit_reason, "compile_error");
}

TEST_F(ExecutionsTest, AWaitingRuntimeServesTheFirstProgram) {
  ExecutionsOptions options;
  options.park_runtimes = {{"python", 1}};
  open(std::move(options));
  ::kill(launcher_.pid, SIGKILL);
  ::waitpid(launcher_.pid, nullptr, 0);
  start_launcher_process();
  // It is started by a worker, and then starts itself.
  bool hit = false;
  for (int i = 0; i < 50 && !hit; ++i) {
    auto before = executions_->stats().warm_hits;
    auto r = run(code("python", "print(__name__)"));
    ASSERT_EQ(r.status, RunStatus::kCompleted) << result(r.id);
    hit = executions_->stats().warm_hits > before;
    loop_.run([] { return false; }, 100ms);
  }
  EXPECT_TRUE(hit);
}

TEST_F(ExecutionsTest, ManyPiecesOfCodeWaitForAWorkerAndAllRun) {
  std::vector<std::string> ids;
  int verified = 0, asked = 0;
  for (int i = 0; i < 40; ++i) {
    auto s = executions_->submit(code("bash", "echo " + std::to_string(i)));
    ASSERT_TRUE(s.ok());
    ids.push_back(s.value().id);
    ++asked;
    executions_->verify({"echo x", "bash", "x.sh", default_policy()}, [&](const Verification&) { ++verified; });
  }
  for (const auto& id : ids) {
    auto r = wait(id);
    EXPECT_EQ(r.status, RunStatus::kCompleted) << r.error;
  }
  EXPECT_TRUE(loop_.run([&] { return verified == asked; }, 30s));
}

TEST_F(ExecutionsTest, AClientWithALimitOfItsOwnHasNoMoreAtOnce) {
  JobSpec spec = command({"/bin/sleep", "60"});
  spec.max_running = 2;
  auto a = executions_->submit(spec), b = executions_->submit(spec), c = executions_->submit(spec);
  ASSERT_TRUE(a.ok() && b.ok());
  ASSERT_FALSE(c.ok());
  EXPECT_EQ(c.error().code, ErrorCode::kLimit);
  for (const auto* s : {&a, &b}) {
    EXPECT_TRUE(executions_->kill(s->value().id).ok());
    wait(s->value().id);
  }
  EXPECT_TRUE(executions_->submit(spec).ok());
}

TEST_F(ExecutionsTest, AnIdempotencyKeyStartsOneExecution) {
  JobSpec spec = command({"/bin/true"});
  spec.idempotency_key = "k";
  auto a = executions_->submit(spec), b = executions_->submit(spec);
  ASSERT_TRUE(a.ok() && b.ok());
  EXPECT_EQ(a.value().id, b.value().id);
  EXPECT_TRUE(b.value().existing);
  wait(a.value().id);
  spec.client = "another";
  auto c = executions_->submit(spec);
  ASSERT_TRUE(c.ok());
  EXPECT_NE(c.value().id, a.value().id);
  wait(c.value().id);
}

TEST_F(ExecutionsTest, KillEndsWhatRunsAndWhatWaits) {
  ExecutionsOptions options;
  options.max_running = 1;
  options.park_runtimes = {};
  open(std::move(options));
  ::kill(launcher_.pid, SIGKILL);
  ::waitpid(launcher_.pid, nullptr, 0);
  start_launcher_process();
  auto runs = executions_->submit(command({"/bin/sleep", "60"}));
  auto waits = executions_->submit(command({"/bin/sleep", "60"}));
  ASSERT_TRUE(runs.ok() && waits.ok());
  loop_.run([] { return false; }, 300ms);
  EXPECT_EQ(executions_->find(waits.value().id)->status, RunStatus::kPending);
  EXPECT_TRUE(executions_->kill(waits.value().id).ok());
  EXPECT_TRUE(executions_->kill(runs.value().id).ok());
  EXPECT_EQ(wait(runs.value().id).status, RunStatus::kKilled);
  EXPECT_EQ(wait(waits.value().id).exit_reason, "cancelled");
  EXPECT_EQ(executions_->kill(runs.value().id).error().code, ErrorCode::kInvalid);
  EXPECT_EQ(executions_->kill("nobody").error().code, ErrorCode::kNotFound);
}

TEST_F(ExecutionsTest, AFullQueueIsSaid) {
  ExecutionsOptions options;
  options.max_running = 1;
  options.max_queued_each = 2;
  options.max_queued_bytes = 1 << 20;
  options.park_runtimes = {};
  open(std::move(options));
  ::kill(launcher_.pid, SIGKILL);
  ::waitpid(launcher_.pid, nullptr, 0);
  start_launcher_process();
  std::vector<std::string> ids;
  for (int i = 0; i < 3; ++i) {
    auto s = executions_->submit(command({"/bin/sleep", "60"}));
    ASSERT_TRUE(s.ok()) << s.error().message;
    ids.push_back(s.value().id);
  }
  auto full = executions_->submit(command({"/bin/true"}));
  ASSERT_FALSE(full.ok());
  EXPECT_EQ(full.error().code, ErrorCode::kLimit);
  JobSpec large = command({"/bin/cat"});
  large.client = "large";
  large.stdin_bytes.assign(1 << 20, 'x');
  EXPECT_EQ(executions_->submit(large).error().message, "too much is waiting already");
  // Another client still has room, and its turn comes before the second of the first.
  JobSpec other = command({"/bin/true"});
  other.client = "other";
  auto o = executions_->submit(other);
  ASSERT_TRUE(o.ok());
  executions_->kill(ids[0]).ignore("the next may start");
  loop_.run([&] { return executions_->find(ids[1])->status == RunStatus::kRunning; }, 10s);
  executions_->kill(ids[1]).ignore("the other's turn");
  EXPECT_EQ(wait(o.value().id).status, RunStatus::kCompleted);
  EXPECT_EQ(executions_->find(ids[2])->ended_already(), false);
  executions_->kill(ids[2]).ignore("done");
  wait(ids[2]);
}

TEST_F(ExecutionsTest, LongRunsOfOneClientDoNotKeepAnotherWaiting) {
  ExecutionsOptions options;
  options.max_running = 4;
  options.park_runtimes = {};
  open(std::move(options));
  ::kill(launcher_.pid, SIGKILL);
  ::waitpid(launcher_.pid, nullptr, 0);
  start_launcher_process();
  std::vector<std::string> ids;
  for (int i = 0; i < 6; ++i) ids.push_back(executions_->submit(command({"/bin/sleep", "60"})).value().id);
  auto running = [&] { return executions_->stats().running; };
  EXPECT_TRUE(loop_.run([&] { return running() == 3; }, 10s));
  JobSpec other = command({"/bin/true"});
  other.client = "other";
  EXPECT_EQ(run(other).status, RunStatus::kCompleted);
  EXPECT_EQ(running(), 3u);
  EXPECT_EQ(executions_->stats().queued, 3u);
  for (const auto& id : ids) executions_->kill(id).ignore("done");
  for (const auto& id : ids) wait(id);
}

TEST_F(ExecutionsTest, UpdatesComeInOrderAndCanBeResumed) {
  auto s = executions_->submit(command({"/bin/sh", "-c", "echo a; sleep 0.05; echo b >&2; sleep 0.3; echo c"}));
  ASSERT_TRUE(s.ok());
  std::vector<Update> all, late;
  auto watching = executions_->watch(s.value().id, 0, [&](const Update& u) { all.push_back(u); });
  ASSERT_TRUE(watching.ok());
  wait(s.value().id);
  ASSERT_FALSE(all.empty());
  EXPECT_EQ(all.back().type, "done");
  std::string text;
  for (std::size_t i = 0; i < all.size(); ++i) {
    EXPECT_EQ(all[i].seq, i + 1);
    if (all[i].type == "stdout" || all[i].type == "stderr") text += all[i].data;
  }
  EXPECT_EQ(text, "{\"text\":\"a\\n\"}{\"text\":\"b\\n\"}{\"text\":\"c\\n\"}");
  auto again = executions_->watch(s.value().id, all[2].seq, [&](const Update& u) { late.push_back(u); });
  ASSERT_TRUE(again.ok());
  ASSERT_EQ(late.size(), all.size() - 3);
  EXPECT_EQ(late[0].seq, all[3].seq);
}

TEST_F(ExecutionsTest, ALauncherThatDiesTakesItsRunsAndTheNextServesTheRest) {
  auto lost = executions_->submit(command({"/bin/sleep", "60"}));
  auto lost_code = executions_->submit(code("python", "import time; time.sleep(60)"));
  ASSERT_TRUE(lost.ok() && lost_code.ok());
  loop_.run([] { return false; }, 500ms);
  ASSERT_EQ(::kill(launcher_.pid, SIGKILL), 0);
  ASSERT_EQ(::waitpid(launcher_.pid, nullptr, 0), launcher_.pid);
  for (const auto& id : {lost.value().id, lost_code.value().id}) {
    auto r = wait(id);
    EXPECT_EQ(r.status, RunStatus::kFailed);
    EXPECT_EQ(r.exit_reason, "sandbox_error");
    EXPECT_NE(r.error.find("launcher"), std::string::npos) << r.error;
  }
  EXPECT_FALSE(executions_->stats().launcher_up);
  auto patient = executions_->submit(command({"/bin/true"}));
  ASSERT_TRUE(patient.ok());
  start_launcher_process();
  EXPECT_EQ(wait(patient.value().id).status, RunStatus::kCompleted);
}

TEST_F(ExecutionsTest, DrainingLetsRunsEndAndTakesNoMore) {
  auto last = executions_->submit(command({"/bin/sleep", "0.3"}));
  ASSERT_TRUE(last.ok());
  bool drained = false;
  executions_->drain(10s, [&] { drained = true; });
  auto refused = executions_->submit(command({"/bin/true"}));
  EXPECT_FALSE(refused.ok());
  EXPECT_TRUE(loop_.run([&] { return drained; }, 10s));
  EXPECT_EQ(executions_->find(last.value().id)->status, RunStatus::kCompleted);
}

TEST_F(ExecutionsTest, WhatIsAskedForTooMuchIsRefusedByName) {
  JobSpec spec = command({"/bin/true"});
  spec.limits.memory = 4_GiB;
  auto much = executions_->submit(spec);
  ASSERT_FALSE(much.ok());
  EXPECT_NE(much.error().message.find("limits.memory"), std::string::npos);
  spec = command({"/bin/true"});
  spec.workdir = "../../etc";
  EXPECT_FALSE(executions_->submit(spec).ok());
  spec.workdir = "/proc/self/fd/3";
  EXPECT_FALSE(executions_->submit(spec).ok());
  spec = command({"/bin/true"});
  spec.files = {{"a/../../x", "x", false}};
  EXPECT_FALSE(executions_->submit(spec).ok());
  spec = command({"/bin/true"});
  spec.profile = "/etc/passwd";
  EXPECT_FALSE(executions_->submit(spec).ok());
  spec = command({"/bin/true"});
  spec.tier = "strong";
  EXPECT_EQ(executions_->submit(spec).error().code, ErrorCode::kUnsupported);
}

}  // namespace
}  // namespace hotcell
