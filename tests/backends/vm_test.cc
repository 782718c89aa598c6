// What only a machine has: a kernel of its own, a snapshot that many start from, a guest that may fail.
#include "backends/vm.h"

#include <gtest/gtest.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/utsname.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <ctime>

#include "backends/tools.h"
#include "base/strings.h"
#include "support/leak_check.h"
#include "sys/file.h"

namespace hotcell {
namespace {

class Vm : public testing::LeakCheck {
 protected:
  void SetUp() override {
    LeakCheck::SetUp();
    auto opened = backends::open_vm({});
    ASSERT_TRUE(opened.ok()) << opened.error().message;
    launcher_ = std::move(opened).value();
    policy_ = default_policy();
    policy_.limits.wall = std::chrono::seconds(60);
  }
  void TearDown() override {
    launcher_.reset();
    LeakCheck::TearDown();
  }
  Report shell(std::string script, Request r = {}) {
    r.argv = {"/bin/sh", "-c", std::move(script)};
    auto report = launcher_->run(policy_, std::move(r));
    EXPECT_TRUE(report.ok()) << (report.ok() ? "" : report.error().message);
    return report.ok() ? std::move(report).value() : Report{};
  }
  static std::vector<std::string> states() {
    std::vector<std::string> out;
    auto names = sys::list_dir(backends::machine_cache().c_str());
    if (!names.ok()) return out;
    for (const auto& name : names.value())
      if (name.ends_with(".state")) out.push_back(cat(backends::machine_cache(), "/", name));
    std::sort(out.begin(), out.end());
    return out;
  }

  std::unique_ptr<Launcher> launcher_;
  Policy policy_;
};

TEST_F(Vm, AKernelOfItsOwnAnswers) {
  utsname host{};
  ::uname(&host);
  auto r = shell("uname -r; cat /proc/sys/kernel/random/boot_id; hostname; cat /proc/self/cgroup");
  auto lines = split(r.out, '\n');
  ASSERT_GE(lines.size(), 4u) << r.err;
  EXPECT_NE(lines[0], host.release);
  EXPECT_NE(lines[1], trim(sys::read_file("/proc/sys/kernel/random/boot_id").value()));
  EXPECT_EQ(lines[2], "cell");
  EXPECT_EQ(lines[3], "0::/") << "cgroup v2 and nothing of its parents";
}

TEST_F(Vm, GuestsOfOneSnapshotDifferInTimeAndRandomNumbers) {
  const std::string script = "od -An -N16 -tx1 /dev/urandom; date +%s";
  auto one = shell(script);
  auto before = states();
  auto other = shell(script);
  EXPECT_EQ(states(), before) << "the second came from the same file";
  auto a = split(one.out, '\n'), b = split(other.out, '\n');
  ASSERT_GE(a.size(), 2u) << one.err;
  ASSERT_GE(b.size(), 2u) << other.err;
  EXPECT_NE(a[0], b[0]);
  for (const auto& at : {std::string(a[1]), std::string(b[1])}) EXPECT_LT(std::abs(std::strtoll(at.c_str(), nullptr, 10) - static_cast<long long>(::time(nullptr))), 60) << at;
}

// A cache of its own, empty at first.
class OwnCache {
 public:
  OwnCache() {
    if (const char* before = ::getenv("XDG_CACHE_HOME")) kept_ = before;
    if (::mkdtemp(place_) != nullptr) ::setenv("XDG_CACHE_HOME", place_, 1);
  }
  ~OwnCache() {
    if (auto names = sys::list_dir(cat(place_, "/hotcell/vm").c_str()); names.ok())
      for (const auto& name : names.value()) ::unlink(cat(place_, "/hotcell/vm/", name).c_str());
    for (auto below : {"/hotcell/vm", "/hotcell", ""}) ::rmdir(cat(place_, below).c_str());
    if (kept_.empty()) ::unsetenv("XDG_CACHE_HOME");
    else ::setenv("XDG_CACHE_HOME", kept_.c_str(), 1);
  }
  const char* place() const { return place_; }

 private:
  char place_[40] = "/tmp/hotcell-vm-cache.XXXXXX";
  std::string kept_;
};

TEST_F(Vm, ADamagedSnapshotIsAnErrorOfOursAndMadeAnew) {
  OwnCache cache;
  ASSERT_EQ(shell("true").verdict.exit_code, 0);
  ASSERT_EQ(states().size(), 1u);
  for (const auto& path : states()) {
    ASSERT_EQ(::unlink(path.c_str()), 0);
    ASSERT_TRUE(backends::keep_file(path, "no state at all", 0444).ok());
  }
  Request request;
  request.argv = {"/bin/true"};
  auto report = launcher_->run(policy_, std::move(request));
  ASSERT_FALSE(report.ok()) << "never a verdict of the program";
  EXPECT_NE(report.error().message.find("the machine ended"), std::string::npos) << report.error().message;
  EXPECT_EQ(shell("exit 5").verdict.exit_code, 5);
}

TEST_F(Vm, LimitsAreThoseOfTheGuestAndAreTold) {
  policy_.limits.processes = 4;
  auto r = shell("for i in 1 2 3 4 5 6 7 8; do sleep 20 & done; wait");
  EXPECT_EQ(r.verdict.reason, ExitReason::kProcesses) << to_string(r.verdict.reason) << r.err;
  ASSERT_NE(r.enforcement.find(Layer::kProcesses), nullptr);
  EXPECT_EQ(r.enforcement.find(Layer::kProcesses)->status, LayerStatus::kFull);
  auto full = shell("head -c 200000000 /dev/zero > /tmp/large");
  EXPECT_NE(full.verdict.exit_code, 0);
  EXPECT_EQ(full.verdict.reason, ExitReason::kDisk) << to_string(full.verdict.reason) << full.err;
}

TEST_F(Vm, NothingOfTheMachineIsInReach) {
  auto r = shell("ls /dev; ls -d /sys /root /boot /modules /cg /init 2>/dev/null; ls /proc | grep -c '^[0-9]'; cat /proc/1/comm; cat /proc/kallsyms | head -c 1; echo x > /proc/sys/kernel/core_pattern");
  EXPECT_EQ(r.out.find("vport"), std::string::npos) << r.out;
  for (auto hidden : {"/sys", "/root", "/boot", "/modules", "/cg", "/init", "mem\n", "kmsg", "hvc"}) EXPECT_EQ(r.out.find(hidden), std::string::npos) << hidden << " in " << r.out;
  EXPECT_NE(r.err.find("core_pattern"), std::string::npos) << r.err;
  // What is shown to the machine for us is no part of the view.
  auto cache = shell(cat("ls ", backends::machine_cache()));
  EXPECT_EQ(cache.out, "");
}

TEST_F(Vm, GrantsAreWhatTheyAreInACell) {
  char place[] = "/var/tmp/hotcell-vm.XXXXXX";
  ASSERT_NE(::mkdtemp(place), nullptr);
  std::string folder = place;
  for (auto name : {"/read", "/write"}) {
    ASSERT_EQ(::mkdir(cat(folder, name).c_str(), 0755), 0);
    ASSERT_TRUE(backends::keep_file(cat(folder, name, "/f"), "given", 0644).ok());
  }
  policy_.filesystem.grants = {{cat(folder, "/read"), Access::kRead, "--read"}, {cat(folder, "/write"), Access::kWrite, "--write"}};
  auto r = shell(cat("cd ", folder, "; cat read/f write/f; echo new > write/g; echo no > read/g; echo no > other"));
  EXPECT_EQ(r.out, "givengiven") << r.err;
  auto written = sys::read_file(cat(folder, "/write/g").c_str());
  EXPECT_TRUE(written.ok() && written.value() == "new\n") << r.err;
  EXPECT_NE(::access(cat(folder, "/read/g").c_str(), F_OK), 0);
  EXPECT_NE(::access(cat(folder, "/other").c_str(), F_OK), 0);
  for (auto name : {"/read/f", "/write/f", "/write/g", "/read", "/write", ""}) ::remove(cat(folder, name).c_str());
}

TEST_F(Vm, StrictWritesNowhere) {
  policy_ = strict_policy();
  policy_.limits.processes = 8;
  policy_.limits.wall = std::chrono::seconds(60);
  auto r = shell("for d in /work /tmp /dev/shm / /usr /etc; do (echo x > $d/x) 2>/dev/null && echo wrote $d; done; echo end");
  EXPECT_EQ(r.out, "end\n") << r.err;
}

TEST_F(Vm, WhatCannotBeRunSaysSo) {
  Request request;
  request.argv = {"no-such-program"};
  auto report = launcher_->run(policy_, std::move(request));
  ASSERT_TRUE(report.ok()) << report.error().message;
  EXPECT_EQ(report.value().verdict.exit_code, 127);
  EXPECT_NE(report.value().err.find("no-such-program"), std::string::npos);
}

TEST_F(Vm, ManyBytesGoThroughBothWays) {
  std::string bytes;
  for (int i = 0; bytes.size() < (600u << 10); ++i) bytes += cat(i, " ");
  Request request;
  request.stdin_source = StdinBytes{bytes};
  auto r = shell("cat", std::move(request));
  EXPECT_EQ(r.out.size(), bytes.size());
  EXPECT_EQ(r.out, bytes);
}

TEST_F(Vm, ALayerItDoesNotHaveIsFatalWhereItIsRequired) {
  policy_.required = {Layer::kLandlock};
  Request request;
  request.argv = {"/bin/true"};
  auto refused = launcher_->run(policy_, std::move(request));
  ASSERT_FALSE(refused.ok());
  EXPECT_NE(refused.error().message.find("landlock"), std::string::npos) << refused.error().message;
  policy_.required = {Layer::kSeccomp, Layer::kMemory, Layer::kProcesses, Layer::kRootfs};
  Request again;
  again.argv = {"/bin/true"};
  auto ran = launcher_->run(policy_, std::move(again));
  EXPECT_TRUE(ran.ok()) << ran.error().message;
}

TEST(VmOpen, ACacheThatOthersCanWriteIsNotUsed) {
  OwnCache cache;
  std::string folder = cat(cache.place(), "/hotcell");
  ASSERT_EQ(::mkdir(folder.c_str(), 0777), 0);
  ASSERT_EQ(::chmod(folder.c_str(), 0777), 0);
  auto image = backends::machine_image(backends::MakeImage::kYes);
  ASSERT_FALSE(image.ok());
  EXPECT_NE(image.error().message.find("only we can write"), std::string::npos) << image.error().message;
}

}  // namespace
}  // namespace hotcell
