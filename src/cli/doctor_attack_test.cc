// The whole table, for real: in cells everything holds, and outside them the same attacks go through.
#include <dirent.h>
#include <gtest/gtest.h>

#include <string>

#include "cli/doctor_attack.h"

namespace hotcell {
namespace {

int scenes_left() {
  int count = 0;
  const char* tmp = getenv("TMPDIR");
  DIR* d = opendir(tmp != nullptr ? tmp : "/tmp");
  while (dirent* e = d != nullptr ? readdir(d) : nullptr)
    if (std::string(e->d_name).rfind("hotcell-doctor-", 0) == 0) ++count;
  if (d != nullptr) closedir(d);
  return count;
}

TEST(DoctorAttack, EveryAttackIsHeldInACell) {
  const int before = scenes_left();
  EXPECT_EQ(run_attacks({}), 0);
  EXPECT_LE(scenes_left(), before);
}

TEST(DoctorAttack, TheSameAttacksGoThroughOutside) {
  AttackOptions outside;
  outside.control = true;
  EXPECT_EQ(run_attacks(outside), 0);
}

TEST(DoctorAttack, UnknownAttackIsRefused) {
  AttackOptions none;
  none.only = "no such attack";
  EXPECT_EQ(run_attacks(none), 127);
}

}  // namespace
}  // namespace hotcell
