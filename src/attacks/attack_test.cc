// The attack program judged from outside: it must get through where nothing stops it, claim a block only for a refusal,
// and call anything else unclear.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstddef>
#include <functional>
#include <set>
#include <sstream>
#include <string>
#include <vector>

namespace {

constexpr int kBlocked = 0, kOpen = 10, kUnclear = 11;

struct Ran {
  int code = -1;
  std::string out;
};

Ran run(const std::vector<std::string>& words, const std::function<bool()>& first = [] { return true; }) {
  int ends[2];
  if (pipe2(ends, O_CLOEXEC) != 0) return {};
  pid_t pid = fork();
  if (pid == 0) {
    int null = open("/dev/null", O_RDONLY);
    if (dup2(null, 0) < 0 || dup2(ends[1], 1) < 0 || !first()) _exit(99);
    std::vector<char*> argv{const_cast<char*>(HOTCELL_ATTACK_PROGRAM)};
    for (const auto& w : words) argv.push_back(const_cast<char*>(w.c_str()));
    argv.push_back(nullptr);
    execv(HOTCELL_ATTACK_PROGRAM, argv.data());
    _exit(98);
  }
  close(ends[1]);
  Ran ran;
  char buf[4096];
  for (ssize_t n; (n = read(ends[0], buf, sizeof buf)) > 0;)
    if (ran.out.size() < (1 << 16)) ran.out.append(buf, static_cast<std::size_t>(n));
  close(ends[0]);
  int status = 0;
  waitpid(pid, &status, 0);
  ran.code = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
  return ran;
}

bool answer(long number, unsigned err) {
  sock_filter code[] = {BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, nr)),
                        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, static_cast<unsigned>(number), 0, 1),
                        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | err),
                        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW)};
  sock_fprog prog{4, code};
  return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 && prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &prog) == 0;
}

class Attack : public testing::Test {
 protected:
  void SetUp() override {
    char pattern[] = "/tmp/hotcell-attack-test-XXXXXX";
    ASSERT_NE(mkdtemp(pattern), nullptr);
    dir_ = pattern;
    file_ = dir_ + "/file";
    int fd = open(file_.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0644);
    ASSERT_EQ(write(fd, "text", 4), 4);
    close(fd);
    chmod(dir_.c_str(), 0777);
  }
  void TearDown() override { EXPECT_EQ(std::system(("rm -rf " + dir_).c_str()), 0); }
  std::string dir_, file_;
};

TEST_F(Attack, ListNamesEachOnceAndUnknownNamesAreRefused) {
  Ran r = run({"--list"});
  ASSERT_EQ(r.code, 0);
  std::set<std::string> names;
  std::istringstream lines(r.out);
  for (std::string line; std::getline(lines, line);)
    EXPECT_TRUE(names.insert(line.substr(0, line.find(' '))).second) << line;
  for (const char* must :
       {"fork-bomb", "memory", "cpu", "disk-fill", "output-flood", "network", "file-damage", "privilege"})
    EXPECT_TRUE(names.count(must)) << must;
  EXPECT_EQ(run({"no-such-attack"}).code, 125);
}

TEST_F(Attack, RefusalIsBlockedAndAnotherErrorIsUnclear) {
  Ran refused = run({"keyctl"}, [] {
    return answer(SYS_keyctl, EPERM) && answer(SYS_add_key, EPERM) && answer(SYS_request_key, ENOSYS);
  });
  EXPECT_EQ(refused.code, kBlocked) << refused.out;
  EXPECT_EQ(refused.out, "RESULT keyctl blocked keyctl EPERM, add_key EPERM, request_key ENOSYS\n");
  Ran odd = run({"bpf"}, [] { return answer(SYS_bpf, EXDEV); });
  EXPECT_EQ(odd.code, kUnclear);
  EXPECT_EQ(odd.out, "RESULT bpf unclear bpf map EXDEV\n");
}

TEST_F(Attack, OneWayThroughIsEnough) {
  // All of the family refused but one.
  Ran r = run({"keyctl"}, [] { return answer(SYS_keyctl, EPERM) && answer(SYS_request_key, EPERM); });
  EXPECT_EQ(r.code, kOpen) << r.out;
  EXPECT_EQ(r.out, "RESULT keyctl open add_key\n");
}

TEST_F(Attack, GotInMeansOpenEvenWhenTheArgumentsWereWrong) {
  Ran r = run({"new-mount-api"}, [] {
    for (long n : {SYS_open_tree, SYS_fsopen, SYS_fsmount, SYS_fspick, SYS_move_mount, SYS_mount_setattr})
      if (!answer(n, EPERM)) return false;
    return true;
  });
  EXPECT_EQ(r.code, kOpen) << r.out;  // fsconfig said EINVAL or EBADF: nobody stood in its way
  EXPECT_NE(r.out.find("open fsconfig"), std::string::npos) << r.out;
}

TEST_F(Attack, FilesAreReachedAndReallyDamaged) {
  EXPECT_EQ(run({"host-read", file_}).code, kOpen);
  EXPECT_EQ(run({"symlink-out", file_, dir_}).code, kOpen);
  EXPECT_EQ(run({"setuid-plant", dir_}).code, kOpen);
  EXPECT_EQ(run({"file-damage", file_, "only"}, [&] { return chdir(dir_.c_str()) == 0; }).code, kOpen);
  EXPECT_NE(access(file_.c_str(), F_OK), 0) << "it claimed damage and did none";
}

TEST_F(Attack, MemoryIsTouchedUntilRefused) {
  EXPECT_EQ(run({"memory", "24"}).code, kOpen);
  Ran r = run({"memory", "64"}, [] {
    rlimit as{32 << 20, 32 << 20};
    return setrlimit(RLIMIT_AS, &as) == 0;
  });
  EXPECT_EQ(r.code, kBlocked) << r.out;
  EXPECT_NE(r.out.find("ENOMEM"), std::string::npos);
}

TEST_F(Attack, LimitPerFileIsNoLimitOnTheDisk) {
  Ran r = run({"disk-fill", "1", dir_}, [] {
    rlimit size{1 << 17, 1 << 17};
    return setrlimit(RLIMIT_FSIZE, &size) == 0;
  });
  EXPECT_EQ(r.code, kOpen) << r.out;
}

TEST_F(Attack, ForkBombStaysUnderItsOwnCeilingAndSeesALimit) {
  EXPECT_EQ(run({"fork-bomb", "10"}).code, kOpen);
  // The limit counts all processes of a user. Root becomes one who has none; an ordinary user has none yet in a user
  // namespace of his own.
  Ran r = run({"fork-bomb", "10"}, [] {
    bool alone = geteuid() == 0 ? setresgid(64999, 64999, 64999) == 0 && setresuid(64999, 64999, 64999) == 0
                                : unshare(CLONE_NEWUSER) == 0;
    rlimit n{6, 6};
    return alone && setrlimit(RLIMIT_NPROC, &n) == 0;
  });
  EXPECT_EQ(r.code, kBlocked) << r.out;
  EXPECT_NE(r.out.find("EAGAIN at 6 tasks"), std::string::npos) << r.out;
}

TEST_F(Attack, DescriptorsAndEnvironmentLeftByTheCallerAreFound) {
  EXPECT_EQ(run({"inherited-fds"}, [] { return close_range(3, ~0U, CLOSE_RANGE_CLOEXEC) == 0; }).code, kBlocked);
  Ran leaked =
      run({"inherited-fds"}, [] { return close_range(3, ~0U, CLOSE_RANGE_CLOEXEC) == 0 && dup2(1, 77) == 77; });
  EXPECT_EQ(leaked.code, kOpen);
  EXPECT_NE(leaked.out.find(" 77"), std::string::npos);
  EXPECT_EQ(run({"environment", "leak-me-4711"}).code, kBlocked);
  EXPECT_EQ(run({"environment", "leak-me-4711"}, [] { return setenv("X", "leak-me-4711", 1) == 0; }).code, kOpen);
}

TEST_F(Attack, HostProcessIsSeenAndKilled) {
  pid_t victim = fork();
  if (victim == 0) {
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    for (;;) pause();
  }
  EXPECT_EQ(run({"host-processes", std::to_string(victim)}).code, kOpen);
  EXPECT_EQ(run({"signal-host", std::to_string(victim)}).code, kOpen);
  int status = 0;
  EXPECT_EQ(waitpid(victim, &status, 0), victim);
  EXPECT_TRUE(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);
  EXPECT_EQ(run({"signal-host", std::to_string(victim)}).code, kBlocked);  // ESRCH
}

TEST_F(Attack, NetworkNeedsToBeToldWhere) { EXPECT_EQ(run({"network"}).code, kUnclear); }

#if defined(__x86_64__)
TEST_F(Attack, ForeignAbiKilledByAFilterIsBlocked) {
  Ran r = run({"x32"}, [] {
    sock_filter code[] = {BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, nr)),
                          BPF_JUMP(BPF_JMP | BPF_JGE | BPF_K, 0x40000000U, 0, 1),
                          BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS),
                          BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW)};
    sock_fprog prog{4, code};
    return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 && prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &prog) == 0;
  });
  EXPECT_EQ(r.code, kBlocked);
  EXPECT_EQ(r.out, "RESULT x32 blocked x32 SIGSYS\n");
}
#endif

}  // namespace
