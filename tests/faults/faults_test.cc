// Each step of making a cell is made to fail: the program must not start, the error must name the step, and nothing
// may be left behind.
#include <cerrno>

#include <signal.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "support/cells.h"
#include "support/leak_check.h"
#include "sys/fault.h"

namespace hotcell::testing {
namespace {

class Faults : public LeakCheck {
 protected:
  void TearDown() override {
    sys::arm_fault(nullptr, 0);
    LeakCheck::TearDown();
  }

  // Runs a program that would leave a mark in a granted folder, with `name` failing for the nth time it is asked.
  Result<Report> run_with_fault(const char* name, int err, int nth = 1) {
    Policy policy = default_policy();
    policy.filesystem.grants.push_back({dir_.path(), Access::kWrite, "test"});
    Request request;
    request.argv = {"/bin/sh", "-c", "echo started > " + mark()};
    sys::arm_fault(name, err, nth);
    auto made = Launcher::create();
    if (!made) return std::move(made).error();
    return made.value()->run(policy, std::move(request));
  }
  std::string mark() const { return dir_.path() + "/mark"; }
  bool started() const { return ::access(mark().c_str(), F_OK) == 0; }

  TempDir dir_;
};

int strength(LayerStatus status) { return status == LayerStatus::kFull ? 2 : status == LayerStatus::kPartial ? 1 : 0; }

// Which steps a plan has on every host.
constexpr const char* kOps[] = {"identity", "death_signal", "hostname", "loopback_up", "private_mounts", "unshare", "open_tree", "mount_attr",
                                "stage", "mkdir", "mkfile", "symlink", "move_mount", "mount_tmpfs", "mount_proc", "mount_devpts", "bind", "mask",
                                "hold_folder", "pivot_root", "read_only", "rlimit", "drop_caps", "no_new_privs", "ruleset",
                                "path_rule", "restrict", "fork", "session", "chdir", "seccomp"};

TEST_F(Faults, ControlWithoutAFaultTheProgramStarts) {
  auto report = run_with_fault(nullptr, 0);
  ASSERT_TRUE(report.ok()) << report.error().message;
  EXPECT_EQ(report.value().verdict.exit_code, 0) << report.value().err;
  EXPECT_TRUE(started());
}

TEST_F(Faults, EveryOperationOfThePlanThatFailsStopsTheProgramAndIsNamed) {
  for (const char* op : kOps) {
    SCOPED_TRACE(op);
    auto report = run_with_fault((std::string("op_") + op).c_str(), EIO);
    ASSERT_FALSE(report.ok()) << "it ran";
    EXPECT_NE(report.error().message.find(op), std::string::npos) << report.error().message;
    EXPECT_EQ(report.error().err, EIO);
    EXPECT_EQ(exit_code_of(report.error().code), 125);
    EXPECT_FALSE(started());
  }
}

// A door that cannot be made, or that nobody serves, never becomes a network that is open.
TEST_F(Faults, WithoutItsDoorACellWithAProxyDoesNotStart) {
  Policy policy = default_policy();
  policy.network.mode = NetworkMode::kProxy;
  policy.filesystem.grants.push_back({dir_.path(), Access::kWrite, "test"});
  int doors = 0;
  auto run = [&](bool served, const char* fault) -> Result<Report> {
    ::unlink(mark().c_str());
    Request request;
    request.argv = {"/bin/sh", "-c", "echo started > " + mark()};
    if (served) request.on_network = [&](int door, int dns) {
      ++doors;
      ::close(door);
      ::close(dns);
    };
    sys::arm_fault(fault, EIO, 1);
    auto made = Launcher::create();
    if (!made) return std::move(made).error();
    return made.value()->run(policy, std::move(request));
  };
  auto report = run(true, nullptr);
  ASSERT_TRUE(report.ok()) << report.error().message;
  EXPECT_TRUE(started());
  EXPECT_EQ(doors, 1);
  report = run(true, "op_door");
  ASSERT_FALSE(report.ok()) << "it ran";
  EXPECT_NE(report.error().message.find("door"), std::string::npos) << report.error().message;
  EXPECT_FALSE(started());
  report = run(false, nullptr);
  ASSERT_FALSE(report.ok()) << "it ran";
  EXPECT_EQ(report.error().code, ErrorCode::kUnsupported);
  EXPECT_FALSE(started());
}

TEST_F(Faults, TheLastOfSeveralOperationsOfOneKindCountsAsMuchAsTheFirst) {
  for (const char* op : {"move_mount", "rlimit", "path_rule", "restrict"}) {
    SCOPED_TRACE(op);
    auto report = run_with_fault((std::string("op_") + op).c_str(), EPERM, 2);
    ASSERT_FALSE(report.ok()) << "it ran";
    EXPECT_FALSE(started());
  }
}

TEST_F(Faults, EverySystemCallOfTheLauncherThatFailsStopsTheProgram) {
  for (const char* call : {"pipe", "socketpair", "clone3", "memfd", "sendmsg"}) {
    int given = 0;
    for (int nth = 1;; ++nth) {
      SCOPED_TRACE(std::string(call) + " " + std::to_string(nth));
      auto report = run_with_fault(call, ENOSYS, nth);
      bool failed = sys::fault_given();
      if (!failed) {
        // Asked for no more often than this: the run is an ordinary one.
        ASSERT_TRUE(report.ok()) << report.error().message;
        ::unlink(mark().c_str());
        break;
      }
      ++given;
      ASSERT_FALSE(report.ok()) << "it ran";
      EXPECT_FALSE(started());
      EXPECT_EQ(report.error().err, ENOSYS);
      EXPECT_FALSE(report.error().message.empty());
    }
    EXPECT_GT(given, 0) << call << " is not asked for at all";
  }
}

// Some reads only serve the report or say what this host has. Then less may be claimed, never as much as if it had been seen.
TEST_F(Faults, AFileThatCannotBeOpenedIsAnErrorOrMissingFromTheReport) {
  auto whole = run_with_fault(nullptr, 0);
  ASSERT_TRUE(whole.ok());
  ::unlink(mark().c_str());
  int given = 0, stopped = 0;
  for (int nth = 1; nth < 200; ++nth) {
    SCOPED_TRACE(nth);
    auto report = run_with_fault("open", EACCES, nth);
    if (!sys::fault_given()) break;
    ++given;
    if (!report.ok()) {
      ++stopped;
      EXPECT_FALSE(started());
      continue;
    }
    EXPECT_EQ(report.value().verdict.exit_code, 0);
    for (const auto& layer : report.value().enforcement.layers) {
      auto before = layer_status(whole.value(), layer.layer);
      EXPECT_LE(strength(layer.status), strength(before)) << to_string(layer.layer) << ": " << layer.detail;
    }
    ::unlink(mark().c_str());
  }
  EXPECT_GT(given, 3);
  EXPECT_GT(stopped, 0);
}

TEST_F(Faults, ACgroupThatCannotBeMadeIsAnError) {
  auto report = run_with_fault("cgroup_mkdir", ENOSPC);
  if (!has_cgroups()) {
    // Nothing is made there, hence nothing fails, and the report says so.
    ASSERT_TRUE(report.ok()) << report.error().message;
    EXPECT_FALSE(sys::fault_given());
    for (Layer layer : {Layer::kMemory, Layer::kCpu}) EXPECT_EQ(layer_status(report.value(), layer), LayerStatus::kPartial);
    return;
  }
  ASSERT_FALSE(report.ok());
  EXPECT_NE(report.error().message.find("cgroup"), std::string::npos) << report.error().message;
  EXPECT_FALSE(started());
}

TEST_F(Faults, ALauncherKilledInTheMiddleTakesItsCellAlong) {
  int pids[2];
  ASSERT_EQ(::pipe(pids), 0);
  pid_t child = ::fork();
  if (child == 0) {
    auto made = Launcher::create();
    if (!made) ::_exit(1);
    Request request;
    request.argv = {"/bin/sh", "-c", "echo up; sleep 60 & setsid sleep 60 & sleep 60"};
    request.on_output = [&](Stream, std::string_view) { (void)!::write(pids[1], "u", 1); };
    auto ended = made.value()->run(default_policy(), std::move(request));
    ::_exit(ended.ok() ? 2 : 3);
  }
  ::close(pids[1]);
  char up = 0;
  ASSERT_EQ(::read(pids[0], &up, 1), 1);
  ::close(pids[0]);
  // The cell's processes, by the session that the launcher's children form: init is a child of the launcher.
  std::string children = read_text("/proc/" + std::to_string(child) + "/task/" + std::to_string(child) + "/children");
  pid_t init = static_cast<pid_t>(std::stol(children));
  ASSERT_GT(init, 1);
  ASSERT_EQ(::kill(init, 0), 0);
  ::kill(child, SIGKILL);
  ::waitpid(child, nullptr, 0);
  bool gone = false;
  for (int i = 0; i < 200 && !gone; ++i) {
    std::string state = read_text("/proc/" + std::to_string(init) + "/status");
    gone = state.empty() || state.find("State:\tZ") != std::string::npos;
    ::usleep(10'000);
  }
  EXPECT_TRUE(gone) << "init outlived its launcher by two seconds";
  // What the dead launcher left of its cgroups is swept by the next one.
  auto next = Launcher::create();
  ASSERT_TRUE(next.ok());
  EXPECT_TRUE(matches("/sys/fs/cgroup/*/hotcell/" + std::to_string(child) + "-*").empty());
}

TEST_F(Faults, CancelEndsTheWholeTree) {
  auto made = Launcher::create();
  ASSERT_TRUE(made.ok());
  Launcher& l = *made.value();
  bool up = false;
  std::optional<Result<Report>> out;
  Request request;
  request.argv = {"/bin/sh", "-c", "trap '' TERM INT HUP; echo up; setsid sleep 60 & sleep 60"};
  request.on_output = [&](Stream, std::string_view) { up = true; };
  auto id = l.start(default_policy(), std::move(request), [&](RunId, Result<Report> r) { out.emplace(std::move(r)); });
  ASSERT_TRUE(id.ok());
  for (int i = 0; i < 500 && !up; ++i) ASSERT_TRUE(l.step(std::chrono::milliseconds(20)).ok());
  ASSERT_TRUE(up);
  l.cancel(id.value());
  for (int i = 0; i < 500 && !out; ++i) ASSERT_TRUE(l.step(std::chrono::milliseconds(20)).ok());
  ASSERT_TRUE(out.has_value());
  ASSERT_TRUE(out->ok());
  EXPECT_EQ(out->value().verdict.reason, ExitReason::kCancelled);
}

TEST_F(Faults, OnlyGroupsOfOurOwnPidNamespaceAreSwept) {
  auto folders = matches("/sys/fs/cgroup/memory/hotcell");
  if (!has_cgroups() || folders.empty()) {
    EXPECT_NE(::mkdir("/sys/fs/cgroup/memory/hotcell/x", 0755), 0) << "then there is something to sweep, and this must be tested";
    return;
  }
  struct stat st;
  ASSERT_EQ(::stat("/proc/self/ns/pid", &st), 0);
  // No process has this pid: the kernel's largest is 4194304.
  std::string ours = folders[0] + "/4999999-1." + std::to_string(st.st_ino) + "-0";
  std::string theirs = folders[0] + "/4999999-1." + std::to_string(st.st_ino + 1) + "-0";
  ASSERT_EQ(::mkdir(ours.c_str(), 0755), 0);
  ASSERT_EQ(::mkdir(theirs.c_str(), 0755), 0);
  EXPECT_TRUE(Launcher::create().ok());
  EXPECT_NE(::access(ours.c_str(), F_OK), 0) << "the control";
  EXPECT_EQ(::access(theirs.c_str(), F_OK), 0);
  ::rmdir(ours.c_str());
  ::rmdir(theirs.c_str());
}

}  // namespace
}  // namespace hotcell::testing
