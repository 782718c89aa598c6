#include "backends/vm_accel.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>

#include "backends/vm.h"
#include "base/strings.h"

namespace hotcell::backends {
namespace {

bool has(const std::vector<std::string>& all, std::vector<std::string> part) { return std::search(all.begin(), all.end(), part.begin(), part.end()) != all.end(); }

// Every combination of what can be asked for and what can be found.
TEST(VmAccel, IsAFunctionOfWhatWasAskedAndWhatWorks) {
  struct {
    const char *asked, *device, *boot;
    bool ok;
    Accel accel;
    const char* said;
  } const kCases[] = {
      {"auto", "", "", true, Accel::kKvm, "KVM: a guest has booted and run under it"},
      {"auto", "/dev/kvm: Permission denied", "", true, Accel::kTcg, "emulated: /dev/kvm: Permission denied"},
      {"auto", "", "the machine ended", true, Accel::kTcg, "emulated: no guest works under KVM here: the machine ended"},
      {"auto", "/dev/kvm: No such file or directory", "never tried", true, Accel::kTcg, "emulated: /dev/kvm: No such file or directory"},
      {"kvm", "", "", true, Accel::kKvm, "KVM: a guest has booted and run under it"},
      {"kvm", "/dev/kvm: Permission denied", "", false, Accel::kTcg, "vm.accel=kvm: /dev/kvm: Permission denied"},
      {"kvm", "", "the machine ended", false, Accel::kTcg, "vm.accel=kvm: no guest works under KVM here: the machine ended"},
      {"tcg", "", "", true, Accel::kTcg, "emulated: vm.accel=tcg says so"},
      {"tcg", "/dev/kvm: Permission denied", "the machine ended", true, Accel::kTcg, "emulated: vm.accel=tcg says so"},
      {"KVM", "", "", false, Accel::kTcg, "vm.accel: KVM: expected auto, kvm or tcg"},
      {"xen", "", "", false, Accel::kTcg, "vm.accel: xen: expected auto, kvm or tcg"},
  };
  for (const auto& c : kCases) {
    auto choice = choose_accel({c.asked, c.device, c.boot});
    std::string words = choice.ok() ? choice.value().reason : choice.error().message;
    EXPECT_EQ(choice.ok(), c.ok) << c.asked << ": " << words;
    if (choice.ok()) {
      EXPECT_EQ(choice.value().accel, c.accel) << words;
    }
    EXPECT_NE(words.find(c.said), std::string::npos) << words;
  }
}

TEST(VmAccel, AFileOfThatNameIsNotTheDevice) {
  EXPECT_EQ(why_no_kvm("/nowhere/kvm"), "/nowhere/kvm: No such file or directory");
  EXPECT_EQ(why_no_kvm("/dev/null"), "/dev/null is not the device of that name");
  char file[] = "/tmp/hotcell-kvm-test.XXXXXX";
  int fd = ::mkstemp(file);
  ASSERT_GE(fd, 0);
  ::close(fd);
  EXPECT_EQ(why_no_kvm(file), cat(file, " is not the device of that name"));
  ::unlink(file);
}

TEST(VmAccel, TheCommandSaysOneOfTheTwo) {
  Policy policy = default_policy();
  Request request;
  request.argv = {"/bin/true"};
  Machine machine = machine_of({policy, request, "", "/work/w", "qemu", "hotcell-vm"}).value();
  const MachineImage image{"/c/vm", "/c/vm/k", "/c/vm/i", "/c/vm/p", "key"};
  for (auto how : {MachineStart::kBoot, MachineStart::kCold, MachineStart::kRestore}) {
    machine.accel = Accel::kTcg;
    auto emulated = machine_command("qemu", machine, image, how);
    EXPECT_TRUE(has(emulated, {"-accel", "tcg,tb-size=64", "-cpu", "max"}));
    machine.accel = Accel::kKvm;
    auto real = machine_command("qemu", machine, image, how);
    EXPECT_TRUE(has(real, {"-accel", "kvm", "-cpu", "host"}));
    // QEMU takes several and tries one after the other: with a second one it would fall back without a word.
    EXPECT_EQ(std::count(real.begin(), real.end(), "-accel"), 1);
    EXPECT_TRUE(std::none_of(real.begin(), real.end(), [](const std::string& word) { return word.find("tcg") != word.npos; }));
    // A snapshot is called after these words: of one kind it is never started as the other.
    EXPECT_NE(real, emulated);
    for (auto part : {"-nodefaults", "-no-user-config"}) EXPECT_TRUE(has(real, {part}));
    EXPECT_EQ(has(real, {"-sandbox", "on,obsolete=deny,elevateprivileges=deny,spawn=deny,resourcecontrol=deny"}), how != MachineStart::kBoot);
  }
}

TEST(VmAccel, ASnapshotIsOfOneProcessor) {
  std::string one = processor_identity("processor\t: 0\nvendor_id\t: A\nmodel\t\t: 1\nmodel name\t: x\ncpu MHz\t\t: 2100.1\nflags\t\t: fpu vme\n\nprocessor\t: 1\nflags\t\t: other\n");
  EXPECT_EQ(one, "vendor_id\t: A\nmodel\t\t: 1\nflags\t\t: fpu vme\n") << "not what changes from one look to the next, and of the first alone";
  EXPECT_NE(one, processor_identity("vendor_id\t: A\nmodel\t\t: 1\nflags\t\t: fpu\n\n"));
  EXPECT_EQ(processor_identity(), processor_identity());
}

// Whoever says it speaks of a machine: what is none is no substitute at any level.
TEST(VmAccel, IsASettingOfMachinesAlone) {
  auto settings = Settings::parse({"vm.accel=kvm"}).value();
  EXPECT_EQ(Settings().get("vm.accel"), "auto");
  EXPECT_EQ(not_for("vm", settings, SettingsOf::kCandidate), "");
  EXPECT_NE(not_for("runsc", settings, SettingsOf::kCandidate), "");
  EXPECT_NE(not_for("native", settings, SettingsOf::kNamed), "");
}

TEST(VmAccel, WhatIsNoneIsRefusedBeforeAnythingIsLookedAt) {
  auto wrong = accel_here(Settings::parse({"vm.accel=fast"}).value(), "/usr/bin/true");
  ASSERT_FALSE(wrong.ok());
  EXPECT_NE(wrong.error().message.find("expected auto, kvm or tcg"), std::string::npos) << wrong.error().message;
  auto emulated = accel_here(Settings::parse({"vm.accel=tcg", "vm.kernel=/nowhere"}).value(), "/nowhere/qemu");
  ASSERT_TRUE(emulated.ok()) << emulated.error().message;
  EXPECT_EQ(emulated.value().accel, Accel::kTcg);
}

}  // namespace
}  // namespace hotcell::backends
