// Sandboxes that are started ahead: one serves one request of its policy, and nothing of it is left. And on which platform.
#include <gtest/gtest.h>

#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>
#include <thread>

#include "backends/platform.h"
#include "backends/probe.h"
#include "backends/tool_launcher.h"
#include "base/strings.h"
#include "support/cells.h"
#include "support/leak_check.h"

namespace hotcell {
namespace {

using namespace std::chrono_literals;

// Only a sandbox that was started ahead has the program that waits.
constexpr const char* kWasAhead = "[ -e /.hotcell/wait ] && echo ahead || echo cold";

// gVisor needs root: an ordinary user has none of these (ParkedTools says what they are told).
std::vector<std::string> where_it_runs() { return ::geteuid() == 0 ? std::vector<std::string>{"runsc"} : std::vector<std::string>{}; }

class WarmSandbox : public testing::LeakCheck, public ::testing::WithParamInterface<std::string> {
 protected:
  void SetUp() override {
    LeakCheck::SetUp();
    open({});
    policy_ = default_policy();
    policy_.limits.wall = 60s;
    policy_.limits.processes = 32;
  }
  void TearDown() override {
    launcher_.reset();
    LeakCheck::TearDown();
  }
  void open(backends::ToolOptions options) {
    launcher_.reset();
    auto opened = backends::open_backend("runsc", {}, std::move(options));
    ASSERT_TRUE(opened.ok()) << opened.error().message;
    launcher_ = std::move(opened).value();
  }
  bool ready(std::size_t count = 1) {
    for (int i = 0; i < 6000 && launcher_->parked(policy_) < count; ++i)
      if (!launcher_->step(10ms).ok()) return false;
    return launcher_->parked(policy_) == count;
  }
  void park(std::size_t count = 1) {
    auto parked = launcher_->park(policy_, count);
    ASSERT_TRUE(parked.ok()) << parked.error().message;
    ASSERT_TRUE(ready(count)) << "no sandbox became ready";
  }
  Report shell(std::string script, Request request = {}) {
    request.argv = {"/bin/sh", "-c", std::move(script)};
    auto report = launcher_->run(policy_, std::move(request));
    EXPECT_TRUE(report.ok()) << (report.ok() ? "" : report.error().message);
    return report.ok() ? std::move(report).value() : Report{};
  }

  std::unique_ptr<Launcher> launcher_;
  Policy policy_;
};

TEST_P(WarmSandbox, ServesARequestThatCameAfterItWasStarted) {
  EXPECT_EQ(shell(kWasAhead).out, "cold\n");
  park();
  std::this_thread::sleep_for(3s);
  Request request;
  request.stdin_source = StdinBytes{"given"};
  auto r = shell(cat(kWasAhead, "; cut -d. -f1 /proc/uptime; cat; echo; echo $HOME $HOTCELL_ID; pwd; id -u"), std::move(request));
  auto lines = split(r.out, '\n');
  ASSERT_EQ(lines.size(), 7u) << r.out << r.err;
  EXPECT_EQ(lines[0], "ahead");
  EXPECT_GE(std::stoi(std::string(lines[1])), 2) << "its kernel is older than the request";
  EXPECT_EQ(lines[2], "given");
  EXPECT_EQ(lines[3], cat("/work ", r.id));
  EXPECT_EQ(lines[4], "/work");
  EXPECT_NE(lines[5], "0");
  // What the program is charged is its own: the time it waited is nobody's, and the start was paid before.
  EXPECT_LT(r.duration, 30s);
  EXPECT_LT(r.usage.cpu, 10s);
}

TEST_P(WarmSandbox, WordsFolderAndFailuresAreAsInAColdOne) {
  auto both = [&](auto make) {
    auto run = [&] {
      auto report = launcher_->run(policy_, make());
      EXPECT_TRUE(report.ok()) << (report.ok() ? "" : report.error().message);
      return report.ok() ? std::move(report).value() : Report{};
    };
    Report cold = run();
    park();
    Report warm = run();
    EXPECT_TRUE(launcher_->park(policy_, 0).ok());
    EXPECT_EQ(warm.out, cold.out);
    EXPECT_EQ(warm.err, cold.err);
    EXPECT_EQ(warm.verdict.reason, cold.verdict.reason);
    EXPECT_EQ(warm.verdict.exit_code, cold.verdict.exit_code);
    EXPECT_EQ(warm.verdict.signal, cold.verdict.signal);
    EXPECT_EQ(warm.enforcement.layers.size(), cold.enforcement.layers.size());
    return warm;
  };
  auto words = both([] {
    Request r;
    r.argv = {"sh", "-c", "printf '%s|' \"$@\"; pwd; env | grep -v HOTCELL_ID | sort; cat a/b", "sh", "", "x y", "$HOME"};
    r.env["EMPTY"] = "";
    r.files.push_back({"a/b", std::string("inside"), 0644});
    r.workdir = "/work";
    return r;
  });
  EXPECT_NE(words.out.find("|x y|$HOME|/work\n"), std::string::npos) << words.out;
  EXPECT_NE(words.out.find("inside"), std::string::npos) << words.out;
  auto missing = both([] {
    Request r;
    r.argv = {"no-such-program"};
    return r;
  });
  EXPECT_EQ(missing.verdict.exit_code, 127) << missing.err;
  auto large = both([] {
    Request r;
    r.argv = {"/bin/sh", "-c", "printf %s \"$1\" | wc -c; wc -c", "sh", std::string(100'000, 'x')};
    r.stdin_source = StdinBytes{std::string(300'000, 'y')};
    return r;
  });
  EXPECT_EQ(large.out, "100000\n300000\n") << large.err;
}

TEST_P(WarmSandbox, TwoRequestsShareNothing) {
  park(2);
  auto first = shell(cat(kWasAhead, "; echo secret > /tmp/left; echo secret > /work/left; echo secret > /dev/shm/left; (setsid sleep 333 &); sleep 0.2"));
  EXPECT_EQ(first.out, "ahead\n") << first.err;
  auto second = shell(cat(kWasAhead, "; cat /tmp/left /work/left /dev/shm/left; for p in /proc/[0-9]*; do tr '\\0' ' ' < $p/cmdline; done | grep -c '[s]leep 333'"));
  EXPECT_EQ(second.out, "ahead\n0\n") << "nothing of the first is there: " << second.err;
  EXPECT_NE(first.id, second.id);
}

TEST_P(WarmSandbox, IsUsedOnceAndThenReplaced) {
  park();
  EXPECT_EQ(shell(kWasAhead).out, "ahead\n");
  EXPECT_EQ(launcher_->parked(policy_), 0u);
  EXPECT_EQ(shell(kWasAhead).out, "cold\n") << "the one that was there is used up";
  EXPECT_TRUE(ready()) << "another takes its place in idle time";
  ASSERT_TRUE(launcher_->park(policy_, 0).ok());
  EXPECT_EQ(launcher_->parked(policy_), 0u);
}

TEST_P(WarmSandbox, ServesItsOwnPolicyAlone) {
  park();
  Policy mine = policy_;
  policy_.limits.memory = Bytes{policy_.limits.memory.n + (1 << 20)};
  EXPECT_EQ(shell(kWasAhead).out, "cold\n");
  EXPECT_EQ(launcher_->parked(mine), 1u);
}

TEST_P(WarmSandbox, WhatWasReplacedOnTheHostSinceIsNotShownAsItWas) {
  testing::TempDir folder;
  const std::string shown = folder.path() + "/shown";
  std::filesystem::create_directory(shown);
  testing::write_text(shown + "/f", "old");
  policy_.filesystem.grants.push_back({shown, Access::kRead, "test"});
  park();
  EXPECT_EQ(shell(cat("cat ", shown, "/f")).out, "old");
  ASSERT_TRUE(ready());
  std::filesystem::rename(shown, folder.path() + "/gone");
  std::filesystem::create_directory(shown);
  testing::write_text(shown + "/f", "new");
  EXPECT_EQ(shell(cat("cat ", shown, "/f")).out, "new");
}

TEST_P(WarmSandbox, IsKeptForThePolicyUsedLastWhereThatIsAsked) {
  backends::ToolOptions options;
  options.keep_warm = true;
  open(std::move(options));
  EXPECT_EQ(shell(kWasAhead).out, "cold\n");
  ASSERT_TRUE(ready());
  EXPECT_EQ(shell(kWasAhead).out, "ahead\n");
  Policy before = policy_;
  policy_.limits.processes = 33;
  EXPECT_EQ(shell(kWasAhead).out, "cold\n");
  ASSERT_TRUE(ready());
  EXPECT_EQ(launcher_->parked(before), 0u) << "one at a time";
}

// Everything below a process, with the words it was started by.
std::map<pid_t, std::string> below(pid_t root) {
  std::map<pid_t, pid_t> parents;
  for (const auto& path : testing::matches("/proc/[0-9]*/stat")) {
    std::string stat = testing::first_line(path);
    if (auto at = stat.rfind(") "); at != stat.npos) parents[std::stoi(path.substr(6))] = std::stoi(stat.substr(at + 4));
  }
  std::map<pid_t, std::string> out;
  for (auto [pid, parent] : parents)
    for (pid_t up = pid; parents.contains(up) && up > 1; up = parents[up])
      if (parents[up] == root) {
        out[pid] = testing::read_text(cat("/proc/", pid, "/cmdline"));
        break;
      }
  return out;
}

TEST_P(WarmSandbox, AKilledLauncherLeavesNothing) {
  launcher_.reset();
  int told[2];
  ASSERT_EQ(::pipe(told), 0);
  pid_t child = ::fork();
  if (child == 0) {
    auto opened = backends::open_backend("runsc", {});
    Policy policy = policy_;
    if (!opened.ok() || !opened.value()->park(policy, 1).ok()) ::_exit(1);
    for (int i = 0; i < 6000 && opened.value()->parked(policy) == 0; ++i)
      if (!opened.value()->step(10ms).ok()) ::_exit(2);
    char yes = opened.value()->parked(policy) == 1 ? 'y' : 'n';
    (void)!::write(told[1], &yes, 1);
    for (;;) ::pause();
  }
  ::close(told[1]);
  char yes = 0;
  EXPECT_EQ(::read(told[0], &yes, 1), 1);
  ::close(told[0]);
  EXPECT_EQ(yes, 'y');
  auto processes = below(child);
  std::string folder;
  for (const auto& [pid, words] : processes)
    if (auto at = words.find("--root="); at != words.npos) folder = words.substr(at + 7, words.find("/state", at) - at - 7);
  EXPECT_GE(processes.size(), 4u) << "init, runsc, its sandbox, its gofer";
  ASSERT_FALSE(folder.empty());
  EXPECT_TRUE(std::filesystem::exists(folder)) << "the control";
  EXPECT_FALSE(testing::matches(cat("/sys/fs/cgroup/*/hotcell/", child, "-*")).empty()) << "the control";
  ::kill(child, SIGKILL);
  ::waitpid(child, nullptr, 0);
  auto alive = [&] {
    std::string list;
    for (const auto& [pid, words] : processes)
      if (testing::read_text(cat("/proc/", pid, "/cmdline")) == words && !words.empty()) list += cat(pid, " ");
    return list;
  };
  for (int i = 0; i < 1000 && !alive().empty(); ++i) std::this_thread::sleep_for(10ms);
  EXPECT_EQ(alive(), "") << "they go with it";
  open({});  // sweeps
  EXPECT_FALSE(std::filesystem::exists(folder));
  EXPECT_TRUE(testing::matches(cat("/sys/fs/cgroup/*/hotcell/", child, "-*")).empty());
}

TEST(ParkedTools, OthersSayThatTheyCannot) {
  auto launcher = backends::open_backend("bwrap", {});
  ASSERT_TRUE(launcher.ok());
  auto refused = launcher.value()->park(default_policy(), 1);
  ASSERT_FALSE(refused.ok());
  EXPECT_NE(refused.error().message.find("bwrap cannot be started ahead"), std::string::npos) << refused.error().message;
  if (testing::is_root()) return;
  auto gvisor = backends::open_backend("runsc", {});
  ASSERT_FALSE(gvisor.ok());
  EXPECT_NE(gvisor.error().message.find("needs root"), std::string::npos) << gvisor.error().message;
}

// Another gVisor in front of the real one, which knows platforms of its own.
class Platform : public testing::LeakCheck, public ::testing::WithParamInterface<std::string> {
 protected:
  void SetUp() override {
    LeakCheck::SetUp();
    real_ = backends::find_tool("runsc");
    folder_ = std::make_unique<testing::TempDir>();
    backends::set_tool_folders({folder_->path()});
  }
  void TearDown() override {
    backends::set_tool_folders({});
    folder_.reset();
    LeakCheck::TearDown();
  }
  Result<Report> run(std::string_view script, const std::vector<std::string>& settings = {}) {
    testing::write_text(folder_->path() + "/runsc", cat("#!/bin/bash\n", script, "\nexec ", real_, " \"$@\"\n"), 0755);
    auto said = backends::Settings::parse(settings);
    EXPECT_TRUE(said.ok());
    TRY_SET(auto launcher, backends::open_backend("runsc", {}, {{}, true, said.value(), 10s}));
    Request request;
    request.argv = {"/bin/true"};
    return launcher->run(default_policy(), std::move(request));
  }
  static std::string detail(const Result<Report>& report) {
    if (!report.ok()) return report.error().message;
    const auto* layer = report.value().enforcement.find(Layer::kSeccomp);
    return layer == nullptr ? "" : layer->detail;
  }
  std::string real_;
  std::unique_ptr<testing::TempDir> folder_;
};

TEST_P(Platform, TheFirstThatWorksIsUsedAndSaid) {
  auto both = run("set -- \"${@/--platform=systrap/--platform=ptrace}\"");
  EXPECT_NE(detail(both).find("platform systrap"), std::string::npos) << detail(both);
  auto neither = run("[[ \" $* \" == *--platform=systrap* ]] && { echo unknown platform >&2; exit 128; }");
  EXPECT_NE(detail(neither).find("platform ptrace"), std::string::npos) << detail(neither);
}

TEST_P(Platform, OneThatHangsIsPassedOver) {
  auto report = run("[[ \" $* \" == *--platform=systrap* ]] && sleep 1000");
  EXPECT_NE(detail(report).find("platform ptrace"), std::string::npos) << detail(report);
}

TEST_P(Platform, CanBeSaidAndIsNeverKvm) {
  auto said = run("[[ \" $* \" == *--platform=systrap* ]] && exit 3", {"runsc.platform=ptrace"});
  EXPECT_NE(detail(said).find("platform ptrace"), std::string::npos) << detail(said);
  auto kvm = run("", {"runsc.platform=kvm"});
  ASSERT_FALSE(kvm.ok());
  EXPECT_NE(kvm.error().message.find("systrap, ptrace"), std::string::npos) << kvm.error().message;
}

GTEST_ALLOW_UNINSTANTIATED_PARAMETERIZED_TEST(WarmSandbox);
INSTANTIATE_TEST_SUITE_P(Root, WarmSandbox, ::testing::ValuesIn(where_it_runs()), [](const auto& p) { return p.param; });
GTEST_ALLOW_UNINSTANTIATED_PARAMETERIZED_TEST(Platform);
INSTANTIATE_TEST_SUITE_P(Root, Platform, ::testing::ValuesIn(where_it_runs()), [](const auto& p) { return p.param; });

}  // namespace
}  // namespace hotcell
