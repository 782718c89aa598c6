// Runtimes that were started before there was anything to run: what they serve, what they may not carry over, and what
// becomes of those that do not stay.
#include "support/cells.h"
#include "support/leak_check.h"

#include <sched.h>
#include <sys/mount.h>
#include <sys/wait.h>
#include <unistd.h>

#include <thread>

namespace hotcell::testing {
namespace {

// As small as a runtime can be: reads its orders, then runs the shell script it is told to with the arguments it got.
constexpr const char* kWaits = R"(import os, sys
def take(n):
    got = b""
    while len(got) < n:
        piece = os.read(0, n - len(got))
        if not piece: os._exit(0)
        got += piece
    return got
os.write(1, b"\0")
fields = take(int(take(10))).split(b"\0")
argc = int(fields[0])
argv, workdir = fields[1:1 + argc], fields[1 + argc]
env = dict(f.split(b"=", 1) for f in fields[3 + argc:3 + argc + int(fields[2 + argc])])
os.chdir(workdir)
os.execve(b"/bin/sh", [b"sh"] + argv, env)
)";

class Runtimes : public LeakCheck {
 protected:
  void SetUp() override {
    LeakCheck::SetUp();
    auto made = Launcher::create();
    ASSERT_TRUE(made.ok());
    launcher_ = std::move(made).value();
    auto runtime = std::make_shared<Runtime>();
    runtime->argv = {"/usr/bin/python3", "/work/.wait/wait.py"};
    runtime->files = {{".wait/wait.py", std::string(kWaits)}};
    runtime_ = runtime;
  }
  void TearDown() override {
    launcher_.reset();
    LeakCheck::TearDown();
  }

  void park(std::size_t count) {
    ASSERT_TRUE(launcher_->park(policy_, runtime_, count).ok());
    for (int i = 0; i < 2000 && launcher_->parked(policy_, *runtime_) < count; ++i)
      ASSERT_TRUE(launcher_->step(std::chrono::milliseconds(10)).ok());
    ASSERT_EQ(launcher_->parked(policy_, *runtime_), count);
  }

  Request request(std::string script) {
    Request r;
    r.argv = {"/bin/echo", "cold"};
    r.runtime = runtime_;
    r.runtime_argv = {"/work/main.sh"};
    r.files = {{"main.sh", std::move(script)}};
    return r;
  }

  Report run(Request request) {
    auto report = launcher_->run(policy_, std::move(request));
    EXPECT_TRUE(report.ok()) << (report.ok() ? "" : report.error().message);
    return report.ok() ? std::move(report).value() : Report{};
  }

  std::unique_ptr<Launcher> launcher_;
  std::shared_ptr<const Runtime> runtime_;
  Policy policy_ = default_policy();
};

TEST_F(Runtimes, GetArgumentsEnvironmentFolderAndStdinOfTheRequest) {
  park(1);
  Request r = request("echo \"$1|$HOTCELL_TEST|$HOTCELL_ID|$PWD|$HOME\"; read line; echo \"<$line>\"; exit 7\n");
  r.id = "the-id";
  r.runtime_argv.push_back("one two");
  r.env = {{"HOTCELL_TEST", "value"}};
  r.workdir = "/tmp";
  r.stdin_source = StdinBytes{"from stdin\n"};
  Report report = run(std::move(r));
  EXPECT_EQ(report.out, "one two|value|the-id|/tmp|/work\n<from stdin>\n") << describe(report);
  EXPECT_EQ(report.verdict.exit_code, 7);
}

TEST_F(Runtimes, LeaveNothingOfTheirsInTheWorkspace) {
  park(1);
  Report report = run(request("ls -A /work\n"));
  EXPECT_EQ(report.out, "main.sh\n") << describe(report);
}

TEST_F(Runtimes, ServeOneRequestEach) {
  park(2);
  EXPECT_EQ(run(request("echo a > /tmp/left; cat /proc/sys/kernel/random/boot_id >/dev/null 2>&1; ls /tmp\n")).out, "left\n");
  EXPECT_EQ(run(request("ls /tmp\n")).out, "");
}

TEST_F(Runtimes, WithoutOneTheRequestIsStartedColdAndAPolicyOfItsOwnIsNeverServedByAnothers) {
  EXPECT_EQ(run(request("echo warm\n")).out, "cold\n");
  park(1);
  Policy other = policy_;
  other.limits.open_files = 64;
  auto report = launcher_->run(other, request("echo warm\n"));
  ASSERT_TRUE(report.ok());
  EXPECT_EQ(report.value().out, "cold\n");
  EXPECT_EQ(run(request("echo warm\n")).out, "warm\n");
}

// What becomes of long output is the request's own: it is minded out here, and nothing of a cell is made from it.
TEST_F(Runtimes, AreServedWhateverTheRequestSaysOfLongOutput) {
  policy_.limits.output = Bytes{1000};
  const std::string flood = "i=0; while [ $i -lt 200 ]; do echo 0123456789; i=$((i+1)); done; exec >&-; sleep 0.3; exit 3\n";
  for (OnOutput parked : {OnOutput::kKill, OnOutput::kTruncate})
    for (OnOutput asked : {OnOutput::kKill, OnOutput::kTruncate}) {
      policy_.on_output = parked;
      park(1);
      policy_.on_output = asked;
      ASSERT_EQ(launcher_->parked(policy_, *runtime_), 1u);
      for (bool warm : {true, false}) {
        Request r = request(flood);
        r.argv = {"/bin/sh", "/work/main.sh"};
        if (!warm) r.runtime = nullptr;
        Report report = run(std::move(r));
        EXPECT_EQ(exit_reason(report), asked == OnOutput::kKill ? "output" : "exited") << describe(report);
        EXPECT_TRUE(asked == OnOutput::kKill || report.verdict.exit_code == 3) << describe(report);
        EXPECT_EQ(report.out.size(), 1000u);
        EXPECT_TRUE(!warm || launcher_->parked(policy_, *runtime_) == 0) << "it was served by the one that waited";
      }
      ASSERT_TRUE(launcher_->park(policy_, runtime_, 0).ok());
    }
}

// Something was mounted on the host since: who waits shows what it had, and the next request will not be given one. As an
// ordinary user nothing can be mounted, and the one that waits is given.
TEST_F(Runtimes, OneThatNobodyWillBeGivenDoesNotCount) {
  TempDir dir;
  pid_t child = ::fork();
  if (child == 0) {
    // A mount table of its own, which nobody else changes.
    if (::geteuid() == 0 && (::unshare(CLONE_NEWNS) != 0 || ::mount(nullptr, "/", nullptr, MS_REC | MS_PRIVATE, nullptr) != 0)) ::_exit(100);
    auto made = Launcher::create();
    if (!made.ok()) ::_exit(101);
    launcher_ = std::move(made).value();
    park(1);
    const bool mounted = ::mount("tmpfs", dir.path().c_str(), "tmpfs", 0, nullptr) == 0;
    std::this_thread::sleep_for(std::chrono::milliseconds(100));  // it is not looked at for every request
    const std::size_t counted = launcher_->parked(policy_, *runtime_);
    const bool given = run(request("echo warm\n")).out == "warm\n";
    launcher_.reset();
    if (mounted != (::geteuid() == 0)) ::_exit(102);
    ::_exit(counted == (given ? 1u : 0u) ? 0 : 103);
  }
  int status = -1;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0) << WEXITSTATUS(status);
}

TEST_F(Runtimes, ClocksBeginWithTheRequest) {
  policy_.limits.wall = std::chrono::seconds(1);
  park(1);
  auto until = std::chrono::steady_clock::now() + std::chrono::milliseconds(1300);
  while (std::chrono::steady_clock::now() < until) ASSERT_TRUE(launcher_->step(std::chrono::milliseconds(50)).ok());
  Report in_time = run(request("echo in time\n"));
  EXPECT_EQ(in_time.out, "in time\n") << describe(in_time);
  EXPECT_LT(in_time.duration, std::chrono::milliseconds(900));
  park(1);
  EXPECT_EQ(exit_reason(run(request("sleep 5\n"))), "timeout_wall");
}

TEST_F(Runtimes, HaveTheSameWalls) {
  park(1);
  Report report = run(request("grep -E '^(Seccomp|NoNewPrivs|CapEff)' /proc/self/status; cat /etc/shadow\n"));
  EXPECT_NE(report.out.find("Seccomp:\t2"), std::string::npos) << describe(report);
  EXPECT_NE(report.out.find("NoNewPrivs:\t1"), std::string::npos);
  EXPECT_NE(report.out.find("CapEff:\t0000000000000000"), std::string::npos);
  EXPECT_NE(report.verdict.exit_code, 0);
  EXPECT_EQ(layer_status(report, Layer::kSeccomp), LayerStatus::kFull);
}

TEST_F(Runtimes, OneThatDoesNotStayIsNotStartedForEver) {
  auto gone = std::make_shared<Runtime>();
  gone->argv = {"/bin/false"};
  ASSERT_TRUE(launcher_->park(policy_, gone, 1).ok());
  auto until = std::chrono::steady_clock::now() + std::chrono::milliseconds(700);
  int calm = 0;
  while (std::chrono::steady_clock::now() < until) {
    auto before = std::chrono::steady_clock::now();
    ASSERT_TRUE(launcher_->step(std::chrono::milliseconds(50)).ok());
    calm += std::chrono::steady_clock::now() - before > std::chrono::milliseconds(40) ? 1 : 0;
  }
  EXPECT_GT(calm, 5);
  EXPECT_EQ(launcher_->parked(policy_, *gone), 0u);
  Request r = request("echo warm\n");
  r.runtime = gone;
  EXPECT_EQ(run(std::move(r)).out, "cold\n");
}

TEST_F(Runtimes, OneThatLeavesAfterItWasReadyIsNotStartedForEver) {
  auto leaves = std::make_shared<Runtime>();
  leaves->argv = {"/bin/sh", "-c", "printf '\\000'"};
  ASSERT_TRUE(launcher_->park(policy_, leaves, 1).ok());
  int steps = 0;
  for (auto until = std::chrono::steady_clock::now() + std::chrono::seconds(2); std::chrono::steady_clock::now() < until; ++steps)
    ASSERT_TRUE(launcher_->step(std::chrono::milliseconds(50)).ok());
  EXPECT_LT(steps, 300);
  EXPECT_EQ(launcher_->parked(policy_, *leaves), 0u);
}

TEST_F(Runtimes, OneThatIsMissingIsAnErrorOfNobody) {
  auto missing = std::make_shared<Runtime>();
  missing->argv = {"/usr/bin/no-such-runtime"};
  ASSERT_TRUE(launcher_->park(policy_, missing, 1).ok());
  for (int i = 0; i < 20; ++i) ASSERT_TRUE(launcher_->step(std::chrono::milliseconds(20)).ok());
  EXPECT_EQ(launcher_->parked(policy_, *missing), 0u);
}

}  // namespace
}  // namespace hotcell::testing
