// The read-back must not believe what it has planned: here the process it looks at is not what a plan would have made.
#include "core/launch/enforcement.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sched.h>
#include <signal.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/strings.h"

namespace hotcell {
namespace {

// A process in namespaces of its own, with a tmpfs as its root.
class Prisoner {
 public:
  explicit Prisoner(bool read_only) {
    int ready[2];
    if (::pipe2(ready, O_CLOEXEC) != 0) ::abort();
    pid_ = ::fork();
    if (pid_ == 0) {
      ::prctl(PR_SET_PDEATHSIG, SIGKILL);
      bool root = ::geteuid() == 0;
      bool ok = ::unshare(root ? CLONE_NEWNS : CLONE_NEWUSER | CLONE_NEWNS) == 0 &&
                ::mount(nullptr, "/", nullptr, MS_REC | MS_PRIVATE, nullptr) == 0 &&
                ::mount("tmpfs", "/tmp", "tmpfs", 0, nullptr) == 0 &&
                (!read_only || ::mount(nullptr, "/tmp", nullptr, MS_REMOUNT | MS_BIND | MS_RDONLY, nullptr) == 0) &&
                ::chdir("/tmp") == 0 && ::chroot(".") == 0;
      ::prctl(PR_SET_DUMPABLE, 1);
      if (!ok || ::write(ready[1], "r", 1) != 1) ::_exit(1);
      for (;;) ::pause();
    }
    ::close(ready[1]);
    char c = 0;
    ready_ = ::read(ready[0], &c, 1) == 1;
    ::close(ready[0]);
  }
  ~Prisoner() {
    ::kill(pid_, SIGKILL);
    ::waitpid(pid_, nullptr, 0);
  }
  int pid() const { return pid_; }
  bool ready() const { return ready_; }

 private:
  pid_t pid_ = -1;
  bool ready_ = false;
};

TEST(ReadBack, ARootThatCanBeWrittenIsNotReportedReadOnly) {
  auto host = Host::look();
  ASSERT_TRUE(host.ok());
  Plan plan;
  for (bool read_only : {true, false}) {
    Prisoner p(read_only);
    ASSERT_TRUE(p.ready());
    Enforcement e = read_back(p.pid(), plan, host.value(), nullptr);
    const LayerReport* root = e.find(Layer::kRootfs);
    ASSERT_NE(root, nullptr);
    EXPECT_EQ(root->status, read_only ? LayerStatus::kFull : LayerStatus::kPartial) << root->detail;
  }
}

TEST(ReadBack, AProcessInTheGroupOfAnotherCellIsNotInItsOwn) {
  auto host = Host::look();
  ASSERT_TRUE(host.ok());
  const CgroupHost& c = host.value().cgroup;
  if (c.version == CgroupVersion::kNone) {
    Plan plan;
    Enforcement e = read_back(::getpid(), plan, host.value(), nullptr);
    for (Layer layer : {Layer::kMemory, Layer::kCpu}) EXPECT_EQ(e.find(layer)->status, LayerStatus::kPartial);
    return;
  }
  Limits limits;
  limits.memory = 64_MiB;
  auto mine = create_cgroup(c, limits), other = create_cgroup(c, limits);
  ASSERT_TRUE(mine.ok() && other.ok());
  Prisoner p(true);
  ASSERT_TRUE(p.ready());
  for (int fd : mine.value()->tasks_fds()) {
    std::string pid = cat(p.pid());
    ASSERT_EQ(::write(fd, pid.data(), pid.size()), static_cast<ssize_t>(pid.size()));
  }
  Plan plan;
  for (bool own : {true, false}) {
    Enforcement e = read_back(p.pid(), plan, host.value(), (own ? mine : other).value().get());
    for (Layer layer : {Layer::kMemory, Layer::kCpu})
      EXPECT_EQ(e.find(layer)->status, own ? LayerStatus::kFull : LayerStatus::kPartial)
          << to_string(layer) << (own ? ", own" : ", another's");
    // Without a group it is the cell's own user namespace that counts processes.
    EXPECT_EQ(e.find(Layer::kProcesses)->detail == "cgroup pids", own);
  }
}

}  // namespace
}  // namespace hotcell
