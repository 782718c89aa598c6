// Using up what is limited. Each has a ceiling of its own, so that without a sandbox it proves its point and stops.
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "attack.h"

namespace attack {
namespace {

constexpr long kMiB = 1L << 20;
constexpr size_t kPage = 4096;

double now() {
  timespec t{};
  clock_gettime(CLOCK_MONOTONIC, &t);
  return static_cast<double>(t.tv_sec) + static_cast<double>(t.tv_nsec) * 1e-9;
}

// Children of a bomb must not outlive it where nothing else ends them.
void die_with_parent() { prctl(PR_SET_PDEATHSIG, SIGKILL); }

// Children fork in their turn; a shared counter holds the number of tasks and keeps the bomb finite.
struct Bomb {
  int tasks;
  int refusals;
  int err;
};
void grow(volatile Bomb* bomb, int ceiling) {
  for (;;) {
    // Taken before the fork, so that however many grow at once the ceiling holds.
    if (__atomic_add_fetch(&bomb->tasks, 1, __ATOMIC_SEQ_CST) > ceiling) {
      __atomic_sub_fetch(&bomb->tasks, 1, __ATOMIC_SEQ_CST);
      return;
    }
    pid_t pid = fork();
    if (pid == 0) die_with_parent();
    if (pid >= 0) continue;
    bomb->err = errno;
    __atomic_sub_fetch(&bomb->tasks, 1, __ATOMIC_SEQ_CST);
    if (__atomic_add_fetch(&bomb->refusals, 1, __ATOMIC_SEQ_CST) > 200) return;
    usleep(1000);
  }
}

Outcome fork_bomb(const Args& args) {
  const int limit = static_cast<int>(args.number(0, 64));
  void* shared = mmap(nullptr, kPage, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  if (shared == MAP_FAILED) return unclear("mmap %s", errno_name(errno));
  auto* bomb = static_cast<volatile Bomb*>(shared);
  bomb->tasks = 1;
  prctl(PR_SET_CHILD_SUBREAPER, 1);  // where it is allowed, no zombie is left to the host's init
  pid_t first = fork();
  if (first < 0)
    return limit <= 1 && errno == EAGAIN ? blocked("fork EAGAIN at 1 task") : unclear("fork %s", errno_name(errno));
  if (first == 0) {
    setpgid(0, 0);
    die_with_parent();
    __atomic_add_fetch(&bomb->tasks, 1, __ATOMIC_SEQ_CST);
    grow(bomb, limit + 40);
    for (;;) pause();
  }
  for (double end = now() + 3; now() < end;) {
    usleep(20000);
    if (bomb->tasks >= limit + 40 || bomb->refusals > 200) break;
  }
  const int tasks = bomb->tasks, refusals = bomb->refusals, err = bomb->err;
  kill(-first, SIGKILL);
  while (waitpid(-1, nullptr, 0) > 0) {
  }
  if (tasks > limit) return open("%d tasks, limit %d", tasks, limit);
  if (refusals == 0) return unclear("%d tasks and no refusal", tasks);
  return err == EAGAIN ? blocked("fork EAGAIN at %d tasks", tasks)
                       : unclear("fork %s at %d tasks", errno_name(err), tasks);
}

bool touch(long mib) {
  void* at = mmap(nullptr, static_cast<size_t>(mib * kMiB), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (at == MAP_FAILED) return false;
  auto* bytes = static_cast<volatile char*>(at);
  for (long i = 0; i < mib * kMiB; i += static_cast<long>(kPage)) bytes[i] = 1;
  return true;
}

// Held for a while before the claim, so that a limit which is enforced by sampling has its chance.
Outcome memory(const Args& args) {
  const long mib = args.number(0, 512);
  for (long had = 0; had < mib; had += 8)
    if (!touch(8))
      return errno == ENOMEM ? blocked("mmap ENOMEM at %ld MiB", had) : unclear("mmap %s", errno_name(errno));
  usleep(600000);
  return open("%ld MiB in use", mib);
}

// Each piece stays under the limit, all of them do not: a per-process limit is no limit.
Outcome memory_spread(const Args& args) {
  const long each = args.number(0, 48);
  const int pieces = static_cast<int>(args.number(1, 8));
  int ends[2];
  if (pipe(ends) != 0) return unclear("pipe %s", errno_name(errno));
  int alive = 0, refused = 0;
  for (int i = 0; i < pieces; ++i) {
    pid_t pid = fork();
    if (pid == 0) {
      die_with_parent();
      char c = touch(each) ? 'y' : 'n';
      if (write(ends[1], &c, 1) != 1) _exit(1);
      for (;;) pause();
    }
    if (pid < 0) return unclear("fork %s", errno_name(errno));
  }
  for (int i = 0; i < pieces; ++i) {
    pollfd p{ends[0], POLLIN, 0};
    char c = 0;
    if (poll(&p, 1, 5000) != 1 || read(ends[0], &c, 1) != 1) return unclear("a piece did not answer");
    (c == 'y' ? alive : refused)++;
  }
  usleep(600000);
  if (refused != 0) return blocked("mmap ENOMEM in %d of %d", refused, pieces);
  return open("%d pieces of %ld MiB in use", alive, each);
}

Outcome cpu(const Args& args) {
  const double seconds = static_cast<double>(args.number(0, 20));
  const double end = now() + seconds;
  // Three of them: a limit per process would let each have its own share.
  for (int i = 0; i < 2; ++i) {
    if (fork() == 0) {
      die_with_parent();
      while (now() < end) {
      }
      _exit(0);
    }
  }
  signal(SIGXCPU, SIG_IGN);
  while (now() < end) {
  }
  return open("three processes ran for %ld s", static_cast<long>(seconds));
}

long fill(const char* dir, long most, int* err) {
  char path[256];
  snprintf(path, sizeof path, "%s/fill-%d", dir, getpid());
  static char block[1 << 16];
  memset(block, 'x', sizeof block);
  long total = 0;
  // One file after another: a file size limit alone must not look like a limit on the disk.
  for (int part = 0; total < most && part < 64; ++part) {
    char name[300];
    snprintf(name, sizeof name, "%s.%d", path, part);
    int fd = ::open(name, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    if (fd < 0) {
      *err = errno;
      break;
    }
    long here = 0;
    while (total < most) {
      ssize_t n = write(fd, block, sizeof block);
      if (n <= 0) {
        *err = errno;
        break;
      }
      total += n;
      here += n;
    }
    close(fd);
    if (here == 0) break;
  }
  return total;
}

Outcome disk_fill(const Args& args) {
  const long limit = args.number(0, 16) * kMiB;
  signal(SIGXFSZ, SIG_IGN);
  const char* standard[] = {"/work", "/tmp", "/dev/shm"};
  long total = 0;
  int err = 0, last = 0;
  const int places = args.count > 1 ? args.count - 1 : 3;
  for (int i = 0; i < places; ++i) {
    total += fill(args.count > 1 ? args.values[i + 1] : standard[i], limit + 8 * kMiB, &last);
    if (last == ENOSPC || last == EDQUOT || last == EFBIG || err == 0) err = last;
  }
  if (total > limit + kMiB) return open("%ld MiB written, limit %ld", total / kMiB, limit / kMiB);
  if (err != ENOSPC && err != EDQUOT && err != EFBIG)
    return unclear("write %s after %ld KiB", errno_name(err), total / 1024);
  return blocked("write %s after %ld KiB", errno_name(err), total / 1024);
}

Outcome inode_fill(const Args& args) {
  const long count = args.number(0, 300000);
  const char* dir = args.text(1, "/tmp");
  for (long i = 0; i < count; ++i) {
    char name[256];
    snprintf(name, sizeof name, "%s/i%ld", dir, i);
    int fd = ::open(name, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    if (fd < 0)
      return errno == ENOSPC || errno == EDQUOT || errno == ENOMEM
                 ? blocked("create %s after %ld files", errno_name(errno), i)
                 : unclear("create %s after %ld files", errno_name(errno), i);
    close(fd);
  }
  return open("%ld files", count);
}

Outcome output_flood(const Args& args) {
  const long most = args.number(0, 64) * kMiB;
  static char block[1 << 16];
  memset(block, 'y', sizeof block);
  block[sizeof block - 1] = '\n';  // the result has a line of its own
  signal(SIGPIPE, SIG_IGN);
  for (long total = 0; total < most;) {
    ssize_t n = write(1, block, sizeof block);
    if (n < 0) return blocked("write %s after %ld KiB", errno_name(errno), total / 1024);
    total += n;
  }
  return open("%ld MiB written", most / kMiB);
}

// A frozen program uses no CPU and answers nothing; only a clock outside it can end it.
Outcome stop(const Args&) {
  kill(0, SIGSTOP);
  raise(SIGSTOP);
  return unclear("somebody continued it");
}

constexpr Attack kList[] = {
    {"fork-bomb", "[LIMIT] children that fork, until more than LIMIT tasks live", fork_bomb},
    {"memory", "[MIB] touch that much in one process", memory},
    {"memory-spread", "[MIB PIECES] the same spread over processes", memory_spread},
    {"cpu", "[SECONDS] three processes spin", cpu},
    {"disk-fill", "[LIMIT_MIB DIR…] write more than that", disk_fill},
    {"inode-fill", "[COUNT DIR] empty files", inode_fill},
    {"output-flood", "[MIB] to stdout", output_flood},
    {"stop", "SIGSTOP to itself and its group", stop},
};

}  // namespace

const Family kResources = {kList, sizeof kList / sizeof kList[0]};

}  // namespace attack
