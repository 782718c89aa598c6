#include "backends/vm.h"

#include <gtest/gtest.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <map>

#include "backends/tools.h"
#include "backends/vm_guest/order.h"
#include "base/strings.h"

namespace hotcell::backends {
namespace {

struct Asked {
  Policy policy = default_policy();
  Request request;
  ToolRequest tool{policy, request, "", "/work/w", "/usr/bin/qemu-system-x86_64", "hotcell-vm"};
  Asked() {
    request.argv = {"/bin/echo", "a b"};
    tool.env = {{"A", "1=2"}};
  }
};

const MachineImage kImage{"/c/vm", "/c/vm/k", "/c/vm/i", "/c/vm/p", "key"};

std::vector<std::string> words(const Machine& machine, MachineStart how) { return machine_command("qemu", machine, kImage, how); }
bool has(const std::vector<std::string>& all, std::string_view part) {
  return std::any_of(all.begin(), all.end(), [&](const std::string& w) { return w.find(part) != std::string::npos; });
}

TEST(VmMachine, IsTheProgramsMemoryAndALittleForItsKernel) {
  Asked asked;
  asked.policy.limits.memory = 64_MiB;
  auto machine = machine_of(asked.tool);
  ASSERT_TRUE(machine.ok()) << machine.error().message;
  EXPECT_EQ(machine.value().memory_mib, 160u);
  EXPECT_EQ(machine.value().cpus, 1u);
}

TEST(VmMachine, IsAsLargeAsItIsSaidToBe) {
  Asked asked;
  asked.policy.limits.memory = 64_MiB;
  auto with = [&](std::vector<std::string> words) {
    asked.tool.settings = Settings::parse(words).value();
    return machine_of(asked.tool);
  };
  EXPECT_EQ(with({"vm.memory=512", "vm.cpus=1"}).value().memory_mib, 512u);
  EXPECT_TRUE(has(words(with({"vm.memory=512"}).value(), MachineStart::kRestore), "512"));
  EXPECT_FALSE(with({"vm.memory=100"}).ok()) << "less than the program may use";
  EXPECT_FALSE(with({"vm.memory=1G"}).ok());
  for (auto wrong : {"vm.cpus=0", "vm.cpus=100000", "vm.cpus=two"}) EXPECT_FALSE(with({wrong}).ok()) << wrong;
}

TEST(VmImage, AKernelThatWasNamedIsTheOnlyOne) {
  auto settings = Settings::parse({"vm.kernel=/nowhere/kernel"}).value();
  EXPECT_EQ(kernel_places(settings), std::vector<std::string>{"/nowhere/kernel"});
  auto refused = machine_image(MakeImage::kNo, settings);
  ASSERT_FALSE(refused.ok());
  EXPECT_NE(refused.error().message.find("/nowhere/kernel/boot"), std::string::npos) << refused.error().message;
  EXPECT_FALSE(machine_image(MakeImage::kNo, Settings::parse({"vm.kernel=relative"}).value()).ok());
  auto missing = open_vm({{}, true, Settings::parse({"vm.executable=/nowhere/qemu"}).value()});
  ASSERT_FALSE(missing.ok());
  EXPECT_NE(missing.error().message.find("/nowhere/qemu is not installed"), std::string::npos) << missing.error().message;
  auto elsewhere = open_vm({{}, true, Settings::parse({"vm.executable=/bin/true"}).value()});
  ASSERT_FALSE(elsewhere.ok());
  EXPECT_NE(elsewhere.error().message.find("below /usr alone"), std::string::npos) << elsewhere.error().message;
}

TEST(VmMachine, ShowsThePolicysFoldersAndNoOthers) {
  Asked asked;
  char folder[] = "/var/tmp/hotcell-vm-test.XXXXXX";
  ASSERT_NE(::mkdtemp(folder), nullptr);
  asked.policy.filesystem.grants = {{folder, Access::kWrite, "--write"}};
  auto machine = machine_of(asked.tool);
  ::rmdir(folder);
  ASSERT_TRUE(machine.ok()) << machine.error().message;
  std::map<std::string, bool> shares;
  for (const auto& s : machine.value().shares) shares[s.target] = s.writable;
  std::map<std::string, bool> expected = {{"/usr", false}, {"/etc", false}, {"/work", true}, {folder, true}};
  for (const char* name : {"/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32"}) {
    struct stat st {};
    if (::lstat(name, &st) == 0 && S_ISDIR(st.st_mode)) expected[name] = false;
  }
  EXPECT_EQ(shares, expected);
  for (const auto& word : words(machine.value(), MachineStart::kRestore))
    if (word.starts_with("local,")) {
      bool writable = word.find("path=/work/w,") != word.npos || word.find(folder) != word.npos;
      EXPECT_EQ(word.find("readonly=on") == word.npos, writable) << word;
    }
}

TEST(VmMachine, StrictWritesNowhere) {
  Asked asked;
  asked.policy = strict_policy();
  auto machine = machine_of(asked.tool);
  ASSERT_TRUE(machine.ok());
  for (const auto& s : machine.value().shares) EXPECT_FALSE(s.writable) << s.target;
  EXPECT_NE(machine_order(asked.tool, machine.value(), "", "/c/vm").find(std::string("r\0\0\0\0\0\0\0", 8)), std::string::npos);
}

TEST(VmMachine, HasNoNetworkNoDisplayAndNoWayOut) {
  Asked asked;
  Machine machine = machine_of(asked.tool).value();
  for (auto how : {MachineStart::kBoot, MachineStart::kCold, MachineStart::kRestore}) {
    auto all = words(machine, how);
    EXPECT_TRUE(has(all, "-nodefaults"));
    EXPECT_TRUE(has(all, "-no-user-config"));
    for (auto part : {"netdev", "-net", "-nic", "virtio-net", "e1000", "vnc"}) EXPECT_FALSE(has(all, part)) << part;
    EXPECT_EQ(has(all, "spawn=deny"), how != MachineStart::kBoot);
    EXPECT_EQ(has(all, "monitor,fd=4"), how == MachineStart::kBoot) << "nobody can give orders to a machine with a program in it";
  }
}

TEST(VmMachine, ItsStateDoesNotDependOnWhatIsShared) {
  Asked asked;
  Machine one = machine_of(asked.tool).value(), other = one;
  for (auto& s : other.shares) s.source = "/elsewhere";
  EXPECT_EQ(words(one, MachineStart::kBoot), words(other, MachineStart::kBoot));
  EXPECT_NE(words(one, MachineStart::kRestore), words(other, MachineStart::kRestore));
  other.memory_mib += 32;
  EXPECT_NE(words(one, MachineStart::kBoot), words(other, MachineStart::kBoot));
}

TEST(VmMachine, APathCannotAddAnOption) {
  Asked asked;
  Machine machine = machine_of(asked.tool).value();
  machine.shares[0].source = "/a,readonly=off";
  EXPECT_TRUE(has(words(machine, MachineStart::kRestore), "path=/a,,readonly=off,security_model"));
}

TEST(VmOrder, SaysWhatThePolicySays) {
  Asked asked;
  asked.policy.limits.processes = 7;
  Machine machine = machine_of(asked.tool).value();
  std::string order = machine_order(asked.tool, machine, "FILTER", "/c/vm");
  std::map<std::uint32_t, std::vector<std::string>> fields;
  for (std::size_t at = 0; at < order.size();) {
    vm::Field field;
    ASSERT_LE(at + sizeof field, order.size());
    std::memcpy(&field, order.data() + at, sizeof field);
    at += sizeof field;
    ASSERT_LE(at + field.size, order.size());
    fields[field.tag].push_back(order.substr(at, field.size));
    at += field.size;
  }
  EXPECT_EQ(fields[vm::kArgument], (std::vector<std::string>{"/bin/echo", "a b"}));
  EXPECT_EQ(fields[vm::kVariable], (std::vector<std::string>{"A=1=2"}));
  EXPECT_EQ(fields[vm::kProcesses], (std::vector<std::string>{"7"}));
  EXPECT_EQ(fields[vm::kFilter], (std::vector<std::string>{"FILTER"}));
  EXPECT_EQ(fields[vm::kShare].size(), machine.shares.size());
  EXPECT_TRUE(fields[vm::kHidden].empty()) << "what the cell is shown for us lies in no share";
  machine.shares.push_back({"/c", "/c", false});
  EXPECT_NE(machine_order(asked.tool, machine, "", "/c/vm").find("/c/vm"), std::string::npos);
}

TEST(VmImage, WithoutAKernelItIsSaidWhatIsMissing) {
  char folder[] = "/tmp/hotcell-vm-test.XXXXXX";
  ASSERT_NE(::mkdtemp(folder), nullptr);
  // A kernel without modules for shared folders is none for this.
  ::mkdir(cat(folder, "/boot").c_str(), 0755);
  ASSERT_TRUE(keep_file(cat(folder, "/boot/vmlinuz-1"), "x", 0644).ok());
  const char* before = ::getenv("HOTCELL_VM_KERNEL");
  std::string kept = before == nullptr ? "" : before;
  ::setenv("HOTCELL_VM_KERNEL", folder, 1);
  EXPECT_EQ(kernel_places()[0], folder);
  auto image = machine_image(MakeImage::kNo);
  // There may be another one beside the program, or the host's own.
  if (image.ok()) {
    EXPECT_FALSE(image.value().kernel.starts_with(folder));
  } else {
    EXPECT_NE(image.error().message.find("linux-image-amd64"), std::string::npos) << image.error().message;
  }
  if (kept.empty()) ::unsetenv("HOTCELL_VM_KERNEL");
  else ::setenv("HOTCELL_VM_KERNEL", kept.c_str(), 1);
  ::unlink(cat(folder, "/boot/vmlinuz-1").c_str());
  ::rmdir(cat(folder, "/boot").c_str());
  ::rmdir(folder);
}

TEST(VmImage, OnlyWhatWasUsedLastIsKept) {
  char folder[] = "/tmp/hotcell-vm-test.XXXXXX";
  ASSERT_NE(::mkdtemp(folder), nullptr);
  for (int i = 0; i < 12; ++i) {
    std::string path = cat(folder, "/", i, ".state");
    ASSERT_TRUE(keep_file(path, "x", 0444).ok());
    timespec times[2] = {{1000 + i, 0}, {1000 + i, 0}};
    ::utimensat(-100, path.c_str(), times, 0);
  }
  sweep_machines(folder);
  int left = 0;
  for (int i = 0; i < 12; ++i) {
    bool there = ::access(cat(folder, "/", i, ".state").c_str(), F_OK) == 0;
    EXPECT_EQ(there, i >= 4) << i;
    left += there;
    ::unlink(cat(folder, "/", i, ".state").c_str());
  }
  EXPECT_EQ(left, 8);
  EXPECT_EQ(::rmdir(folder), 0);
}

}  // namespace
}  // namespace hotcell::backends
