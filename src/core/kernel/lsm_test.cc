#include "core/kernel/lsm.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <stdlib.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "core/kernel/apply.h"
#include "sys/file.h"

namespace hotcell {
namespace {

LsmFacts facts(bool apparmor, bool selinux, std::string label = "") { return {apparmor, selinux, std::move(label)}; }

TEST(LsmChoice, OnlyFromUnconfinedAppArmor) {
  EXPECT_TRUE(choose_lsm(facts(true, false, "unconfined")).transition);
  EXPECT_TRUE(choose_lsm(facts(true, true, "unconfined")).transition);
  struct {
    LsmFacts facts;
    const char* why_not;
  } refused[] = {
      {facts(false, false), "neither AppArmor nor SELinux is active"},
      {facts(false, true), "SELinux is active, and hotcell has no policy module for it"},
      {facts(true, false, "docker-default (enforce)"),
       "hotcell itself runs under the AppArmor profile docker-default (enforce)"},
      {facts(true, false, ""), "hotcell itself runs under the AppArmor profile (unknown)"},
  };
  for (const auto& r : refused) {
    LsmChoice choice = choose_lsm(r.facts);
    EXPECT_FALSE(choice.transition);
    EXPECT_EQ(choice.why_not, r.why_not);
  }
}

// The plan as init maps it, with its operation pointed at another file.
std::string planned(const LsmChoice& choice) {
  PlanBuilder plan;
  plan_lsm(choice, plan);
  auto bytes = plan.bytes();
  EXPECT_TRUE(bytes.ok());
  return std::move(bytes).value();
}

TEST(LsmPlan, NothingWithoutATransition) {
  std::string bytes = planned({false, "x"});
  PlanHeader header;
  std::memcpy(&header, bytes.data(), sizeof header);
  EXPECT_EQ(header.op_count, 0u);
}

TEST(LsmPlan, WritesTheRequestForExec) {
  std::string bytes = planned({true, ""});
  Op op;
  std::memcpy(&op, bytes.data() + sizeof(PlanHeader), sizeof op);
  EXPECT_EQ(static_cast<OpKind>(op.kind), OpKind::kLsmExec);
  EXPECT_STREQ(bytes.data() + op.path, "/proc/thread-self/attr/apparmor/exec");

  char name[] = "/tmp/hotcell-lsm-XXXXXX";
  int fd = ::mkstemp(name);
  ASSERT_GE(fd, 0);
  ::close(fd);
  // Behind the plan: offsets are into one block.
  op.path = static_cast<std::uint32_t>(bytes.size());
  bytes += name;
  bytes += '\0';
  ApplyContext ctx{};
  ctx.base = bytes.data();
  EXPECT_EQ(apply_lsm_exec(ctx, op), 0);
  auto written = sys::read_file(name);
  ::unlink(name);
  ASSERT_TRUE(written.ok());
  EXPECT_EQ(written.value(), "exec hotcell-cell");

  // Now the file is gone, as where AppArmor is not built in; and one that takes no write.
  EXPECT_EQ(apply_lsm_exec(ctx, op), 0) << "optional: what holds is read back";
  op.flags = 0;
  EXPECT_EQ(apply_lsm_exec(ctx, op), -ENOENT);
  op.path = static_cast<std::uint32_t>(bytes.size());
  bytes += "/dev/full";
  bytes += '\0';
  ctx.base = bytes.data();
  EXPECT_EQ(apply_lsm_exec(ctx, op), -ENOSPC);
}

TEST(LsmReadBack, OnlyOurProfileInEnforceModeCounts) {
  EXPECT_EQ(parse_lsm_exec("hotcell-cell (enforce)\n"), LsmPending::kEnforce);
  EXPECT_EQ(parse_lsm_exec("hotcell-cell (enforce)"), LsmPending::kEnforce);
  EXPECT_EQ(parse_lsm_exec("hotcell-cell (complain)\n"), LsmPending::kComplain);
  for (const char* text : {"", "\n", "unconfined\n", "hotcell-cell\n", "hotcell-cell2 (enforce)\n",
                           "hotcell-cell (unconfined)\n", "hotcell-cell//x (enforce)\n"})
    EXPECT_EQ(parse_lsm_exec(text), LsmPending::kNone) << text;
}

}  // namespace
}  // namespace hotcell
