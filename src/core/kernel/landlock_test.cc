#include "core/kernel/landlock.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "core/kernel/apply.h"
#include "sys/uapi/landlock.h"

namespace hotcell {
namespace {

TEST(LandlockAbi, HasTheRightsAndTheStructOfItsVersion) {
  struct {
    int version;
    std::uint64_t fs, net, scoped;
    std::uint32_t size;
  } known[] = {{0, 0, 0, 0, 0},       {1, 0x1fff, 0, 0, 8},  {2, 0x3fff, 0, 0, 8},  {3, 0x7fff, 0, 0, 8},
               {4, 0x7fff, 3, 0, 16}, {5, 0xffff, 3, 0, 16}, {6, 0xffff, 3, 3, 24}, {7, 0xffff, 3, 3, 24}};
  for (const auto& k : known) {
    LandlockAbi abi = landlock_abi(k.version);
    EXPECT_EQ(abi.fs, k.fs) << k.version;
    EXPECT_EQ(abi.net, k.net) << k.version;
    EXPECT_EQ(abi.scoped, k.scoped) << k.version;
    EXPECT_EQ(abi.attr_size, k.size) << k.version;
  }
}

TEST(LandlockAbi, WhatAnOlderOneCannotForbidIsNamed) {
  EXPECT_EQ(landlock_missing(1), "refer, truncate, TCP, device ioctls, signal and abstract socket scopes");
  EXPECT_EQ(landlock_missing(4), "device ioctls, signal and abstract socket scopes");
  EXPECT_EQ(landlock_missing(5), "signal and abstract socket scopes");
  EXPECT_EQ(landlock_missing(6), "");
}

// The plan of a cell for a kernel of that ABI, its Landlock part alone, in a child: a newer kernel takes it as an older one
// would. 0: what is not granted cannot be opened, what is granted can.
int hold(int version, const std::string& open_folder, const std::string& closed_file) {
  Host host;
  host.landlock_abi = version;
  Policy policy;
  PlanBuilder plan;
  Grants grants;
  ResolvedGrant grant;
  grant.shown = grant.canonical = open_folder;
  grant.directory = true;
  grants.grants.push_back(std::move(grant));
  LandlockSlots slots = plan_landlock(policy, host, grants, plan);
  auto bytes = plan.bytes();
  if (slots.tight == kNoSlot || !bytes.ok()) return 90;
  ApplyContext ctx{};
  ctx.base = bytes.value().data();
  for (int& slot : ctx.slots) slot = -1;
  PlanHeader header;
  std::memcpy(&header, ctx.base, sizeof header);
  for (unsigned i = 0; i < header.op_count; ++i) {
    Op op;
    std::memcpy(&op, ctx.base + sizeof header + i * sizeof op, sizeof op);
    // On this tree they are other folders than a cell's.
    if (op.slot != slots.tight || std::strcmp(op.path ? ctx.text(op.path) : "", "/tmp") == 0) continue;
    int done = static_cast<OpKind>(op.kind) == OpKind::kRuleset ? apply_ruleset(ctx, op) : apply_path_rule(ctx, op);
    if (done < 0) return 91;
  }
  Op restrict_op{};
  restrict_op.slot = static_cast<std::uint8_t>(slots.tight);
  if (::prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0 || apply_restrict(ctx, restrict_op) < 0) return 92;
  if (::open(closed_file.c_str(), O_RDONLY) >= 0 || errno != EACCES) return 1;
  return ::open((open_folder + "/file").c_str(), O_RDONLY) >= 0 ? 0 : 2;
}

TEST(LandlockAbi, RulesForEveryVersionHold) {
  char name[] = "/tmp/hotcell-landlock-XXXXXX";
  ASSERT_NE(::mkdtemp(name), nullptr);
  std::string open_folder = std::string(name) + "/open", file = open_folder + "/file", closed = std::string(name) + "/closed";
  ASSERT_EQ(::mkdir(open_folder.c_str(), 0755), 0);
  for (const auto& path : {file, closed}) ::close(::open(path.c_str(), O_WRONLY | O_CREAT, 0644));
  long here = ::syscall(SYS_landlock_create_ruleset, nullptr, 0, uapi::kLandlockCreateVersion);
  ASSERT_GE(here, 1);
  for (int version = 1; version <= std::min(here, 7L); ++version) {
    pid_t child = ::fork();
    if (child == 0) ::_exit(hold(version, open_folder, closed));
    int status = -1;
    ASSERT_EQ(::waitpid(child, &status, 0), child);
    EXPECT_EQ(status, 0) << "ABI " << version << ": " << WEXITSTATUS(status);
  }
  for (const auto& path : {file, closed}) ::unlink(path.c_str());
  ::rmdir(open_folder.c_str());
  ::rmdir(name);
}

}  // namespace
}  // namespace hotcell
