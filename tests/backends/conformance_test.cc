// The same for every backend that works here: how programs end, what goes in and out, what is limited, what is denied.
#include <gtest/gtest.h>

#include <arpa/inet.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <optional>

#include "backends/engines.h"
#include "backends/probe.h"
#include "backends/tool_launcher.h"
#include "base/source_folder_testing.h"
#include "base/strings.h"
#include "hotcell/mode.h"
#include "support/cells.h"
#include "support/leak_check.h"
#include "sys/fd.h"
#include "sys/file.h"

namespace hotcell {
namespace {

// What must work on this machine. An ordinary user has fewer: the others say that they need root.
std::vector<std::string> always_here() {
  if (::geteuid() == 0) return {"native", "landlock", "bwrap", "firejail", "nspawn", "crun", "runc", "runsc", "runsc-warm", "docker", "podman", "lxc", "codex", "vm", "basic", "none"};
  return {"native", "landlock", "bwrap", "codex", "vm", "basic", "none"};
}
// And what Debian does not package, where somebody has installed it.
std::vector<std::string> expected_here() {
  auto out = always_here();
  if (!backends::find_tool("nsjail").empty()) out.emplace_back("nsjail");
  return out;
}
bool walls(const std::string& name) { return name != "basic" && name != "none"; }

class Conformance : public testing::LeakCheck, public ::testing::WithParamInterface<std::string> {
 protected:
  void SetUp() override {
    backends::Settings settings;
    if (GetParam() == "docker" || GetParam() == "podman") settings = testing::engine_settings().of(GetParam());
    LeakCheck::SetUp();
    auto opened = backends::open_backend(backend(), {}, {{}, true, settings});
    ASSERT_TRUE(opened.ok()) << opened.error().message;
    launcher_ = std::move(opened).value();
    policy_ = default_policy();
    policy_.limits.wall = std::chrono::seconds(60);
    policy_.limits.processes = 32;
  }
  void TearDown() override {
    launcher_.reset();
    LeakCheck::TearDown();
  }
  bool warm() const { return GetParam().ends_with("-warm"); }
  std::string backend() const { return warm() ? GetParam().substr(0, GetParam().rfind('-')) : GetParam(); }
  // -warm: every request finds a sandbox that was started before it.
  void start_ahead() {
    if (!warm()) return;
    auto parked = launcher_->park(policy_, 1);
    ASSERT_TRUE(parked.ok()) << parked.error().message;
    for (int i = 0; i < 6000 && launcher_->parked(policy_) == 0; ++i) ASSERT_TRUE(launcher_->step(std::chrono::milliseconds(10)).ok());
    ASSERT_EQ(launcher_->parked(policy_), 1u) << "no sandbox became ready";
  }
  void no_more_ahead() {
    if (!warm()) return;
    EXPECT_TRUE(launcher_->park(policy_, 0).ok());
  }
  Report run(std::vector<std::string> argv, Request r = {}) {
    r.argv = std::move(argv);
    start_ahead();
    auto report = launcher_->run(policy_, std::move(r));
    no_more_ahead();
    EXPECT_TRUE(report.ok()) << (report.ok() ? "" : report.error().message);
    return report.ok() ? std::move(report).value() : Report{};
  }
  Report shell(std::string script, Request r = {}) { return run({"/bin/sh", "-c", std::move(script)}, std::move(r)); }

  std::unique_ptr<Launcher> launcher_;
  Policy policy_;
};

TEST_P(Conformance, ExitCodesAndOutput) {
  auto r = shell("echo out; echo err >&2; exit 7");
  EXPECT_EQ(r.verdict.exit_code, 7);
  EXPECT_EQ(r.verdict.reason, ExitReason::kExited);
  EXPECT_EQ(r.out, "out\n");
  EXPECT_EQ(r.err, "err\n");
  EXPECT_EQ(r.enforcement.backend, backend());
}

TEST_P(Conformance, SignalsAreTold) {
  auto r = shell("kill -TERM $$; sleep 5");
  EXPECT_EQ(r.verdict.signal, SIGTERM) << r.err;
  EXPECT_EQ(r.verdict.reason, ExitReason::kSignal);
  EXPECT_EQ(r.err, "");
}

TEST_P(Conformance, AnExitCodeIsNoSignalOfThatNumber) {
  for (int code : {129, 137, 159, 192}) {
    auto r = shell(cat("exit ", code));
    EXPECT_EQ(r.verdict.exit_code, code) << to_string(r.verdict.reason);
    EXPECT_EQ(r.verdict.reason, ExitReason::kExited);
    EXPECT_FALSE(r.verdict.signal);
  }
}

TEST_P(Conformance, StrictWritesNowhere) {
  policy_ = strict_policy();
  policy_.limits.wall = std::chrono::seconds(60);
  // Where there is no namespace the kernel counts all processes of an ordinary user.
  if (::geteuid() != 0 && (GetParam() == "landlock" || !walls(GetParam()))) policy_.limits.processes = 64;
  Request request;
  request.argv = {"/bin/sh", "-c", "for d in . /work /tmp /dev/shm /var/tmp /run; do if echo x 2>/dev/null > $d/f; then echo $d; fi; done; echo over"};
  // What is no wall would write into this machine's own folders.
  if (!walls(GetParam())) request.argv = {"/bin/true"};
  auto report = launcher_->run(policy_, std::move(request));
  if (!report.ok()) {
    EXPECT_NE(report.error().message.find("cannot hold this policy: files"), std::string::npos) << report.error().message;
    return;
  }
  if (!walls(GetParam())) {
    // It runs only where that was waived by name, and says that there is no such wall.
    const auto* root = report.value().enforcement.find(Layer::kRootfs);
    EXPECT_TRUE(root != nullptr && root->status == LayerStatus::kNone) << report.value().out;
    return;
  }
  EXPECT_EQ(report.value().out, "over\n") << report.value().err;
}

TEST_P(Conformance, AToolDoesNotShareTheProgramsFewFilesAndProcesses) {
  policy_ = strict_policy();
  policy_.filesystem.writable_scratch = true;  // which not all can take away
  policy_.limits.wall = std::chrono::seconds(60);
  policy_.limits.open_files = 16;
  if (::geteuid() != 0 && (GetParam() == "landlock" || !walls(GetParam()))) policy_.limits.processes = 64;
  auto r = shell("ulimit -n");
  EXPECT_EQ(r.out, "16\n") << r.err;
  EXPECT_EQ(r.verdict.exit_code, 0);
}

TEST_P(Conformance, AnOrdinaryUsersOwnProcessesAreNotTheProgramsOwn) {
  if (GetParam() != "bwrap" && GetParam() != "native") return;
  policy_.limits.processes = 3;
  auto all = shell("sleep 0.2 & sleep 0.2 & wait; echo over");
  EXPECT_EQ(all.out, "over\n") << all.err;
  auto r = shell("for i in 1 2 3 4 5 6 7 8; do sleep 0.5 & done; wait; echo over");
  EXPECT_NE(r.err.find("ork"), std::string::npos) << "nine are more than three: " << r.out << r.err;
}

TEST_P(Conformance, SharedMemoryIsMemoryWhateverTheDiskMayHold) {
  policy_.limits.memory = 64_MiB;
  policy_.limits.disk = 600_MiB;
  auto r = run({"/usr/bin/python3", "-I", "-c", "import mmap,sys\nm=mmap.mmap(-1, 500 << 20)\nfor i in range(500):\n  m[i << 20:(i + 1) << 20] = b'x' * (1 << 20)\n  print(i + 1, flush=True)"});
  std::string_view lines = trim(r.out);
  auto got = parse_u64(lines.substr(lines.rfind('\n') == lines.npos ? 0 : lines.rfind('\n') + 1)).value_or(0);
  const auto* memory = r.enforcement.find(Layer::kMemory);
  ASSERT_NE(memory, nullptr);
  EXPECT_LT(got, 300u) << "of 64 MiB, " << memory->detail;
  if (memory->status == LayerStatus::kFull) {
    EXPECT_LT(got, 64u + 24) << memory->detail;
  }
}

TEST_P(Conformance, StandardInputArgumentsAndVariables) {
  Request request;
  request.stdin_source = StdinBytes{"from stdin"};
  request.env["GREETING"] = "a b'c";
  auto r = run({"/bin/sh", "-c", "cat; printf ' %s|%s|%s' \"$1\" \"$GREETING\" \"$HOTCELL_SECRET\"", "sh", "x y\"z"}, std::move(request));
  EXPECT_EQ(r.out, "from stdin x y\"z|a b'c|");
}

TEST_P(Conformance, FilesGoInAndComeOut) {
  Request request;
  request.files.push_back({"in.txt", std::string("given"), 0644});
  request.outputs = {"out.txt"};
  auto r = shell("cat in.txt > out.txt; printf more >> out.txt", std::move(request));
  ASSERT_EQ(r.files.size(), 1u) << r.err;
  EXPECT_EQ(r.files[0].bytes, "givenmore");
}

TEST_P(Conformance, TheDeadlineEndsDeafGrandchildren) {
  policy_.limits.wall = std::chrono::seconds(4);
  auto r = shell("trap '' TERM HUP INT; (setsid sh -c 'trap \"\" TERM HUP; sleep 300' &) ; sleep 300");
  EXPECT_EQ(r.verdict.reason, ExitReason::kTimeoutWall);
}

// The fixture looks for what is left; a tool that is killed while it sets up cannot clean up after itself.
TEST_P(Conformance, ACancelAtAnyMomentLeavesNothing) {
  shell("true");  // whatever is tried once has been
  for (int ms : {0, 3, 10, 25, 60, 120}) {
    Request r;
    r.argv = {"/bin/sleep", "300"};
    start_ahead();
    std::optional<Report> report;
    auto id = launcher_->start(policy_, std::move(r), [&](RunId, Result<Report> got) {
      ASSERT_TRUE(got.ok()) << got.error().message;
      report = std::move(got).value();
    });
    ASSERT_TRUE(id.ok()) << id.error().message;
    auto until = std::chrono::steady_clock::now() + std::chrono::milliseconds(ms);
    while (std::chrono::steady_clock::now() < until) ASSERT_TRUE(launcher_->step(std::chrono::milliseconds(1)).ok());
    launcher_->cancel(id.value());
    for (int i = 0; i < 3000 && !report; ++i) ASSERT_TRUE(launcher_->step(std::chrono::milliseconds(10)).ok());
    ASSERT_TRUE(report) << "after " << ms << " ms";
    EXPECT_EQ(report->verdict.reason, ExitReason::kCancelled) << "after " << ms << " ms";
    no_more_ahead();
  }
}

TEST_P(Conformance, PausedItStandsStillAndResumedItGoesOn) {
  std::string seen;
  std::optional<Report> report;
  Request r;
  r.argv = {"/bin/sh", "-c", "while :; do echo x; sleep 0.05; done"};
  r.on_output = [&](Stream, std::string_view text) { seen += text; };
  start_ahead();
  auto id = launcher_->start(policy_, std::move(r), [&](RunId, Result<Report> got) {
    ASSERT_TRUE(got.ok()) << got.error().message;
    report = std::move(got).value();
  });
  ASSERT_TRUE(id.ok()) << id.error().message;
  auto go = [&](std::chrono::milliseconds time) {
    for (auto until = std::chrono::steady_clock::now() + time; std::chrono::steady_clock::now() < until && !report;) ASSERT_TRUE(launcher_->step(std::chrono::milliseconds(10)).ok());
  };
  for (int i = 0; i < 600 && seen.empty(); ++i) go(std::chrono::milliseconds(50));
  ASSERT_FALSE(seen.empty());
  auto frozen = launcher_->freeze(id.value(), true);
  if (::geteuid() == 0) {
    ASSERT_TRUE(frozen.ok()) << frozen.error().message;
    go(std::chrono::milliseconds(500));
    auto before = seen.size();
    go(std::chrono::milliseconds(700));
    EXPECT_EQ(seen.size(), before);
    ASSERT_TRUE(launcher_->freeze(id.value(), false).ok());
    for (int i = 0; i < 200 && seen.size() == before; ++i) go(std::chrono::milliseconds(50));
    EXPECT_GT(seen.size(), before);
  } else {
    EXPECT_FALSE(frozen.ok()) << "without a cgroup there is nothing to stop it with, and that is said";
  }
  launcher_->cancel(id.value());
  go(std::chrono::seconds(30));
  ASSERT_TRUE(report);
  EXPECT_EQ(report->verdict.reason, ExitReason::kCancelled);
  no_more_ahead();
}

TEST_P(Conformance, WhatWasUsedIsTold) {
  auto r = run({"/usr/bin/python3", "-I", "-c", "import time\nx = b'x' * (48 << 20)\nend = time.process_time() + 0.4\nwhile time.process_time() < end: pass\nprint(len(x))"});
  EXPECT_EQ(r.verdict.exit_code, 0) << r.err;
  EXPECT_GE(r.usage.cpu, std::chrono::milliseconds(300));
  EXPECT_LT(r.usage.cpu, std::chrono::seconds(30));
  EXPECT_GE(r.usage.memory_peak.n, 48u << 20);
  EXPECT_GT(r.duration, std::chrono::milliseconds(300));
}

TEST_P(Conformance, OutputIsBounded) {
  policy_.limits.output = 64_KiB;
  auto r = shell("yes | head -c 100000000");
  EXPECT_EQ(r.verdict.reason, ExitReason::kOutput);
  EXPECT_LE(r.out.size(), 64u << 10);
}

TEST_P(Conformance, MemoryIsLimited) {
  policy_.limits.memory = 64_MiB;
  auto control = run({"/usr/bin/python3", "-I", "-c", "x = b'x' * (8 << 20); print(len(x))"});
  EXPECT_EQ(control.verdict.exit_code, 0) << control.err;
  auto r = run({"/usr/bin/python3", "-I", "-c", "x = b'x' * (900 << 20); print(len(x))"});
  EXPECT_NE(r.verdict.exit_code, 0);
  // Where there is no cgroup to kill it the allocation fails.
  bool refused = r.err.find("MemoryError") != std::string::npos;
  EXPECT_TRUE(r.verdict.reason == ExitReason::kMemory || refused) << to_string(r.verdict.reason) << " " << r.err;
}

TEST_P(Conformance, CpuTimeIsLimited) {
  policy_.limits.cpu_time = std::chrono::seconds(2);
  auto r = shell("while :; do :; done");
  EXPECT_EQ(r.verdict.reason, ExitReason::kTimeoutCpu) << to_string(r.verdict.reason);
}

TEST_P(Conformance, AWorkspaceThatGrowsTooLargeEndsIt) {
  policy_.limits.disk = 8_MiB;
  auto r = shell("i=0; while [ $i -lt 40 ]; do head -c 1000000 /dev/zero > f$i || exit 9; i=$((i+1)); sleep 0.2; done");
  if (GetParam() == "landlock") {
    EXPECT_EQ(r.verdict.exit_code, 0) << "it limits single files only";
    ASSERT_NE(r.enforcement.find(Layer::kDisk), nullptr);
    EXPECT_EQ(r.enforcement.find(Layer::kDisk)->status, LayerStatus::kPartial) << "and says so";
  } else {
    EXPECT_EQ(r.verdict.reason, ExitReason::kDisk) << to_string(r.verdict.reason) << r.err;
  }
}

TEST_P(Conformance, NothingOfTheHostIsInReach) {
  if (!walls(GetParam())) {
    // The control: without walls the same commands succeed.
    EXPECT_EQ(shell("cat /proc/sys/kernel/osrelease >/dev/null && ls /var/lib/dpkg >/dev/null").verdict.exit_code, 0);
    return;
  }
  auto r = shell("cat /var/lib/dpkg/status 2>/dev/null | head -c 10");
  EXPECT_EQ(r.out, "");
  auto shadow = shell("cat /etc/shadow");
  EXPECT_EQ(shadow.out, "");
}

TEST_P(Conformance, NothingOfTheHostCanBeWritten) {
  if (!walls(GetParam())) {
    // The control, without touching anything: the places are there to be written by whoever may.
    EXPECT_EQ(shell("[ -d /etc ] && [ -d /usr ] && touch here").verdict.exit_code, 0);
    return;
  }
  auto r = shell("for f in / /etc /usr /opt; do if [ -w $f ] && touch $f/.hotcell-conformance 2>/dev/null; then echo $f; fi; done; touch here && echo workspace");
  // A root of its own that goes with the run (codex has one in memory) is nobody's but the program's.
  std::string out = r.out.starts_with("/\n") ? r.out.substr(2) : r.out;
  EXPECT_EQ(out, "workspace\n") << r.err;
  for (auto path : {"/.hotcell-conformance", "/etc/.hotcell-conformance", "/usr/.hotcell-conformance", "/opt/.hotcell-conformance"})
    EXPECT_NE(::unlink(path), 0) << path << " was written on the host";
}

// Also where something of ours would stand: /var/tmp is a link in a cell, and parts of /etc are made.
TEST_P(Conformance, WhatIsGrantedIsShownWhereItLies) {
  char folder[] = "/var/tmp/hotcell-granted-XXXXXX";
  ASSERT_NE(::mkdtemp(folder), nullptr);
  const std::string ro = cat(folder, "/ro"), rw = cat(folder, "/rw");
  for (const auto& path : {std::string(folder), ro, rw}) {
    ::mkdir(path.c_str(), 0755);
    ::chmod(path.c_str(), 0777);
  }
  testing::write_text(cat(ro, "/text"), "shown\n");
  policy_.filesystem.grants = {{ro, Access::kRead, "--read"}, {rw, Access::kWrite, "--write"}, {"/etc", Access::kRead, "--read"}};
  Request request;
  request.argv = {"/bin/sh", "-c", cat("cat ", ro, "/text && echo made > ", rw, "/new && [ -d /etc/init.d ] && echo all")};
  auto report = launcher_->run(policy_, std::move(request));
  const std::string made = sys::read_file(cat(rw, "/new").c_str()).value_or("");
  policy_.filesystem.grants.pop_back();
  auto denied = walls(GetParam()) && GetParam() != "firejail" ? shell(cat("(echo x > ", ro, "/other) 2>/dev/null || echo denied")).out : std::string("denied\n");
  std::filesystem::remove_all(folder);
  if (GetParam() == "firejail") {
    ASSERT_FALSE(report.ok());
    EXPECT_NE(report.error().message.find("--waive files"), std::string::npos) << report.error().message;
    return;
  }
  ASSERT_TRUE(report.ok()) << report.error().message;
  EXPECT_EQ(report.value().out, "shown\nall\n") << report.value().err;
  EXPECT_EQ(made, "made\n");
  EXPECT_EQ(denied, "denied\n");
}

// What is granted may be somebody's root file system. Landlock has rules for files and none for devices, and firejail shows no path.
TEST_P(Conformance, DevicesInWhatIsGrantedCannotBeOpened) {
  char folder[] = "/tmp/hotcell-devices-XXXXXX";
  ASSERT_NE(::mkdtemp(folder), nullptr);
  const std::string node = cat(folder, "/kmsg");
  if (::mknod(node.c_str(), S_IFCHR | 0666, makedev(1, 11)) != 0) {
    EXPECT_NE(::geteuid(), 0u) << "root can make one";
    ::rmdir(folder);
    return;
  }
  ::chmod(folder, 0777);
  ::chmod(node.c_str(), 0666);
  const bool outside = sys::Fd(::open(node.c_str(), O_WRONLY | O_CLOEXEC)).valid();
  const bool rules = walls(GetParam()) && GetParam() != "landlock";
  for (auto access : {Access::kRead, Access::kWrite}) {
    if (GetParam() == "firejail" || (GetParam() == "codex" && access == Access::kWrite)) continue;  // codex makes files of its own in there
    policy_.filesystem.grants = {{folder, access, "--grant"}};
    auto r = shell(cat("cd ", folder, " && echo *; (exec 3>", node, ") 2>/dev/null && echo opened"));
    if (rules) EXPECT_EQ(r.out, "kmsg\n") << r.err;
    else EXPECT_TRUE(access == Access::kRead || r.out.ends_with("opened\n")) << "the control: " << r.out << r.err;
  }
  std::filesystem::remove_all(folder);
  EXPECT_TRUE(outside) << "the control";
}

TEST_P(Conformance, WhatWouldUndoTheRootIsRefusedBeforeAnythingRuns) {
  if (!walls(GetParam()) || GetParam() == "firejail") {
    // Without a root of its own there is nothing to undo; firejail shows no path at all.
    EXPECT_EQ(shell("ls /proc >/dev/null").verdict.exit_code, 0);
    return;
  }
  for (auto path : {"/", "/proc", "/dev", "/dev/kvm"}) {
    policy_.filesystem.grants = {{path, Access::kWrite, "--write"}};
    Request request;
    request.argv = {"/bin/true"};
    auto report = launcher_->run(policy_, std::move(request));
    ASSERT_FALSE(report.ok()) << path;
    EXPECT_NE(report.error().message.find("cannot be granted"), std::string::npos) << report.error().message;
  }
  EXPECT_NE(::access("/.hotcell", F_OK), 0) << "made on the host, to mount something on it";
}

TEST_P(Conformance, ThereIsAFolderForTemporaryFiles) {
  auto r = shell("f=$(mktemp) && echo x > \"$f\" && cat \"$f\" && rm \"$f\"");
  EXPECT_EQ(r.out, "x\n") << r.err;
}

TEST_P(Conformance, WhatTheProgramLeavesBehindDoesNotHoldUpTheAnswer) {
  auto began = std::chrono::steady_clock::now();
  auto r = shell("(setsid sh -c 'trap \"\" TERM HUP; sleep 40' &); echo over");
  EXPECT_EQ(r.out, "over\n") << r.err;
  EXPECT_EQ(r.verdict.exit_code, 0);
  EXPECT_LT(std::chrono::steady_clock::now() - began, std::chrono::seconds(30));
}

TEST_P(Conformance, AProgramThatIsNotThereIsNotFound) {
  auto report = launcher_->run(policy_, [] { Request q; q.argv = {"/usr/bin/no-such-program"}; return q; }());
  if (!report.ok()) return;  // said before anything began
  EXPECT_NE(report.value().verdict.status(), RunStatus::kCompleted);
}

TEST_P(Conformance, TheNetworkIsOff) {
  const std::string probe = "import socket\ns=socket.socket()\ns.settimeout(3)\ntry:\n  s.connect(('127.0.0.1', PORT)); print('connected')\nexcept OSError as e: print('refused')\n";
  // A server of the host's that a program without walls reaches.
  int listener = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_in at{};
  at.sin_family = AF_INET;
  at.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  ASSERT_EQ(::bind(listener, reinterpret_cast<sockaddr*>(&at), sizeof at), 0);
  ASSERT_EQ(::listen(listener, 8), 0);
  socklen_t size = sizeof at;
  ::getsockname(listener, reinterpret_cast<sockaddr*>(&at), &size);
  std::string code = probe;
  code.replace(code.find("PORT"), 4, cat(ntohs(at.sin_port)));
  auto r = run({"/usr/bin/python3", "-I", "-c", code});
  ::close(listener);
  EXPECT_EQ(r.out == "connected\n", !walls(GetParam())) << r.out << r.err;
}

TEST_P(Conformance, WallsAreReadBackNotClaimed) {
  auto r = shell("cat /proc/self/status");
  const auto* nnp = r.enforcement.find(Layer::kNoNewPrivs);
  ASSERT_NE(nnp, nullptr);
  // gVisor's kernel has no such lines, and under Landlock alone the file is not to be read.
  bool guest = backend() == "runsc" || GetParam() == "landlock";
  EXPECT_TRUE(guest || (nnp->status == LayerStatus::kFull) == (r.out.find("NoNewPrivs:\t1") != std::string::npos)) << nnp->detail;
  const auto* seccomp = r.enforcement.find(Layer::kSeccomp);
  ASSERT_NE(seccomp, nullptr);
  EXPECT_TRUE(guest || (seccomp->status == LayerStatus::kFull) == (r.out.find("Seccomp:\t2") != std::string::npos)) << seccomp->detail;
}

INSTANTIATE_TEST_SUITE_P(Backends, Conformance, ::testing::ValuesIn(expected_here()), [](const auto& p) {
  std::string name = p.param;
  std::replace(name.begin(), name.end(), '-', '_');
  return name;
});

TEST(BackendProbe, WhatIsMissingIsSaidAndNothingWeakerRuns) {
  for (auto name : backends::names()) {
    auto p = backends::probe(name, testing::engine_settings());
    auto expected = expected_here();
    bool should = std::find(expected.begin(), expected.end(), name) != expected.end();
    EXPECT_TRUE(!should || p.works) << name << ": " << p.why;
    EXPECT_TRUE(p.works || !p.why.empty()) << name;
  }
}

TEST(BackendPolicy, WhatAToolCannotHoldIsRefusedBeforeAnythingRuns) {
  auto launcher = backends::open_backend("bwrap", {});
  ASSERT_TRUE(launcher.ok());
  Policy policy = default_policy();
  policy.filesystem.deny.push_back({"/work/.env", "--deny"});
  Request request;
  request.argv = {"/bin/true"};
  auto refused = launcher.value()->run(policy, std::move(request));
  ASSERT_FALSE(refused.ok());
  EXPECT_NE(refused.error().message.find("--waive deny"), std::string::npos) << refused.error().message;
  auto waived = backends::open_backend("bwrap", {}, {{"deny"}});
  ASSERT_TRUE(waived.ok());
  Request again;
  again.argv = {"/bin/true"};
  auto ran = waived.value()->run(policy, std::move(again));
  ASSERT_TRUE(ran.ok()) << ran.error().message;
  ASSERT_FALSE(ran.value().denials.empty());
  EXPECT_EQ(ran.value().denials[0].layer, "waiver");
}

TEST(ModeOfContext, IsHeldByTheCell) {
  auto launcher = Launcher::create({});
  ASSERT_TRUE(launcher.ok());
  auto wrote = [&](const Context& context) {
    Request request;
    request.argv = {"/bin/sh", "-c", "echo x > /work/f && cat /work/f"};
    auto report = run_in(context, *launcher.value(), default_policy(), std::move(request));
    return report.ok() && report.value().out == "x\n";
  };
  EXPECT_FALSE(wrote(Context())) << "nobody has said anything: strict";
  EXPECT_TRUE(wrote(Context().with_mode(Mode::kWorkspace)));
  EXPECT_FALSE(wrote(Context().with_mode(Mode::kWorkspace).delegated(Mode::kStrict)));
}

TEST(BackendPolicy, AToolThatFailsIsNoVerdictOfTheProgram) {
  if (::geteuid() != 0) return;  // as a caller's own uid bubblewrap finds what its caller finds
  char folder[] = "/tmp/hotcell-closed.XXXXXX";
  ASSERT_NE(::mkdtemp(folder), nullptr);  // 0700, and bubblewrap is run by another
  const std::string inside = cat(folder, "/in");
  ASSERT_EQ(::mkdir(inside.c_str(), 0755), 0);
  Policy policy = default_policy();
  policy.filesystem.grants.push_back({inside, Access::kRead, "--read"});
  auto run = [&](const char* name) {
    auto launcher = backends::open_backend(name, {});
    EXPECT_TRUE(launcher.ok());
    Request request;
    request.argv = {"/bin/ls", inside};
    return launcher.value()->run(policy, std::move(request));
  };
  auto failed = run("bwrap"), also = run("lxc");
  EXPECT_EQ(::chmod(folder, 0755), 0);
  auto shown = run("lxc");
  ::rmdir(inside.c_str());
  ::rmdir(folder);
  ASSERT_FALSE(failed.ok()) << "exit code " << failed.value().verdict.exit_code.value_or(-1);
  EXPECT_NE(failed.error().message.find("before the program was started"), std::string::npos) << failed.error().message;
  EXPECT_NE(failed.error().message.find("Permission denied"), std::string::npos) << failed.error().message;
  ASSERT_FALSE(also.ok()) << "exit code " << also.value().verdict.exit_code.value_or(-1);
  EXPECT_NE(also.error().message.find("mount"), std::string::npos) << also.error().message;
  ASSERT_TRUE(shown.ok()) << shown.error().message;
  EXPECT_EQ(shown.value().verdict.exit_code, 0) << "below /tmp, which LXC has mounted before: " << shown.value().err;
}

// They are written by tools/backend_tables, which takes its time and so is easily forgotten.
TEST(BackendTables, NameEveryBehaviour) {
  auto page = sys::read_file(source_path("docs/reference/backends.md").c_str(), 1 << 20);
  ASSERT_TRUE(page.ok()) << page.error().message;
  const auto& all = *::testing::UnitTest::GetInstance();
  std::size_t found = 0;
  for (int i = 0; i < all.total_test_suite_count(); ++i) {
    const auto* suite = all.GetTestSuite(i);
    if (!std::string_view(suite->name()).ends_with("/Conformance")) continue;
    for (int k = 0; k < suite->total_test_count(); ++k) {
      std::string words;
      for (char c : std::string_view(suite->GetTestInfo(k)->name())) {
        if (c == '/') break;
        const bool capital = c >= 'A' && c <= 'Z';
        if (capital && !words.empty()) words += ' ';
        words += capital && !words.empty() ? static_cast<char>(c + 32) : c;
      }
      EXPECT_NE(page.value().find(cat("| ", words, " |")), std::string::npos) << words << ": tools/backend_tables";
      ++found;
    }
  }
  EXPECT_GT(found, 20u);
}

TEST(BackendPolicy, ARequiredLayerThatTheToolLacksIsFatal) {
  auto launcher = backends::open_backend("bwrap", {});
  ASSERT_TRUE(launcher.ok());
  Policy policy = default_policy();
  policy.required = {Layer::kLandlock};
  Request request;
  request.argv = {"/bin/true"};
  auto refused = launcher.value()->run(policy, std::move(request));
  ASSERT_FALSE(refused.ok());
  EXPECT_NE(refused.error().message.find("landlock"), std::string::npos);
}

}  // namespace
}  // namespace hotcell
