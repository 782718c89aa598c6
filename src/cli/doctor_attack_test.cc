// The whole table, for real: in cells everything holds, and outside them the same attacks go through.
#include <dirent.h>
#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <unistd.h>

#include <string>

#include "base/strings.h"
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

// Who was ended in the middle left its folder; one that still works keeps its own.
TEST(DoctorAttack, TheFolderOfOneThatWasEndedGoesWithTheNext) {
  const char* tmp = getenv("TMPDIR");
  const std::string place = cat(tmp != nullptr ? tmp : "/tmp", "/hotcell-doctor-");
  const std::string left = place + "left", held = place + "held";
  for (const auto& folder : {left, held}) {
    ASSERT_EQ(mkdir(folder.c_str(), 0777), 0);
    ASSERT_EQ(mkdir((folder + "/canary").c_str(), 0777), 0);
    const timeval old[2] = {{1, 0}, {1, 0}};
    ASSERT_EQ(utimes(folder.c_str(), old), 0);
  }
  int lock = open(held.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  ASSERT_EQ(flock(lock, LOCK_EX | LOCK_NB), 0);
  AttackOptions one;
  one.only = "fork bomb";
  EXPECT_EQ(run_attacks(one), 0);
  EXPECT_NE(access(left.c_str(), F_OK), 0);
  EXPECT_EQ(access((held + "/canary").c_str(), F_OK), 0);
  rmdir((held + "/canary").c_str());
  EXPECT_EQ(rmdir(held.c_str()), 0);
  close(lock);
}

TEST(DoctorAttack, UnknownAttackIsRefused) {
  AttackOptions none;
  none.only = "no such attack";
  EXPECT_EQ(run_attacks(none), 127);
}

}  // namespace
}  // namespace hotcell
