// What the kernel takes for the objects of a cell alone, per second and with 8 in flight, against bare fork+exec: seven namespaces, /proc,
// /dev/pts, one tmpfs, the cgroups and two tasks. Nothing is applied, read back, mapped, measured or collected; networks serve again
// without a look. No cell can be made at a higher rate, whoever makes it.
// Usage: bench_cell_objects [seconds per slice] [slices]   as root
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cstdlib>
#include <string>

#include "measure.h"

namespace {

constexpr int kInFlight = 8;
constexpr std::size_t kStack = 32 << 10;
constexpr const char* kControllers[] = {"memory", "cpuacct", "pids"};

struct Slot {
  char* stacks = nullptr;  // init's and the program's
  int net = -1;
  int tasks[3] = {-1, -1, -1};
  pid_t pid = 0;
};

[[noreturn]] void give_up(const char* what) {
  std::perror(what);
  std::_Exit(1);
}

int program(void*) {
  char path[] = "/bin/true", name[] = "true";
  char* argv[] = {name, nullptr};
  char* env[] = {nullptr};
  ::execve(path, argv, env);
  ::_exit(127);
}

int init(void* slot) {
  auto& s = *static_cast<Slot*>(slot);
  constexpr unsigned long kFlags = MS_NOSUID | MS_NODEV;
  if (::mount("proc", "/proc", "proc", kFlags | MS_NOEXEC | MS_RDONLY, nullptr) != 0 || ::mount("devpts", "/dev/pts", "devpts", MS_NOSUID, "newinstance") != 0 ||
      ::mount("cell", "/tmp", "tmpfs", kFlags, "size=100M") != 0)
    give_up("mount");
  for (int fd : s.tasks)
    if (fd >= 0 && ::write(fd, "0", 1) != 1) give_up("cgroup");
  if (::unshare(CLONE_NEWCGROUP | CLONE_NEWUSER) != 0) give_up("unshare");
  pid_t pid = ::clone(program, s.stacks + 2 * kStack, CLONE_VM | SIGCHLD, nullptr);
  int status = 1;
  ::waitpid(pid, &status, __WALL);
  ::_exit(WIFEXITED(status) ? WEXITSTATUS(status) : 1);
}

class Cells {
 public:
  // In a mount namespace of its own, where what cells mount stays in theirs.
  Cells() {
    if (::unshare(CLONE_NEWNS) != 0 || ::mount(nullptr, "/", nullptr, MS_REC | MS_PRIVATE, nullptr) != 0) give_up("unshare");
    for (auto& s : slots_) {
      void* at = ::mmap(nullptr, 2 * kStack, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
      if (at == MAP_FAILED || ::unshare(CLONE_NEWNET) != 0) give_up("make ready");
      s.stacks = static_cast<char*>(at);
      s.net = ::open("/proc/self/ns/net", O_RDONLY | O_CLOEXEC);
      for (int i = 0; i < 3; ++i) {
        std::string folder = std::string("/sys/fs/cgroup/") + kControllers[i] + "/hotcell";
        ::mkdir(folder.c_str(), 0755);
        folder += "/objects-" + std::to_string(&s - slots_.data());
        ::mkdir(folder.c_str(), 0755);
        s.tasks[i] = ::open((folder + "/tasks").c_str(), O_WRONLY | O_CLOEXEC);  // none: a host without v1
      }
    }
  }
  ~Cells() {
    for (std::size_t n = 0; n < slots_.size(); ++n)
      for (const char* c : kControllers)
        for (int tries = 0; tries < 100 && ::rmdir((std::string("/sys/fs/cgroup/") + c + "/hotcell/objects-" + std::to_string(n)).c_str()) != 0 && errno == EBUSY; ++tries)
          ::usleep(10'000);
  }

  void start(Slot& s) {
    if (::setns(s.net, CLONE_NEWNET) != 0) give_up("setns");
    // A copy of our memory, as every cell has its own.
    s.pid = ::clone(init, s.stacks + kStack, CLONE_NEWPID | CLONE_NEWNS | CLONE_NEWIPC | CLONE_NEWUTS | SIGCHLD, &s);
    if (s.pid < 0) give_up("clone");
  }

  double per_second(double seconds) {
    auto begun = bench::Clock::now();
    auto elapsed = [&] { return std::chrono::duration<double>(bench::Clock::now() - begun).count(); };
    int done = 0;
    for (auto& s : slots_) start(s);
    for (int alive = kInFlight; alive > 0;) {
      int status = 0;
      pid_t pid = ::waitpid(-1, &status, __WALL);
      if (pid < 0 || !WIFEXITED(status) || WEXITSTATUS(status) != 0) give_up("a cell failed");
      ++done;
      for (auto& s : slots_) {
        if (s.pid != pid) continue;
        s.pid = 0;
        if (elapsed() < seconds) start(s);
        else --alive;
      }
    }
    return done / elapsed();
  }

 private:
  std::array<Slot, kInFlight> slots_;
};

double bare(double seconds) {
  auto begun = bench::Clock::now();
  auto elapsed = [&] { return std::chrono::duration<double>(bench::Clock::now() - begun).count(); };
  int alive = 0, done = 0;
  while (elapsed() < seconds || alive > 0) {
    for (; alive < kInFlight && elapsed() < seconds; ++alive)
      if (::fork() == 0) program(nullptr);
    int status;
    if (::wait(&status) < 0) give_up("wait");
    --alive;
    ++done;
  }
  return done / elapsed();
}

}  // namespace

int main(int argc, char** argv) {
  const double seconds = argc > 1 ? std::atof(argv[1]) : 1.0;
  const int slices = argc > 2 ? std::atoi(argv[2]) : 5;
  std::vector<double> a, b;
  Cells cells;
  for (int i = 0; i < slices; ++i) {
    a.push_back(bare(seconds));
    b.push_back(cells.per_second(seconds));
  }
  std::sort(a.begin(), a.end());
  std::sort(b.begin(), b.end());
  const double bare_rate = a[a.size() / 2], cell_rate = b[b.size() / 2];
  std::printf("bare fork+exec       %8.0f /s\nobjects of a cell    %8.0f /s\nratio %.2f\n", bare_rate, cell_rate, cell_rate / bare_rate);
}
