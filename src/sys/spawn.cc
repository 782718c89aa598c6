#include "sys/spawn.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>

#ifndef SYS_close_range
#define SYS_close_range 436
#endif

namespace hotcell::sys {
namespace {

struct Exec {
  const int* fds;
  std::size_t count;
  bool die;
  pid_t parent;
  const char* path;
  char* const* argv;
  char* const* environment;
  int error = 0;   // written by the child into memory it shares with us until it execs
};

void become(void* raw) noexcept {
  auto* e = static_cast<Exec*>(raw);
  long high[32];
  bool ready = e->count <= 32;
  // Copies first: one may sit on the number of another.
  for (std::size_t i = 0; ready && i < e->count; ++i) ready = (high[i] = ::syscall(SYS_fcntl, e->fds[i], F_DUPFD, 64)) >= 0;
  for (std::size_t i = 0; ready && i < e->count; ++i) ready = ::syscall(SYS_dup3, high[i], i, 0) == static_cast<long>(i);
  ready = ready && ::syscall(SYS_close_range, e->count, ~0u, 0) == 0;
  if (ready && e->die) ready = ::syscall(SYS_prctl, PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0) == 0 && ::syscall(SYS_getppid) == e->parent;
  // The supervisor blocks what it reads from a descriptor; nobody else shall.
  unsigned long none = 0;
  if (ready) ready = ::syscall(SYS_rt_sigprocmask, SIG_SETMASK, &none, nullptr, sizeof none) == 0;
  if (ready) ::syscall(SYS_execve, e->path, e->argv, e->environment);
  e->error = errno;
  ::syscall(SYS_exit_group, 127);
}

}  // namespace

Result<Child> spawn(const Spawn& what) {
  std::vector<std::string> words = what.argv;
  std::vector<char*> argv;
  for (auto& word : words) argv.push_back(word.data());
  argv.push_back(nullptr);
  char* none[] = {nullptr};
  Exec exec{what.fds.data(), what.fds.size(), what.die_with_us, ::getpid(), what.program.c_str(), argv.data(),
            what.keep_environment ? environ : none};
  TRY_SET(Child child, clone_vfork(0, -1, become, &exec));
  if (exec.error != 0) {
    reap(child.pid, true).ignore("it has told us why it ended");
    return errno_error(what.program, exec.error);
  }
  return child;
}

}  // namespace hotcell::sys
