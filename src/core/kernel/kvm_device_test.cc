#include "core/kernel/kvm_device.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "core/kernel/landlock.h"
#include "core/kernel/rootfs.h"
#include "sys/uapi/landlock.h"

namespace hotcell {
namespace {

struct Made {
  std::size_t named = 0;     // operations that speak of it
  std::size_t inherited = 0; // nodes that the launcher has to make
};
Made root_of(bool device, bool privileged) {
  Host host;
  host.kvm_device = device;
  host.privileged = privileged;
  Policy policy;
  Grants grants;
  PlanBuilder plan;
  plan_native_root(policy, host, grants, plan, [] {}, [] {});
  Made out;
  for (const auto& e : plan.entries()) out.named += e.note.find("kvm") != std::string::npos;
  for (const auto& i : plan.inherited()) out.inherited += i.kind == Inherited::Kind::kDevice;
  return out;
}

TEST(KvmDevice, IsInNoCellButThatOfAMachine) {
  for (bool privileged : {false, true}) {
    auto without = root_of(false, privileged), with = root_of(true, privileged);
    EXPECT_EQ(without.named, 0u);
    EXPECT_EQ(without.inherited, 0u);
    EXPECT_GT(with.named, 0u);
    EXPECT_EQ(with.inherited, privileged ? 1u : 0u) << "as root it is a node of the cell's own";
  }
}

TEST(KvmDevice, LandlockAllowsItsUseAndNoMore) {
  for (bool device : {false, true}) {
    Host host;
    host.landlock_abi = 5;
    host.kvm_device = device;
    Policy policy;
    Grants grants;
    PlanBuilder plan;
    auto rules = plan_landlock(policy, host, grants, plan).rules;
    auto rule = std::find_if(rules.begin(), rules.end(), [](const LandlockRule& r) { return r.path == kKvmDevice; });
    ASSERT_EQ(rule != rules.end(), device);
    if (device) {
      EXPECT_EQ(rule->access, uapi::kFsReadFile | uapi::kFsWriteFile | uapi::kFsIoctlDev);
    }
  }
}

TEST(KvmDevice, AnotherFileOfThatNameIsNot) {
  struct stat st {};
  st.st_mode = S_IFCHR | 0660;
  st.st_rdev = makedev(kKvmMajor, kKvmMinor);
  EXPECT_TRUE(is_kvm(st));
  st.st_rdev = makedev(1, 3);
  EXPECT_FALSE(is_kvm(st));
  st.st_rdev = makedev(kKvmMajor, kKvmMinor);
  st.st_mode = S_IFBLK | 0660;
  EXPECT_FALSE(is_kvm(st));
  ASSERT_EQ(::stat("/dev/null", &st), 0);
  EXPECT_FALSE(is_kvm(st));
}

}  // namespace
}  // namespace hotcell
