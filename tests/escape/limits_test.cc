// ME, CP, DK: memory, time, processes, disk. As an ordinary user without cgroups memory and CPU are sampled: the layers
// say `partial`, and the run still ends for the same reason.
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <sys/inotify.h>
#include <sys/ipc.h>
#include <sys/mman.h>
#include <sys/shm.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <cstring>
#include <new>

#include "escape/escape.h"

namespace hotcell::testing {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;
constexpr std::size_t kMiB = 1 << 20;

// Touches `size` bytes and keeps them.
bool take_memory(std::size_t size) {
  void* at = ::mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (at == MAP_FAILED) return false;
  for (std::size_t i = 0; i < size; i += 4096) static_cast<volatile char*>(at)[i] = 1;
  return true;
}
void burn(milliseconds cpu) {
  timespec t;
  do ::clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
  while (t.tv_sec * 1000 + t.tv_nsec / 1000000 < cpu.count());
}
// Bytes that fit; errno says why it ended.
std::size_t fill(const char* path, std::size_t at_most) {
  static char block[64 << 10];
  std::memset(block, 'x', sizeof block);
  int fd = ::open(path, O_WRONLY | O_CREAT | O_APPEND, 0644);
  std::size_t total = 0;
  while (fd >= 0 && total < at_most) {
    ssize_t n = ::write(fd, block, sizeof block);
    if (n <= 0) break;
    total += static_cast<std::size_t>(n);
  }
  int err = errno;
  ::close(fd);
  errno = err;
  return total;
}

HOTCELL_PROGRAM(memory_bomb) {
  while (take_memory(kMiB)) {
  }
  for (;;) ::usleep(1000);  // refused rather than killed: hold what there is
}
HOTCELL_PROGRAM(memory_40) { return take_memory(40 * kMiB) ? 0 : 1; }
HOTCELL_PROGRAM(memory_in_children) {
  for (int i = 0; i < 6; ++i)
    if (::fork() == 0) {
      take_memory(24 * kMiB);
      for (;;) ::pause();
    }
  for (;;) ::pause();
}
HOTCELL_PROGRAM(memory_in_memfds) {
  for (int i = 0; i < 40; ++i) {
    int fd = ::memfd_create("x", 0);
    if (fd < 0 || ::fallocate(fd, 0, 0, 8 * kMiB) != 0) return ::dprintf(1, "memfd %d\n", errno), 3;
  }
  ::sleep(1);
  return 0;
}
HOTCELL_PROGRAM(memory_in_segments) {
  for (int i = 0; i < 40; ++i) {
    int id = ::shmget(IPC_PRIVATE, 8 * kMiB, 0600);
    if (id < 0) return ::dprintf(1, "shmget %d\n", errno), 3;
    void* at = ::shmat(id, nullptr, 0);
    std::memset(at, 1, 8 * kMiB);
    ::shmdt(at);
  }
  ::sleep(1);
  return 0;
}
HOTCELL_PROGRAM(memory_that_is_shared) {
  void* at = ::mmap(nullptr, 100 * kMiB, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  if (at == MAP_FAILED) return 2;
  for (std::size_t i = 0; i < 100 * kMiB; i += 4096) static_cast<volatile char*>(at)[i] = 1;
  ::sleep(1);
  return 0;
}
// As much in files as in memory, again and again, beside some memory of its own.
HOTCELL_PROGRAM(files_come_and_go) {
  if (!take_memory(40 * kMiB)) return 2;
  for (int i = 0; i < 25; ++i) {
    if (fill("/tmp/file", 50 * kMiB) != 50 * kMiB || ::unlink("/tmp/file") != 0) return 3;
    if (fill("/work/file", 10 * kMiB) != 10 * kMiB || ::truncate("/work/file", 0) != 0) return 4;
  }
  return 0;
}
HOTCELL_PROGRAM(inotify_hoard) {
  int counts[2];
  if (::pipe(counts) != 0) return 2;
  for (int i = 0; i < 3; ++i) {
    if (::fork() != 0) continue;
    int n = 0;
    while (::inotify_init1(0) >= 0) ++n;
    if (::write(counts[1], &n, sizeof n) != sizeof n) ::_exit(1);
    for (;;) ::pause();
  }
  int total = 0;
  for (int i = 0, n = 0; i < 3; ++i) total += ::read(counts[0], &n, sizeof n) == sizeof n ? n : 1000;
  ::dprintf(1, "%d instances, %s", total, first_line("/proc/sys/user/max_inotify_watches").c_str());
  ::usleep(200000);
  return 0;
}
HOTCELL_PROGRAM(busy_forgotten_children) {
  ::signal(SIGCHLD, SIG_IGN);
  for (;;) {
    if (::fork() == 0) {
      burn(milliseconds(80));
      ::_exit(0);
    }
    while (::wait(nullptr) < 0 && errno == EINTR) {
    }
  }
}
HOTCELL_PROGRAM(fill_40_on_disk) { return fill("file", 40 * kMiB) == 40 * kMiB ? 0 : 1; }
HOTCELL_PROGRAM(busy) {
  burn(seconds(60));
  return 0;
}
HOTCELL_PROGRAM(busy_children) {
  for (;;) {
    pid_t pid = ::fork();
    if (pid == 0) {
      burn(milliseconds(80));
      ::_exit(0);
    }
    ::waitpid(pid, nullptr, 0);
  }
}
volatile sig_atomic_t g_alarms = 0;
HOTCELL_PROGRAM(alarm_storm) {
  ::signal(SIGALRM, [](int) { g_alarms = g_alarms + 1; });
  itimerval often{{0, 50}, {0, 50}};
  if (::setitimer(ITIMER_REAL, &often, nullptr) != 0) return 2;
  burn(milliseconds(300));
  return g_alarms > 100 ? 0 : 3;
}
HOTCELL_PROGRAM(busy_400ms) {
  burn(milliseconds(400));
  return 0;
}
HOTCELL_PROGRAM(sleeper) {
  for (;;) ::pause();
}
HOTCELL_PROGRAM(many_processes) {
  for (int i = 0; i < 1000; ++i) {
    pid_t pid = ::fork();
    if (pid < 0) {
      ::dprintf(1, "%d %d\n", i, errno);
      return 1;
    }
    if (pid == 0)
      for (;;) ::pause();
  }
  return 0;
}
void* wait_for_ever(void*) {
  for (;;) ::pause();
}
HOTCELL_PROGRAM(many_threads) {
  for (int i = 0; i < 1000; ++i) {
    pthread_t t;
    if (int err = ::pthread_create(&t, nullptr, wait_for_ever, nullptr); err != 0) {
      ::dprintf(1, "%d %d\n", i, err);
      return 1;
    }
  }
  return 0;
}
HOTCELL_PROGRAM(fork_bomb) {
  for (;;) ::fork();
}
HOTCELL_PROGRAM(fill_disk) {
  std::size_t total = 0;
  int err = 0;
  for (const char* path : {"/work/a", "/tmp/b", "/dev/shm/c"}) {
    total += fill(path, 6 * kMiB);
    err = errno;
  }
  ::dprintf(1, "%zu %d\n", total / kMiB, err);
  return 1;
}
HOTCELL_PROGRAM(fill_deleted) {
  for (int i = 0; i < 8; ++i) {
    int fd = ::open("x", O_WRONLY | O_CREAT | O_TRUNC, 0644);
    ::unlink("x");
    if (::fallocate(fd, 0, 0, 2 * kMiB) != 0) {
      ::dprintf(1, "%d %d\n", i, errno);
      return 1;
    }
  }
  return 0;
}
HOTCELL_PROGRAM(one_large_file) {
  int fd = ::open("x", O_WRONLY | O_CREAT, 0644);
  return ::ftruncate(fd, 1L << 40) == 0 ? 0 : 1;
}
HOTCELL_PROGRAM(many_files) {
  char name[32];
  for (int i = 0; i < 1000000; ++i) {
    std::snprintf(name, sizeof name, "%d", i);
    int fd = ::open(name, O_WRONLY | O_CREAT, 0644);
    if (fd < 0) {
      ::dprintf(1, "%d %d\n", i, errno);
      return 1;
    }
    ::close(fd);
  }
  return 0;
}
HOTCELL_PROGRAM(odd_names) {
  if (::mkdir("new\nline", 0700) != 0 || ::mkdir("-rf", 0) != 0 || ::mkdir("\xff\xfe\x1b[2J", 0700) != 0) return 1;
  for (int i = 0; i < 3000; ++i)
    if (::mkdir("d", 0700) != 0 || ::chdir("d") != 0) return 2;
  return 0;
}
HOTCELL_PROGRAM(many_descriptors) {
  int n = 0;
  while (::dup(0) >= 0) ++n;
  ::dprintf(1, "%d %d\n", n + 3, errno);
  return 0;
}
HOTCELL_PROGRAM(dump_core) { ::abort(); }
HOTCELL_PROGRAM(write_anywhere) {
  for (const char* path : {"/work/x", "/tmp/x", "/dev/shm/x"})
    if (::open(path, O_WRONLY | O_CREAT, 0644) >= 0 || errno != EROFS) return 1;
  return 0;
}

class Limited : public SceneTest {
 protected:
  Limited() { policy_.limits.wall = seconds(30); }
  void expect_layer(const Report& r, Layer layer) {
    EXPECT_EQ(layer_status(r, layer), has_cgroups() ? LayerStatus::kFull : LayerStatus::kPartial) << to_string(layer);
  }
  Policy policy_ = test_policy();
};

TEST_F(Limited, MemoryBombEndsForMemory) {
  policy_.limits.memory = 64_MiB;
  policy_.limits.disk = 8_MiB;
  Report r = run(policy_, program("memory_bomb"));
  EXPECT_EQ(exit_reason(r), "memory") << describe(r);
  EXPECT_EQ(r.verdict.cli_exit_code(), 137);
  EXPECT_LT(r.usage.memory_peak.n, 128 * kMiB);
  expect_layer(r, Layer::kMemory);
}

TEST_F(Limited, WhatFitsIsNotKilled) {
  policy_.limits.memory = 64_MiB;
  Report r = run(policy_, program("memory_40"));
  EXPECT_EQ(r.verdict.exit_code, 0) << describe(r);
  EXPECT_GE(r.usage.memory_peak.n, 40 * kMiB);
}

TEST_F(Limited, ALimitIsOfThisRunAlone) {
  policy_.limits.memory = 32_MiB;
  policy_.limits.disk = 1_MiB;
  EXPECT_EQ(exit_reason(run(policy_, program("memory_bomb"))), "memory");
  policy_.limits.memory = 64_MiB;
  EXPECT_EQ(run(policy_, program("memory_40")).verdict.exit_code, 0);
}

TEST_F(Limited, MemorySpreadOverChildrenIsSummed) {
  policy_.limits.memory = 64_MiB;
  policy_.limits.disk = 8_MiB;
  Report r = run(policy_, program("memory_in_children"));
  EXPECT_EQ(exit_reason(r), "memory") << describe(r);
}

TEST_F(Limited, MemoryInMemfdsIsCounted) {
  policy_.limits.memory = 64_MiB;
  policy_.limits.disk = 16_MiB;
  Report r = run(policy_, program("memory_in_memfds"));
  expect_layer(r, Layer::kMemory);
  if (has_cgroups()) {
    EXPECT_EQ(exit_reason(r), "memory") << describe(r);
  } else {
    // Nobody would count pages that no process has mapped, so there are none.
    EXPECT_EQ(r.out, "memfd 38\n") << describe(r);
  }
}

TEST_F(Limited, MemoryInSegmentsIsCounted) {
  policy_.limits.memory = 64_MiB;
  policy_.limits.disk = 16_MiB;
  Report r = run(policy_, program("memory_in_segments"));
  if (has_cgroups()) {
    EXPECT_EQ(exit_reason(r), "memory") << describe(r);
  } else {
    EXPECT_EQ(r.out, "shmget 38\n") << describe(r);
  }
}

// However much room its files would have: what is shared lies in tmpfs as they do, and is no file.
TEST_F(Limited, MemoryThatIsSharedIsNoDisk) {
  policy_.limits.memory = 64_MiB;
  policy_.limits.disk = 256_MiB;
  Report r = run(policy_, program("memory_that_is_shared"));
  EXPECT_EQ(exit_reason(r), "memory") << describe(r);
  expect_layer(r, Layer::kMemory);
  r = run(policy_, program("memory_in_memfds"));
  if (has_cgroups()) {
    EXPECT_EQ(exit_reason(r), "memory") << describe(r);
  }
}

TEST_F(Limited, FilesThatComeAndGoAreNotTakenForMemory) {
  policy_.limits.memory = 64_MiB;
  policy_.limits.disk = 96_MiB;
  Report r = run(policy_, program("files_come_and_go"));
  EXPECT_EQ(r.verdict.exit_code, 0) << describe(r);
}

std::uint64_t inotify_most(const char* what) { return std::stoull(read_text(std::string("/proc/sys/fs/inotify/max_user_") + what)); }
std::string inotify_share() {
  return std::to_string(std::max<std::uint64_t>(inotify_most("instances") / 8, 4)) + " instances, " +
         std::to_string(std::max<std::uint64_t>(inotify_most("watches") / 8, 512));
}

// The kernel counts them for whoever made the cell, too, who has no more than these for everything on the machine.
TEST_F(Limited, TheCallersInotifyInstancesAreNotUsedUp) {
  int outside = -1;
  Request request = program("inotify_hoard");
  request.on_output = [&](Stream, std::string_view) {
    int fd = ::inotify_init1(IN_CLOEXEC);
    outside = fd >= 0 ? 0 : errno;
    if (fd >= 0) ::close(fd);
  };
  Report r = run(policy_, std::move(request));
  EXPECT_EQ(r.out, inotify_share()) << describe(r);
  EXPECT_EQ(outside, 0) << "while the cell has what it could get, its caller gets none";
}

// Those of one template have half together.
TEST_F(Limited, StampedCellsLeaveTheCallerSomeInotify) {
  int outside = -1;
  Request request = carried_program("inotify_hoard");
  request.on_output = [&](Stream, std::string_view) {
    int fd = ::inotify_init1(IN_CLOEXEC);
    outside = fd >= 0 ? 0 : errno;
    if (fd >= 0) ::close(fd);
  };
  Report r = run_stamped(default_policy(), std::move(request));
  // Under root every cell is another user, with a count of its own: together they must not have all of it either.
  std::uint64_t most = std::max<std::uint64_t>(inotify_most("instances") / (is_root() ? 8 : 2), 4);
  EXPECT_TRUE(r.out.starts_with(std::to_string(most) + " instances")) << describe(r);
  EXPECT_EQ(outside, 0);
}

TEST_F(Limited, CpuOfChildrenThatNobodyReapsIsCounted) {
  policy_.limits.cpu_time = milliseconds(500);
  policy_.limits.wall = seconds(10);
  Report r = run(policy_, program("busy_forgotten_children"));
  EXPECT_EQ(exit_reason(r), "timeout_cpu") << describe(r);
  EXPECT_LT(r.duration, seconds(5));
}

TEST_F(Limited, PrivateFilesComeOnTopOfMemory) {
  policy_.limits.memory = 32_MiB;
  policy_.limits.disk = 64_MiB;
  Report r = run(policy_, program("fill_40_on_disk"));
  EXPECT_EQ(r.verdict.exit_code, 0) << describe(r);
}

TEST_F(Limited, BusyLoopEndsForCpuTime) {
  policy_.limits.cpu_time = milliseconds(300);
  Report r = run(policy_, program("busy"));
  EXPECT_EQ(exit_reason(r), "timeout_cpu") << describe(r);
  EXPECT_EQ(r.verdict.status(), RunStatus::kTimeout);
  EXPECT_EQ(r.verdict.cli_exit_code(), 124);
  EXPECT_GE(r.usage.cpu, milliseconds(250));
  EXPECT_LT(r.usage.cpu, seconds(3));
  expect_layer(r, Layer::kCpu);
}

TEST_F(Limited, CpuSpreadOverChildrenIsSummed) {
  policy_.limits.cpu_time = milliseconds(500);
  Report r = run(policy_, program("busy_children"));
  EXPECT_EQ(exit_reason(r), "timeout_cpu") << describe(r);
}

TEST_F(Limited, AStormOfTimersIsNoTimeout) {
  policy_.limits.cpu_time = seconds(5);
  Report r = run(policy_, program("alarm_storm"));
  EXPECT_EQ(r.verdict.exit_code, 0) << describe(r);
}

TEST_F(Limited, CpuQuotaStretchesTheWork) {
  policy_.limits.cpus = 0.25;
  Report r = run(policy_, program("busy_400ms"));
  EXPECT_EQ(r.verdict.exit_code, 0) << describe(r);
  if (has_cgroups()) {
    EXPECT_GE(r.duration, milliseconds(900));
  } else {
    expect_layer(r, Layer::kCpu);
  }
}

TEST_F(Limited, SleeperEndsForWallTimeAndTheHookIsCalled) {
  policy_.limits.wall = milliseconds(700);
  int called = 0;
  Request request = program("sleeper");
  request.on_timeout = [&] { ++called; };
  Report r = run(policy_, std::move(request));
  EXPECT_EQ(exit_reason(r), "timeout_wall") << describe(r);
  EXPECT_EQ(r.verdict.cli_exit_code(), 124);
  EXPECT_EQ(called, 1);
  EXPECT_GE(r.duration, milliseconds(700));
  EXPECT_LT(r.duration, seconds(5));
}

TEST_F(Limited, TheLargestLimitsThereAreCanBeHad) {
  policy_.limits.processes = 4194304;
  policy_.limits.open_files = 1048576;
  policy_.limits.wall = policy_.limits.cpu_time = std::chrono::hours(1'000'000);
  Report r = run(policy_, program("memory_40"));
  EXPECT_EQ(r.verdict.exit_code, 0) << describe(r);
}

TEST_F(Limited, TooManyProcessesIsTheReason) {
  for (const char* name : {"many_processes", "many_threads"}) {
    Report r = run(policy_, program(name));
    // Without a cgroup the ceiling is as firm, but the kernel does not tell that it was hit: only a sample may.
    EXPECT_TRUE(exit_reason(r) == "processes" || (!has_cgroups() && exit_reason(r) == "exited")) << name << ": " << describe(r);
    // The first is the program itself; init is not counted.
    EXPECT_EQ(r.out, "9 11\n") << name << " (created, errno)";
    EXPECT_EQ(layer_status(r, Layer::kProcesses), LayerStatus::kFull);
  }
}

TEST_F(Limited, AForkBombStaysWithinItsLimit) {
  policy_.limits.wall = seconds(1);
  Report r = run(policy_, program("fork_bomb"));
  EXPECT_EQ(exit_reason(r), "timeout_wall") << describe(r);
  EXPECT_LE(r.usage.processes_peak, policy_.limits.processes);
}

TEST_F(Limited, TheWorkspaceTmpAndShmShareOneDisk) {
  policy_.limits.disk = 10_MiB;
  Report r = run(policy_, program("fill_disk"));
  EXPECT_EQ(exit_reason(r), "disk") << describe(r);
  EXPECT_EQ(r.out, "10 28\n") << "MiB written, ENOSPC";
  EXPECT_EQ(r.verdict.cli_exit_code(), 137);
}

TEST_F(Limited, DeletedFilesStillCount) {
  policy_.limits.disk = 10_MiB;
  Report r = run(policy_, program("fill_deleted"));
  EXPECT_EQ(r.out, "5 28\n") << describe(r);
}

TEST_F(Limited, AFileLargerThanTheDiskIsTheDisksReason) {
  Report r = run(policy_, program("one_large_file"));
  EXPECT_EQ(r.verdict.signal, SIGXFSZ) << describe(r);
  EXPECT_EQ(exit_reason(r), "disk");
}

TEST_F(Limited, InodesAreBounded) {
  policy_.limits.disk = 1_MiB;
  Report r = run(policy_, program("many_files"));
  EXPECT_EQ(exit_reason(r), "disk") << describe(r);
  int made = 0, err = 0;
  ASSERT_EQ(std::sscanf(r.out.c_str(), "%d %d", &made, &err), 2) << describe(r);
  EXPECT_EQ(err, ENOSPC);
  EXPECT_LT(made, 3000);
}

TEST_F(Limited, OddNamesAndDeepFoldersGoAwayWithTheCell) {
  Report r = run(policy_, program("odd_names"));
  EXPECT_EQ(r.verdict.exit_code, 0) << describe(r);
}

// What making a cell opens itself does not count: as many grants as one likes, under any limit.
TEST_F(Limited, FewOpenFilesDoNotKeepACellFromBeingMade) {
  TempDir dir;
  Policy policy = strict_policy();
  policy.limits.wall = seconds(30);
  policy.filesystem.grants = test_policy().filesystem.grants;
  for (std::uint32_t files : {5u, 8u, 12u, 14u, 15u, 20u}) {
    policy.limits.open_files = files;
    for (int grants = 0; grants < 6; ++grants) {
      std::string folder = dir.path() + "/" + std::to_string(files) + "-" + std::to_string(grants);
      ASSERT_EQ(::mkdir(folder.c_str(), 0755), 0);
      policy.filesystem.grants.push_back({folder, Access::kRead, ""});
      Report r = run(policy, program("many_descriptors"));
      EXPECT_EQ(r.out, std::to_string(files) + " " + std::to_string(EMFILE) + "\n") << grants + 1 << " grants: " << describe(r);
    }
    policy.filesystem.grants = test_policy().filesystem.grants;
  }
}

TEST_F(Limited, OpenFilesAreBounded) {
  policy_.limits.open_files = 50;
  Report r = run(policy_, program("many_descriptors"));
  EXPECT_EQ(r.out, "50 " + std::to_string(EMFILE) + "\n") << describe(r);
}

TEST_F(Limited, NoCoreIsDumped) {
  Request request = program("dump_core");
  request.workdir = scene_->path("rw");
  Report r = run(scene_->policy(), std::move(request));
  EXPECT_EQ(r.verdict.signal, SIGABRT) << describe(r);
  EXPECT_TRUE(matches(scene_->path("rw/*core*")).empty());
}

TEST_F(Limited, StrictWritesNowhere) {
  Policy strict = strict_policy();
  strict.filesystem.grants.push_back({self_path(), Access::kRead, ""});
  Report r = run(strict, program("write_anywhere"));
  EXPECT_EQ(r.verdict.exit_code, 0) << describe(r);
}

TEST_F(Limited, AWarningComesBeforeTheLimit) {
  policy_.limits.wall = seconds(1);
  std::vector<std::string> types;
  std::string limit;
  Request request = program("sleeper");
  request.on_event = [&](const Event& e) {
    types.push_back(e.type);
    if (auto it = e.fields.find("limit_type"); it != e.fields.end()) limit = it->second;
  };
  run(policy_, std::move(request));
  ASSERT_EQ(types, (std::vector<std::string>{"sandbox.created", "execution.started", "limit.warning",
                                             "execution.killed", "sandbox.destroyed"}));
  EXPECT_EQ(limit, "timeout");
}

}  // namespace
}  // namespace hotcell::testing
