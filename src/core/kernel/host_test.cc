#include "core/kernel/host.h"

#include <gtest/gtest.h>

#include <map>

namespace hotcell {
namespace {

std::map<std::string, std::string> folders(std::string_view mountinfo) {
  std::map<std::string, std::string> out;
  for (const auto& c : read_cgroup_mounts(mountinfo).v1) {
    EXPECT_FALSE(out.contains(c.name)) << c.name << " twice";
    out[c.name] = c.folder;
  }
  return out;
}

TEST(CgroupMounts, ControllersMountedTogetherAreBothKnownAndShareOneFolder) {
  auto found = folders(
      "30 29 0:26 / /sys/fs/cgroup/cpu,cpuacct rw,nosuid shared:9 - cgroup cgroup rw,cpu,cpuacct\n"
      "31 29 0:27 / /sys/fs/cgroup/memory rw shared:10 - cgroup cgroup rw,memory\n");
  EXPECT_EQ(found, (std::map<std::string, std::string>{{"cpu", "/sys/fs/cgroup/cpu,cpuacct/hotcell"},
                                                       {"cpuacct", "/sys/fs/cgroup/cpu,cpuacct/hotcell"},
                                                       {"memory", "/sys/fs/cgroup/memory/hotcell"}}));
}

TEST(CgroupMounts, AGroupIsMadeAndJoinedOncePerFolder) {
  CgroupHost host;
  host.v1 = read_cgroup_mounts(
                "30 29 0:26 / /c/cpu,cpuacct rw - cgroup cgroup rw,cpu,cpuacct\n"
                "31 29 0:27 / /c/freezer rw - cgroup cgroup rw,freezer\n"
                "32 29 0:28 / /c/memory rw - cgroup cgroup rw,memory\n")
                .v1;
  auto with_quota = host.joined(true), without = host.joined(false);
  ASSERT_EQ(with_quota.size(), 2u);
  EXPECT_EQ(with_quota[0].folder, "/c/cpu,cpuacct/hotcell");
  EXPECT_EQ(with_quota[0].controllers, (std::vector<std::string>{"cpu", "cpuacct"}));
  ASSERT_EQ(without.size(), 2u);
  EXPECT_EQ(without[0].controllers, std::vector<std::string>{"cpuacct"});
}

TEST(CgroupMounts, AHierarchyMountedTwiceIsUsedOnce) {
  auto found = folders(
      "30 29 0:26 / /sys/fs/cgroup/pids rw - cgroup cgroup rw,pids\n"
      "44 29 0:26 / /mnt/pids rw - cgroup cgroup rw,pids\n");
  EXPECT_EQ(found, (std::map<std::string, std::string>{{"pids", "/sys/fs/cgroup/pids/hotcell"}}));
}

TEST(CgroupMounts, NamesOfOtherThingsAreNotControllers) {
  EXPECT_TRUE(folders("30 29 0:26 / /sys/fs/cgroup/systemd rw - cgroup cgroup rw,xattr,name=systemd\n").empty());
  EXPECT_TRUE(folders("a line that is none\n30 29 0:26\n - cgroup x\n").empty());
}

TEST(CgroupMounts, TheUnifiedHierarchyAndMountPointsWithBlanks) {
  auto found = read_cgroup_mounts("30 29 0:26 / /sys/fs/c\\040group rw - cgroup2 cgroup2 rw,nsdelegate\n");
  EXPECT_EQ(found.v2, "/sys/fs/c group");
  EXPECT_TRUE(found.v1.empty());
}

}  // namespace
}  // namespace hotcell
