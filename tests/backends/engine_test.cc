// Engines of our own, beyond what every backend must do.
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include "backends/engine/client.h"
#include "backends/engine/json.h"
#include "backends/engines.h"
#include "backends/probe.h"
#include "backends/tool_launcher.h"
#include "base/strings.h"
#include "support/cells.h"
#include "support/leak_check.h"

namespace hotcell {
namespace {

using namespace std::chrono_literals;

class EngineRuns : public testing::LeakCheck, public ::testing::WithParamInterface<std::string> {
 protected:
  void SetUp() override {
    socket_ = GetParam() == "docker" ? testing::docker_socket() : testing::podman_socket();
    LeakCheck::SetUp();
    set_up_ = true;
  }
  void TearDown() override {
    if (set_up_) LeakCheck::TearDown();
  }
  backends::Settings settings(std::vector<std::string> more = {}) const {
    more.push_back(cat(GetParam(), ".socket=", socket_));
    return backends::Settings::parse(more).value();
  }
  std::size_t containers() const {
    auto list = backends::EngineClient(GetParam(), socket_).demand("GET", "/containers/json?all=1");
    EXPECT_TRUE(list.ok());
    return list.ok() ? backends::json_labelled(list.value(), "hotcell.owner").size() : 99;
  }
  std::string socket_;
  bool set_up_ = false;
};

TEST_P(EngineRuns, NothingIsLeftInTheEngine) {
  auto launcher = backends::open_backend(GetParam(), {}, {{}, false, settings()});
  ASSERT_TRUE(launcher.ok()) << launcher.error().message;
  Request request;
  request.argv = {"/bin/true"};
  ASSERT_TRUE(launcher.value()->run(default_policy(), std::move(request)).ok());
  EXPECT_EQ(containers(), 0u);
  // One that is given up in the middle.
  Request longer;
  longer.argv = {"/bin/sleep", "300"};
  ASSERT_TRUE(launcher.value()->start(default_policy(), std::move(longer), [](RunId, Result<Report>) {}).ok());
  EXPECT_EQ(containers(), 1u);
  launcher.value().reset();
  EXPECT_EQ(containers(), 0u);
}

TEST_P(EngineRuns, WhatAKilledLauncherLeftIsSwept) {
  pid_t child = ::fork();
  if (child == 0) {
    auto launcher = backends::open_backend(GetParam(), {}, {{}, false, settings()});
    Request request;
    request.argv = {"/bin/sleep", "300"};
    bool begun = launcher.ok() && launcher.value()->start(default_policy(), std::move(request), [](RunId, Result<Report>) {}).ok();
    ::kill(::getpid(), begun ? SIGKILL : SIGTERM);
  }
  int status = 0;
  ::waitpid(child, &status, 0);
  ASSERT_TRUE(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);
  EXPECT_EQ(containers(), 1u) << "the control: it is left behind";
  auto next = backends::open_backend(GetParam(), {}, {{}, false, settings()});
  ASSERT_TRUE(next.ok());
  EXPECT_EQ(containers(), 0u);
}

TEST_P(EngineRuns, AFrozenOneStandsStillAndCanBeEnded) {
  auto launcher = backends::open_backend(GetParam(), {}, {{}, false, settings()});
  ASSERT_TRUE(launcher.ok());
  std::string seen;
  std::optional<Result<Report>> report;
  Request request;
  request.argv = {"/bin/sh", "-c", "while :; do echo x; sleep 0.05; done"};
  request.on_output = [&](Stream, std::string_view text) { seen += text; };
  auto id = launcher.value()->start(default_policy(), std::move(request), [&](RunId, Result<Report> r) { report.emplace(std::move(r)); });
  ASSERT_TRUE(id.ok()) << id.error().message;
  auto go = [&](std::chrono::milliseconds time) {
    for (auto until = std::chrono::steady_clock::now() + time; std::chrono::steady_clock::now() < until && !report;) EXPECT_TRUE(launcher.value()->step(10ms).ok());
  };
  for (int i = 0; i < 100 && seen.empty(); ++i) go(50ms);
  ASSERT_TRUE(launcher.value()->freeze(id.value(), true).ok());
  go(300ms);
  auto before = seen.size();
  go(500ms);
  EXPECT_EQ(seen.size(), before);
  ASSERT_TRUE(launcher.value()->freeze(id.value(), false).ok());
  for (int i = 0; i < 100 && seen.size() == before; ++i) go(50ms);
  EXPECT_GT(seen.size(), before);
  launcher.value()->cancel(id.value());
  go(20s);
  ASSERT_TRUE(report);
  EXPECT_EQ(report->value().verdict.reason, ExitReason::kCancelled);
}

// An ordinary user may start no engine.
GTEST_ALLOW_UNINSTANTIATED_PARAMETERIZED_TEST(EngineRuns);
INSTANTIATE_TEST_SUITE_P(Engines, EngineRuns, ::testing::ValuesIn(testing::engines_here()), [](const auto& p) { return p.param; });

TEST(EngineRuntime, IsTheOneAskedForOrNothing) {
  if (testing::engines_here().empty()) {
    // Whoever may talk to an engine is root on its host; an ordinary user is told what is missing.
    auto refused = backends::probe("docker");
    EXPECT_FALSE(refused.works);
    EXPECT_NE(refused.why.find("docker"), std::string::npos) << refused.why;
    return;
  }
  auto socket = cat("docker.socket=", testing::docker_socket());
  auto known = backends::probe("docker", backends::Settings::parse({socket, "docker.runtime=other"}).value());
  EXPECT_TRUE(known.works) << known.why;
  auto unknown = backends::probe("docker", backends::Settings::parse({socket, "docker.runtime=kata"}).value());
  EXPECT_FALSE(unknown.works);
  EXPECT_NE(unknown.why.find("knows no runtime kata"), std::string::npos) << unknown.why;
}

// gVisor takes no filter from an engine: ours must be on all the same, and its kernel must be the one that answers.
TEST(EngineRuntime, UnderGvisorTheFilterIsOursAndTheKernelIsNotTheHosts) {
  if (testing::engines_here().empty()) {
    EXPECT_FALSE(backends::probe("docker", backends::Settings::parse({"docker.runtime=gvisor"}).value()).works);
    return;
  }
  auto settings = backends::Settings::parse({cat("docker.socket=", testing::docker_socket()), "docker.runtime=gvisor"}).value();
  auto launcher = backends::open_backend("docker", {}, {{}, true, settings});
  ASSERT_TRUE(launcher.ok()) << launcher.error().message;
  Request request;
  request.argv = {"/usr/bin/python3", "-I", "-c",
                  "import ctypes\nc = ctypes.CDLL(None, use_errno=True)\nprint(c.ptrace(0, 0, 0, 0), ctypes.get_errno())\nprint(open('/proc/version').read(), end='')"};
  Policy policy = default_policy();
  policy.limits.processes = 64;
  auto report = launcher.value()->run(policy, std::move(request));
  ASSERT_TRUE(report.ok()) << report.error().message;
  EXPECT_TRUE(report.value().out.starts_with("-1 1\n")) << report.value().out << report.value().err;
  EXPECT_EQ(report.value().out.find(testing::first_line("/proc/version")), std::string::npos) << report.value().out;
  const auto* seccomp = report.value().enforcement.find(Layer::kSeccomp);
  ASSERT_NE(seccomp, nullptr);
  EXPECT_EQ(seccomp->status, LayerStatus::kFull);
  EXPECT_EQ(seccomp->detail, "the guest kernel answers every call, runtime gvisor");
  struct stat null {};
  ASSERT_EQ(::stat("/dev/null", &null), 0);
  EXPECT_EQ(null.st_uid, 0u) << "it was given the host's /dev/null, and made it its own";
}

TEST(EngineSelection, AContainerLevelWithoutAnEngineSaysWhy) {
  auto p = backends::probe("docker", backends::Settings::parse({"docker.socket=/nowhere/docker.sock"}).value());
  EXPECT_FALSE(p.works);
  EXPECT_NE(p.why.find("no engine is running here"), std::string::npos) << p.why;
}

}  // namespace
}  // namespace hotcell
