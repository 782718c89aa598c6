// Reaching other processes, outliving the end, and what was left open by whoever started us.
#include <dirent.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

#include "attack.h"

extern char** environ;

namespace attack {
namespace {

constexpr Errors kNotThere = errors(ESRCH, EPERM, EACCES, ENOSYS, ENOENT);

void ignore_signals() {
  for (int s : List<int>{SIGHUP, SIGINT, SIGQUIT, SIGTERM, SIGPIPE, SIGALRM, SIGUSR1, SIGUSR2}) signal(s, SIG_IGN);
}

// Double fork and a new session, then a new pid every few milliseconds: a killer that lists first and kills later
// always comes too late. Ends by itself after half a minute, for the sake of a host that does not end it.
void leave_runner() {
  if (fork() != 0) return;
  setsid();
  if (fork() != 0) _exit(0);
  ignore_signals();
  for (int i = 0; i < 3000; ++i) {
    usleep(10000);
    pid_t pid = fork();
    if (pid > 0) _exit(0);
  }
  _exit(0);
}

Outcome deadline_escape(const Args&) {
  ignore_signals();
  leave_runner();
  for (int i = 0; i < 20; ++i) sleep(1);
  return open("slept through the deadline");
}

Outcome stdout_orphan(const Args&) {
  pid_t pid = fork();
  if (pid < 0) return blocked("fork %s", errno_name(errno));
  if (pid == 0) {
    setsid();
    ignore_signals();
    if (fork() != 0) _exit(0);
    for (int i = 0; i < 20; ++i) sleep(1);
    _exit(0);
  }
  waitpid(pid, nullptr, 0);
  return started("a child holds stdout");
}

Outcome signal_host(const Args& args) {
  const pid_t pid = static_cast<pid_t>(args.number(0, 0));
  if (pid <= 1 || pid == getpid() || pid == getppid()) return unclear("needs the pid of a process outside");
  Tries t;
  t.did("kill", kill(pid, 0), kNotThere);
  t.did("kill -9", kill(pid, SIGKILL), kNotThere);
  t.did("tgkill", syscall(SYS_tgkill, pid, pid, SIGKILL), kNotThere);
  siginfo_t si{};
  si.si_code = SI_QUEUE;
  t.did("sigqueue", syscall(SYS_rt_sigqueueinfo, pid, SIGKILL, &si), kNotThere);
  t.did("pidfd_open", syscall(SYS_pidfd_open, pid, 0), kNotThere);
  t.did("prlimit", syscall(SYS_prlimit64, pid, RLIMIT_NOFILE, nullptr, nullptr), kNotThere);
  return t.outcome();
}

Outcome host_processes(const Args& args) {
  char path[64];
  snprintf(path, sizeof path, "/proc/%ld/status", args.number(0, 0));
  Tries t;
  t.did(path, access(path, F_OK), kHidden);
  int count = 0;
  if (DIR* proc = opendir("/proc")) {
    while (dirent* e = readdir(proc))
      if (e->d_name[0] >= '1' && e->d_name[0] <= '9') ++count;
    closedir(proc);
  }
  char how[48];
  snprintf(how, sizeof how, "shows %d", count);
  if (count > 12) t.went_through("/proc lists many processes");
  else t.refused("/proc", how);
  return t.outcome();
}

Outcome trace(const Args& args) {
  const pid_t pid = static_cast<pid_t>(args.number(0, 1));
  Tries t;
  long seized = ptrace(PTRACE_SEIZE, pid, nullptr, nullptr);
  t.did("PTRACE_SEIZE", seized, kNotThere);
  if (seized == 0) return t.outcome();  // more of it would only disturb the victim
  t.did("PTRACE_ATTACH", ptrace(PTRACE_ATTACH, pid, nullptr, nullptr), kNotThere);
  return t.outcome();
}

Outcome process_vm(const Args& args) {
  const pid_t pid = static_cast<pid_t>(args.number(0, 1));
  char byte = 0;
  iovec here{&byte, 1}, there{reinterpret_cast<void*>(0x1000), 1};
  Tries t;
  // EFAULT means that access was granted and only the address was wrong: that is through.
  long n = process_vm_readv(pid, &here, 1, &there, 1, 0);
  if (n < 0 && errno == EFAULT) t.went_through("process_vm_readv");
  else t.did("process_vm_readv", n, kNotThere);
  n = process_vm_writev(pid, &here, 1, &there, 1, 0);
  if (n < 0 && errno == EFAULT) t.went_through("process_vm_writev");
  else t.did("process_vm_writev", n, kNotThere);
  int fd = static_cast<int>(syscall(SYS_pidfd_open, pid, 0));
  if (fd < 0) t.did("pidfd_open", fd, kNotThere);
  else t.did("pidfd_getfd", syscall(SYS_pidfd_getfd, fd, 0, 0), kNotThere);
  return t.outcome();
}

Outcome proc_mem(const Args& args) {
  const long pid = args.number(0, 1);
  Tries t;
  char path[64];
  for (const char* name : List<const char*>{"mem", "maps", "environ", "auxv", "stack", "syscall"}) {
    snprintf(path, sizeof path, "/proc/%ld/%s", pid, name);
    int fd = ::open(path, (strcmp(name, "mem") == 0 ? O_RDWR : O_RDONLY) | O_CLOEXEC);
    char buf[256];
    ssize_t n = fd < 0 ? -1 : strcmp(name, "mem") == 0 ? 1 : read(fd, buf, sizeof buf);
    if (fd >= 0) close(fd);
    if (n == 0) t.refused(name, "empty");
    else t.did(name, n, kHidden);
  }
  for (const char* name : List<const char*>{"exe", "root", "cwd"}) {
    snprintf(path, sizeof path, "/proc/%ld/%s", pid, name);
    char buf[256];
    t.did(name, readlink(path, buf, sizeof buf), kHidden);
  }
  snprintf(path, sizeof path, "/proc/%ld/fd", pid);
  DIR* fds = opendir(path);
  int count = 0;
  if (fds != nullptr)
    while (readdir(fds) != nullptr) ++count;
  if (fds == nullptr) t.did("fd", -1, kHidden);
  else if (count > 2) t.went_through("fd");
  else t.refused("fd", "empty");
  return t.outcome();
}

Outcome join_namespaces(const Args& args) {
  const long pid = args.number(0, 1);
  Tries t;
  for (const char* name : List<const char*>{"user", "mnt", "net", "pid", "ipc", "uts", "cgroup"}) {
    char path[64];
    snprintf(path, sizeof path, "/proc/%ld/ns/%s", pid, name);
    int fd = ::open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0) t.did(name, fd, kHidden);
    else t.did(name, syscall(SYS_setns, fd, 0), kRefused);
    if (fd >= 0) close(fd);
  }
  return t.outcome();
}

Outcome inherited_fds(const Args&) {
  char list[200] = {};
  int count = 0;
  // Past any limit of ours: a descriptor opened before the limit was lowered stays open above it.
  for (int fd = 3; fd < 70000; ++fd) {
    if (fcntl(fd, F_GETFD) < 0) continue;
    size_t used = strlen(list);
    snprintf(list + used, sizeof list - used, " %d", fd);
    ++count;
  }
  if (count != 0) return open("open descriptors:%s", list);
  for (int fd = 0; fd < 3; ++fd) {
    struct stat st{};
    if (fstat(fd, &st) == 0 && (S_ISDIR(st.st_mode) || isatty(fd) == 1))
      return open("fd %d is a folder or a terminal", fd);
  }
  return blocked("nothing above 2");
}

bool has_bytes(const char* hay, size_t size, const char* needle) {
  return memmem(hay, size, needle, strlen(needle)) != nullptr;
}

Outcome environment(const Args& args) {
  const char* secret = args.text(0, "");
  if (*secret == 0) return unclear("needs the secret to look for");
  for (char** e = environ; *e != nullptr; ++e)
    if (strstr(*e, secret) != nullptr) return open("in the environment");
  static char buf[1 << 16];
  for (const char* path : List<const char*>{"/proc/1/environ", "/proc/self/environ"}) {
    int fd = ::open(path, O_RDONLY | O_CLOEXEC);
    ssize_t n = fd < 0 ? 0 : read(fd, buf, sizeof buf);
    if (fd >= 0) close(fd);
    if (n > 0 && has_bytes(buf, static_cast<size_t>(n), secret)) return open("in %s", path);
  }
  return blocked("not in environ, nor in /proc/1/environ");
}

Outcome core_dump(const Args&) {
  pid_t pid = fork();
  if (pid < 0) return unclear("fork %s", errno_name(errno));
  if (pid == 0) {
    rlimit core{};
    getrlimit(RLIMIT_CORE, &core);
    core = {RLIM_INFINITY, RLIM_INFINITY};
    if (setrlimit(RLIMIT_CORE, &core) != 0) {
      getrlimit(RLIMIT_CORE, &core);
      core.rlim_cur = core.rlim_max;
      setrlimit(RLIMIT_CORE, &core);
    }
    signal(SIGABRT, SIG_DFL);
    abort();
  }
  int status = 0;
  waitpid(pid, &status, 0);
  if (!WIFSIGNALED(status)) return unclear("abort did not kill");
  return WCOREDUMP(status) ? open("the kernel dumped core")
                           : blocked("RLIMIT_CORE: no core after signal %d", WTERMSIG(status));
}

constexpr Attack kList[] = {
    {"deadline-escape", "[TOKEN] double fork, setsid, signals ignored, a new pid every 10 ms", deadline_escape},
    {"stdout-orphan", "[TOKEN] exits and leaves a child that holds stdout", stdout_orphan},
    {"signal-host", "PID kill, tgkill, sigqueue, pidfd_open, prlimit", signal_host},
    {"host-processes", "PID is it visible in /proc", host_processes},
    {"ptrace", "[PID] seize or attach, pid 1 if not said", trace},
    {"process-vm", "[PID] process_vm_readv and writev, pidfd_getfd", process_vm},
    {"proc-mem", "[PID] /proc/PID/mem, maps, environ, fd, exe, root", proc_mem},
    {"setns", "[PID] join its namespaces", join_namespaces},
    {"inherited-fds", "descriptors that were left open", inherited_fds},
    {"environment", "SECRET is it anywhere in the environment", environment},
    {"core-dump", "abort with RLIMIT_CORE raised as far as it goes", core_dump},
};

}  // namespace

const Family kProcesses = {kList, sizeof kList / sizeof kList[0]};

}  // namespace attack
