#include "sys/process.h"

#include <gtest/gtest.h>

#include <errno.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>

namespace hotcell::sys {
namespace {

void exit_seven(void*) noexcept { ::syscall(SYS_exit_group, 7); }

// In a child of ours: the filter cannot be taken off again.
int in_child(int (*body)()) {
  int pid = ::fork();
  if (pid == 0) ::_exit(body());
  int status = 0;
  return ::waitpid(pid, &status, 0) == pid && WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

// As container engines do by default.
bool hide_clone3() {
  std::array<sock_filter, 4> code = {{
      BPF_STMT(BPF_LD | BPF_W | BPF_ABS, 0),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_clone3, 0, 1),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | ENOSYS),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
  }};
  sock_fprog program{code.size(), code.data()};
  return ::prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 && ::prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) == 0;
}

int exit_code_of_a_child(std::uint64_t flags) {
  auto child = clone_vfork(flags, -1, exit_seven, nullptr);
  if (!child.ok()) return child.error().err;
  if (!child.value().pidfd.valid()) return 101;
  auto ended = reap(child.value().pid, true);
  if (!ended.ok() || !ended.value()) return 102;
  return WIFEXITED(ended.value()->status) ? WEXITSTATUS(ended.value()->status) : 103;
}

TEST(CloneVfork, RunsTheBodyAndGivesADescriptorOfTheChild) { EXPECT_EQ(exit_code_of_a_child(0), 7); }

TEST(CloneVfork, WorksWhereClone3IsHidden) {
  EXPECT_EQ(in_child([] { return hide_clone3() ? exit_code_of_a_child(0) : 100; }), 7);
}

TEST(CloneVfork, SaysSoWhenOnlyClone3CouldDoIt) {
  EXPECT_EQ(in_child([] { return hide_clone3() ? exit_code_of_a_child(CLONE_NEWTIME) : 100; }), ENOSYS);
}

}  // namespace
}  // namespace hotcell::sys
