// seal [--files=N] [--tasks=N] [--watch|--end-others] FILTER PROGRAM [ARGS...]: puts on the system call filter of a policy, then becomes the program. For tools
// that have no way to take a filter, or spoil it: it stands between their walls and the program. FILTER is "-" where the
// tool has put it on already. With --watch it stays and tells how the program ended, as a shell would: what is pid 1 cannot be
// ended by its own signals, and must reap what others leave. Nobody looks into it: it is not dumpable, so there is nothing of it
// to read or to write in /proc/1. Where a pipe `told` stands beside it, it says there that it has come so far ("S"), and how the program
// ended ("E" or "K", and the number): an exit code of 159 and a signal are the same number to whoever is told by one. gVisor opens no
// pipe of the host's: there it reads a file `begun`, `exited` or `killed` beside it, and whoever watches them sees which. With --end-others it also ends what the program has left behind, where somebody else is pid 1 and
// waits for it. --files and --tasks are limits of the program that the tool itself could not live with. Static, so that it needs nothing of the tree it finds. Whatever fails, the program is not started.
#include <errno.h>
#include <fcntl.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <signal.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

namespace {

sock_filter g_filter[BPF_MAXINSNS + 1];

[[noreturn]] void fail(const char* why, int code = 126) {
  (void)!write(2, "hotcell seal: ", 14);
  (void)!write(2, why, strlen(why));
  (void)!write(2, "\n", 1);
  _exit(code);
}

void put_on(const char* path) {
  int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
  if (fd < 0) fail("the filter is not there");
  size_t size = 0;
  for (ssize_t n = 1; n > 0; size += static_cast<size_t>(n)) {
    n = read(fd, reinterpret_cast<char*>(g_filter) + size, sizeof g_filter - size);
    if (n < 0) fail("the filter cannot be read");
  }
  close(fd);
  size_t count = size / sizeof(sock_filter);
  if (size == 0 || size % sizeof(sock_filter) != 0 || count > BPF_MAXINSNS) fail("the filter is not one");
  sock_fprog program = {static_cast<unsigned short>(count), g_filter};
  if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0) fail("no_new_privs was refused");
  if (prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program, 0, 0) != 0) fail("the filter was refused");
}

bool beside(const char* self, const char* name, char* path, size_t size) {
  const char* slash = strrchr(self, '/');
  size_t folder = slash == nullptr ? 0 : static_cast<size_t>(slash - self) + 1, length = strlen(name) + 1;
  if (folder == 0 || folder + length > size) return false;
  memcpy(path, self, folder);
  memcpy(path + folder, name, length);
  return true;
}

// Nobody need be there to read it, and a program may have filled it: then nothing is said.
int told_beside(const char* self) {
  char path[512];
  if (!beside(self, "told", path, sizeof path)) return -1;
  // Above the three that are the program's, which may be closed.
  int fd = open(path, O_WRONLY | O_NONBLOCK | O_CLOEXEC | O_NOFOLLOW);
  int high = fd < 0 ? -1 : fcntl(fd, F_DUPFD_CLOEXEC, 10);
  if (fd >= 0) close(fd);
  return high;
}

void tell(int told, char what, int number) {
  char record[2] = {what, static_cast<char>(number)};
  if (told >= 0) (void)!write(told, record, sizeof record);
}

// Where there is no pipe: a file that is opened here and read when its time comes. Nothing is written, and nothing stays open.
int open_beside(const char* self, const char* name) {
  char path[512];
  return beside(self, name, path, sizeof path) ? open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW) : -1;
}

void knock(int fd) {
  char byte;
  if (fd < 0) return;
  (void)!read(fd, &byte, 1);
  close(fd);
}

void limit(int what, const char* number) {
  char* end = nullptr;
  unsigned long long n = strtoull(number, &end, 10);
  rlimit both = {n, n};
  if (*number < '0' || *number > '9' || *end != 0) fail("a limit is no number");
  if (setrlimit(static_cast<decltype(RLIMIT_NOFILE)>(what), &both) != 0) fail("a limit was refused");
}

// The word behind an option of that name, which is then passed over.
const char* value_of(char**& words, const char* option) {
  size_t length = strlen(option);
  if (*words == nullptr || strncmp(*words, option, length) != 0) return nullptr;
  return *words++ + length;
}

// Where somebody wants to look first: a pipe `go`, and nothing goes on before it is open at the other end.
void await_go(const char* self) {
  char path[512];
  if (!beside(self, "go", path, sizeof path)) return;
  int fd;
  do fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
  while (fd < 0 && errno == EINTR);
  if (fd >= 0) close(fd);
  else if (errno != ENOENT) fail("nobody lets it go");
}

// Reaps whatever comes until the program itself is over.
[[noreturn]] void watch(pid_t program, bool end_others, int told, const char* self) {
  // Its streams are the program's alone: whoever reads them sees their end when the program closes them.
  for (int fd : (const int[]){0, 1, 2}) close(fd);
  for (;;) {
    int status = 0;
    pid_t pid = waitpid(-1, &status, 0);
    if (pid < 0 && errno != EINTR) _exit(126);
    if (pid != program || (!WIFEXITED(status) && !WIFSIGNALED(status))) continue;
    tell(told, WIFEXITED(status) ? 'E' : 'K', WIFEXITED(status) ? WEXITSTATUS(status) : WTERMSIG(status));
    if (told < 0) knock(open_beside(self, WIFEXITED(status) ? "exited" : "killed"));
    // Killed, perhaps for the memory it took: the group goes with us, and what it says of that is read from outside by samples.
    if (WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL) usleep(250000);
    // All but pid 1 and ourselves, in a pid namespace that is the program's alone.
    if (end_others) kill(-1, SIGKILL);
    _exit(WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status));
  }
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 1) fail("expected FILTER PROGRAM");
  char** words = argv + 1;
  const char* files = value_of(words, "--files=");
  const char* tasks = value_of(words, "--tasks=");
  bool ends = *words != nullptr && strcmp(*words, "--end-others") == 0;
  bool stay = ends || (*words != nullptr && strcmp(*words, "--watch") == 0);
  if (stay) ++words;
  if (words[0] == nullptr || words[1] == nullptr) fail("expected FILTER PROGRAM");
  if (ends && getppid() != 1) fail("nobody stands above it who waits for others");
  await_go(argv[0]);
  int told = told_beside(argv[0]);
  if (stay) {
    // Before there is anybody who could look. The program becomes itself again by its exec.
    if (prctl(PR_SET_DUMPABLE, 0, 0, 0, 0) != 0) fail("it cannot be hidden");
    pid_t pid = fork();
    if (pid < 0) fail("no process for the program");
    if (pid > 0) watch(pid, ends, told, argv[0]);
  }
  // The program's alone: what stands above it needs its own.
  if (tasks != nullptr) limit(RLIMIT_NPROC, tasks);
  if (files != nullptr) limit(RLIMIT_NOFILE, files);
  // Opened before the filter, which may allow no more of that.
  int begun = told < 0 ? open_beside(argv[0], "begun") : -1;
  if (strcmp(words[0], "-") != 0) put_on(words[0]);
  tell(told, 'S', 0);
  knock(begun);
  execvp(words[1], words + 1);
  fail(errno == ENOENT ? "the program is not there" : "the program cannot be started", errno == ENOENT ? 127 : 126);
}
