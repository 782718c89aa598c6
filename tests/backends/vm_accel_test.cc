// KVM or emulation: what is chosen here, and the one device that the cell around a machine has. What stands in for QEMU is a program of the
// test's that answers as a guest of ours would, and only when it was told to use KVM.
#include "backends/vm_accel.h"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "backends/probe.h"
#include "backends/tools.h"
#include "backends/vm.h"
#include "base/strings.h"
#include "core/kernel/kvm_device.h"
#include "core/launch/around_machine.h"
#include "support/leak_check.h"
#include "sys/fault.h"

namespace hotcell {
namespace {

constexpr const char* kOpensIt = "import fcntl, os\nprint(fcntl.ioctl(os.open('/dev/kvm', os.O_RDWR), 0xae00, 0))";

class AroundAMachine : public testing::LeakCheck {
 protected:
  void TearDown() override {
    sys::arm_fault(nullptr, 0);
    LeakCheck::TearDown();
  }
  static Result<Report> run(Result<std::unique_ptr<Launcher>> launcher, std::vector<std::string> argv) {
    if (!launcher.ok()) return std::move(launcher).error();
    Request request;
    request.argv = std::move(argv);
    return launcher.value()->run(default_policy(), std::move(request));
  }
};

TEST_F(AroundAMachine, TheCellHasThatOneDevice) {
  struct stat before {}, after {};
  const bool there = ::stat("/dev/kvm", &before) == 0 && is_kvm(before);
  auto plain = run(Launcher::create(), {"/bin/ls", "/dev"});
  ASSERT_TRUE(plain.ok()) << plain.error().message;
  EXPECT_EQ(plain.value().out.find("kvm"), std::string::npos) << plain.value().out;
  auto around = run(create_around_machine(), {"/bin/ls", "/dev"});
  if (!there) {
    ASSERT_FALSE(around.ok());
    EXPECT_NE(around.error().message.find("/dev/kvm"), std::string::npos) << around.error().message;
    return;
  }
  ASSERT_TRUE(around.ok()) << around.error().message;
  std::string names = around.value().out;
  auto at = names.find("kvm\n");
  ASSERT_NE(at, std::string::npos) << names;
  names.erase(at, 4);
  EXPECT_EQ(names, plain.value().out) << "and no other";

  auto opened = run(create_around_machine(), {"/usr/bin/python3", "-c", kOpensIt});
  ASSERT_TRUE(opened.ok()) << opened.error().message;
  std::string why = backends::why_no_kvm("/dev/kvm");
  // As root the cell's user, who is nobody on the host, can open it; as an ordinary user whoever could before.
  if (why.empty()) {
    EXPECT_EQ(opened.value().out, "12\n") << opened.value().err;
  } else {
    EXPECT_NE(opened.value().err.find("Permission denied"), std::string::npos) << opened.value().out << opened.value().err;
  }
  auto changed = run(create_around_machine(), {"/bin/sh", "-c", "chmod 666 /dev/kvm || rm /dev/kvm || mknod /tmp/kvm c 10 232 || echo held"});
  ASSERT_TRUE(changed.ok()) << changed.error().message;
  EXPECT_EQ(changed.value().out, "held\n") << changed.value().err;

  ASSERT_EQ(::stat("/dev/kvm", &after), 0);
  EXPECT_EQ(before.st_mode, after.st_mode);
  EXPECT_EQ(before.st_uid, after.st_uid);
  EXPECT_EQ(before.st_ctim.tv_nsec, after.st_ctim.tv_nsec) << "the host's node is as it was";
}

TEST_F(AroundAMachine, HasEveryWallOfACell) {
  auto plain = run(Launcher::create(), {"/bin/true"});
  auto around = run(create_around_machine(), {"/bin/true"});
  ASSERT_TRUE(plain.ok()) << plain.error().message;
  if (struct stat st {}; ::stat("/dev/kvm", &st) != 0 || !is_kvm(st)) {
    EXPECT_FALSE(around.ok());
    return;
  }
  ASSERT_TRUE(around.ok()) << around.error().message;
  ASSERT_EQ(around.value().enforcement.layers.size(), plain.value().enforcement.layers.size());
  for (const auto& l : plain.value().enforcement.layers) {
    const LayerReport* same = around.value().enforcement.find(l.layer);
    ASSERT_NE(same, nullptr);
    EXPECT_EQ(same->status, l.status) << to_string(l.layer);
  }
}

TEST_F(AroundAMachine, WithoutItsNodeNothingStarts) {
  sys::arm_fault("kvm_node", EPERM);
  auto report = run(create_around_machine(), {"/bin/echo", "started"});
  struct stat st {};
  // An ordinary user's cell has the host's node, and none is made.
  if (::geteuid() != 0 && ::stat("/dev/kvm", &st) == 0 && is_kvm(st)) {
    EXPECT_TRUE(report.ok()) << report.error().message;
    return;
  }
  ASSERT_FALSE(report.ok());
  EXPECT_NE(report.error().message.find("/dev/kvm"), std::string::npos) << report.error().message;
}

TEST_F(AroundAMachine, NobodyIsGrantedTheDevice) {
  Policy policy = default_policy();
  for (auto access : {Access::kRead, Access::kWrite}) {
    policy.filesystem.grants = {{"/dev/kvm", access, "--read"}};
    auto launcher = Launcher::create();
    ASSERT_TRUE(launcher.ok());
    Request request;
    request.argv = {"/bin/true"};
    auto report = launcher.value()->run(policy, std::move(request));
    ASSERT_FALSE(report.ok());
    EXPECT_EQ(report.error().code, ErrorCode::kInvalid) << report.error().message;
  }
}

class ChosenAccel : public testing::LeakCheck {
 protected:
  void SetUp() override {
    LeakCheck::SetUp();
    char name[] = "/tmp/hotcell-accel-XXXXXX";
    ASSERT_NE(::mkdtemp(name), nullptr);
    folder_ = name;
    ::chmod(name, 0755);
    if (const char* before = ::getenv("XDG_CACHE_HOME")) kept_ = before;
    ::setenv("XDG_CACHE_HOME", name, 1);
    // The cell around a machine is shown the cache of machines, and so what stands in for QEMU there.
    tools_ = cat(folder_, "/hotcell/vm");
    std::filesystem::create_directories(tools_);
    backends::set_tool_folders({tools_});
    backends::probe_settings() = {std::chrono::seconds(20), cat(folder_, "/probes")};
    for (auto path : {"/kernel/boot/vmlinuz-1", "/kernel/lib/modules/1/kernel/net/9p/9pnet_virtio.ko"}) {
      std::filesystem::create_directories(std::filesystem::path(cat(folder_, path)).parent_path());
      std::ofstream(cat(folder_, path)) << "x";
    }
  }
  void TearDown() override {
    backends::set_tool_folders({});
    backends::probe_settings() = {};
    if (kept_.empty()) ::unsetenv("XDG_CACHE_HOME");
    else ::setenv("XDG_CACHE_HOME", kept_.c_str(), 1);
    std::filesystem::remove_all(folder_);
    LeakCheck::TearDown();
  }
  void qemu(std::string_view script) {
    std::string path = cat(tools_, "/qemu-system-x86_64");
    ::unlink(path.c_str());
    std::ofstream(path) << script;
    ::chmod(path.c_str(), 0755);
  }
  backends::Settings settings(const std::string& accel) const { return backends::Settings::parse({cat("vm.kernel=", folder_, "/kernel"), cat("vm.accel=", accel)}).value(); }
  Result<backends::AccelChoice> choice(const std::string& accel, backends::Believe believe = backends::Believe::kLately) const {
    return backends::accel_here(settings(accel), cat(tools_, "/qemu-system-x86_64"), {believe, {}});
  }
  Result<Report> run(const std::string& accel) const {
    TRY_SET(auto launcher, backends::open_vm({{}, true, settings(accel)}));
    Request request;
    request.argv = {"/bin/true"};
    return launcher->run(default_policy(), std::move(request));
  }
  static std::string error_of(const Result<Report>& report) { return report.ok() ? std::string() : report.error().message; }

  // Speaks as QEMU's monitor and the guest's agent do (vm_guest/runner.cc), to the device that a real one would use.
  static constexpr std::string_view kHealthy = R"(#!/usr/bin/python3
import fcntl, json, os, socket, struct, sys
words = sys.argv
if words[words.index("-accel") + 1] != "kvm":
    sys.exit("this one needs KVM")
if fcntl.ioctl(os.open("/dev/kvm", os.O_RDWR), 0xae00, 0) != 12:
    sys.exit("the device does not answer")
port = socket.socket(fileno=3)
if os.path.exists(os.path.dirname(os.path.realpath(words[0])) + "/broken"):
    sys.exit("it has stopped working")
if "-incoming" not in words:
    port.sendall(struct.pack("=II", 16, 0))
if "-mon" in words:
    monitor = socket.socket(fileno=4)
    monitor.sendall(b'{"QMP": {}}\n')
    for line in monitor.makefile():
        asked = json.loads(line)
        if asked["execute"] == "migrate":
            open(asked["arguments"]["uri"].split(">")[1], "w").write("state")
        monitor.sendall(b'{"return": {"status": "completed"}}\n')
stream = port.makefile("rb")
kind, size = struct.unpack("=II", stream.read(8))
stream.read(size)
port.sendall(struct.pack("=II", 20, 32) + struct.pack("=iIIIQQ", 0, 0, 0, 0, 0, 0))
stream.read()
)";

  std::string folder_, tools_, kept_;
};

TEST_F(ChosenAccel, AGuestThatAnswersUnderKvmIsRunUnderIt) {
  qemu(kHealthy);
  std::string device = backends::why_no_kvm("/dev/kvm");
  for (auto asked : {"auto", "kvm"}) {
    auto ran = run(asked);
    if (!device.empty()) {
      // Nothing was booted, and what cannot be had is said: by name it is an error, otherwise it is emulated.
      EXPECT_NE(error_of(ran).find(asked == std::string("kvm") ? cat("vm.accel=kvm: ", device) : "this one needs KVM"), std::string::npos) << error_of(ran);
      continue;
    }
    ASSERT_TRUE(ran.ok()) << asked << ": " << ran.error().message;
    EXPECT_EQ(ran.value().verdict.exit_code, 0);
    const LayerReport* cpu = ran.value().enforcement.find(Layer::kCpu);
    ASSERT_NE(cpu, nullptr);
    EXPECT_NE(cpu->detail.find("KVM: a guest has booted and run under it"), std::string::npos) << cpu->detail;
  }
  auto chosen = choice("auto");
  ASSERT_TRUE(chosen.ok()) << chosen.error().message;
  EXPECT_EQ(chosen.value().accel, device.empty() ? backends::Accel::kKvm : backends::Accel::kTcg) << chosen.value().reason;
  EXPECT_NE(error_of(run("tcg")).find("this one needs KVM"), std::string::npos) << "asked for emulation, it was given that";
}

TEST_F(ChosenAccel, OneThatDiesIsEmulatedOrRefusedAndItsWordsAreTold) {
  qemu("#!/bin/sh\necho 'failed to set MSR 0x10a' >&2\nexit 134\n");
  std::string device = backends::why_no_kvm("/dev/kvm");
  std::string expected = device.empty() ? "failed to set MSR 0x10a" : device;
  auto chosen = choice("auto");
  ASSERT_TRUE(chosen.ok()) << chosen.error().message;
  EXPECT_EQ(chosen.value().accel, backends::Accel::kTcg);
  EXPECT_TRUE(chosen.value().reason.starts_with("emulated: ")) << chosen.value().reason;
  EXPECT_NE(chosen.value().reason.find(expected), std::string::npos) << chosen.value().reason;
  auto named = choice("kvm");
  ASSERT_FALSE(named.ok());
  EXPECT_EQ(named.error().code, ErrorCode::kUnsupported);
  EXPECT_NE(named.error().message.find(expected), std::string::npos) << named.error().message;
  auto opened = backends::open_vm({{}, true, settings("kvm")});
  ASSERT_FALSE(opened.ok()) << "before anything runs";
  // The list and `explain` say it in the same words.
  EXPECT_NE(backends::describe_here("vm", settings("auto")).find(chosen.value().reason), std::string::npos);
}

TEST_F(ChosenAccel, OneThatHangsIsEnded) {
  qemu("#!/bin/sh\ntrap '' TERM INT HUP\nsleep 1000 & sleep 1000\n");
  backends::probe_settings().patience = std::chrono::seconds(1);
  auto before = std::chrono::steady_clock::now();
  auto chosen = choice("auto");
  EXPECT_LT(std::chrono::steady_clock::now() - before, std::chrono::seconds(30));
  ASSERT_TRUE(chosen.ok()) << chosen.error().message;
  EXPECT_EQ(chosen.value().accel, backends::Accel::kTcg);
  std::string device = backends::why_no_kvm("/dev/kvm");
  EXPECT_NE(chosen.value().reason.find(device.empty() ? "gave no answer within 1s" : device), std::string::npos) << chosen.value().reason;
}

// What was found is believed for a while, of this QEMU, and not when somebody asks again.
TEST_F(ChosenAccel, WhatWasFoundIsKept) {
  if (std::string device = backends::why_no_kvm("/dev/kvm"); !device.empty()) {
    auto chosen = choice("auto");
    ASSERT_TRUE(chosen.ok());
    EXPECT_NE(chosen.value().reason.find(device), std::string::npos);
    EXPECT_FALSE(std::filesystem::exists(cat(folder_, "/probes/vm-kvm"))) << "nothing was tried";
    return;
  }
  qemu("#!/bin/sh\necho x >> /work/mark\necho first >&2\nexit 1\n");
  EXPECT_NE(choice("auto").value().reason.find("first"), std::string::npos);
  auto kept = std::filesystem::last_write_time(cat(folder_, "/probes/vm-kvm"));
  EXPECT_NE(choice("auto").value().reason.find("first"), std::string::npos);
  EXPECT_EQ(std::filesystem::last_write_time(cat(folder_, "/probes/vm-kvm")), kept) << "it was tried again";
  EXPECT_NE(choice("auto", backends::Believe::kNothing).value().reason.find("first"), std::string::npos);
  EXPECT_NE(std::filesystem::last_write_time(cat(folder_, "/probes/vm-kvm")), kept) << "it was not tried again";
  qemu("#!/bin/sh\necho second >&2\nexit 1\n");
  EXPECT_NE(choice("auto").value().reason.find("second"), std::string::npos) << "another QEMU";
}

// A module that was loaded anew, say: nothing that the answer leans on has changed, and it is wrong all the same.
TEST_F(ChosenAccel, OneThatStopsWorkingIsTriedAgain) {
  qemu(kHealthy);
  if (!backends::why_no_kvm("/dev/kvm").empty()) {
    EXPECT_EQ(choice("auto").value().accel, backends::Accel::kTcg);
    return;
  }
  ASSERT_TRUE(run("auto").ok());
  for (auto kept : {true, false}) {
    SCOPED_TRACE(kept ? "restored" : "booted");
    ASSERT_EQ(choice("auto").value().accel, backends::Accel::kKvm);
    if (!kept)
      for (const auto& file : std::filesystem::directory_iterator(tools_))
        if (file.path().extension() == ".state") std::filesystem::remove(file.path());
    std::ofstream(cat(tools_, "/broken")) << "x";
    EXPECT_EQ(choice("auto").value().accel, backends::Accel::kKvm) << "known from before";
    EXPECT_NE(error_of(run("auto")).find("it has stopped working"), std::string::npos) << "that run is an error";
    auto next = choice("auto");
    ASSERT_TRUE(next.ok()) << next.error().message;
    EXPECT_EQ(next.value().accel, backends::Accel::kTcg);
    EXPECT_NE(next.value().reason.find("it has stopped working"), std::string::npos) << next.value().reason;
    std::filesystem::remove(cat(tools_, "/broken"));
    ASSERT_EQ(choice("auto", backends::Believe::kNothing).value().accel, backends::Accel::kKvm);
  }
}

// The machine's real QEMU: whatever comes of it here is one of the two, and by name it is KVM or nothing.
class VmHere : public testing::LeakCheck {};
TEST_F(VmHere, ByNameItIsKvmOrNothingHere) {
  auto named = backends::open_vm({{}, true, backends::Settings::parse({"vm.accel=kvm"}).value()});
  auto any = backends::open_vm({});
  ASSERT_TRUE(any.ok()) << any.error().message;
  Request request;
  request.argv = {"/bin/true"};
  Policy policy = default_policy();
  policy.limits.wall = std::chrono::seconds(60);
  auto report = any.value()->run(policy, std::move(request));
  ASSERT_TRUE(report.ok()) << report.error().message;
  const LayerReport* cpu = report.value().enforcement.find(Layer::kCpu);
  ASSERT_NE(cpu, nullptr);
  EXPECT_NE(cpu->detail.find(named.ok() ? "; KVM: " : "; emulated: "), std::string::npos) << cpu->detail;
  if (!named.ok()) {
    EXPECT_NE(named.error().message.find("vm.accel=kvm: "), std::string::npos) << named.error().message;
  }
}

}  // namespace
}  // namespace hotcell
