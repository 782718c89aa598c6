// What one parked cell costs in memory, init and network namespace included: the whole machine's available memory
// before and after parking many. Beside it what no cell can do without: two tasks that do nothing, without memory of their
// own, in the same seven namespaces with lo up; no root, no mounts, no cgroup, no filter, no pipe.
// Usage: bench_parked_memory [cells]
#include <net/if.h>
#include <sched.h>
#include <signal.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <vector>

#include "hotcell/launcher.h"
#include "memory.h"

using namespace hotcell;

namespace {

constexpr std::size_t kStack = 16 << 10;

int wait_for_ever(void*) {
  for (;;) ::pause();
}

int first_task(void* stacks) {
  int fd = ::socket(AF_INET, SOCK_DGRAM, 0);
  ifreq lo{};
  std::strcpy(lo.ifr_name, "lo");
  lo.ifr_flags = IFF_UP;
  if (fd < 0 || ::ioctl(fd, SIOCSIFFLAGS, &lo) < 0) ::_exit(1);
  ::close(fd);
  if (::clone(wait_for_ever, static_cast<char*>(stacks) + kStack, CLONE_VM | SIGCHLD, nullptr) < 0) ::_exit(1);
  return wait_for_ever(nullptr);
}

class BareTasks {
 public:
  void add(std::size_t count) {
    for (std::size_t i = 0; i < count; ++i) {
      void* stacks = ::mmap(nullptr, 2 * kStack, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
      if (stacks == MAP_FAILED) std::exit(1);
      constexpr int kAll = CLONE_NEWUSER | CLONE_NEWPID | CLONE_NEWNS | CLONE_NEWNET | CLONE_NEWIPC | CLONE_NEWUTS | CLONE_NEWCGROUP;
      pid_t pid = ::clone(first_task, static_cast<char*>(stacks) + 2 * kStack, CLONE_VM | kAll | SIGCHLD, stacks);
      if (pid < 0) std::exit(1);
      pids_.push_back(pid);
    }
  }
  ~BareTasks() {
    for (pid_t pid : pids_) ::kill(pid, SIGKILL);
    for (pid_t pid : pids_) ::waitpid(pid, nullptr, __WALL);
  }

 private:
  std::vector<pid_t> pids_;
};

double bare_kib(std::size_t count) {
  BareTasks tasks;
  tasks.add(8);
  double before = bench::settled_kib();
  tasks.add(count);
  return (before - bench::settled_kib()) / static_cast<double>(count);
}

double parked_kib(std::size_t count) {
  auto launcher = Launcher::create();
  if (!launcher) std::exit(1);
  Policy policy = default_policy();
  auto fill = [&](std::size_t n) {
    if (!launcher.value()->park(policy, n)) std::exit(1);
    for (int i = 0; i < 100'000 && launcher.value()->parked(policy) < n; ++i)
      if (!launcher.value()->step(std::chrono::milliseconds(10))) std::exit(1);
    if (launcher.value()->parked(policy) < n) std::exit(1);
  };
  fill(8);  // caches are warm, lists have their first pages
  double before = bench::settled_kib();
  fill(8 + count);
  return (before - bench::settled_kib()) / static_cast<double>(count);
}

}  // namespace

int main(int argc, char** argv) {
  auto count = static_cast<std::size_t>(argc > 1 ? std::atoi(argv[1]) : 400);
  double bare = bare_kib(count);
  double parked = parked_kib(count);
  std::printf("%zu of each\ntwo idle tasks in seven namespaces, nothing else %.0f KiB\nper cell %.0f KiB\nratio %.2f\n", count, bare, parked, parked / bare);
}
