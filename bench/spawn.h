// The bare things that cells are compared with.
#pragma once
#include <fcntl.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <vector>

namespace bench {

// fork + exec + wait, output to a pipe as any supervisor would have it.
inline bool fork_exec_wait(const std::vector<const char*>& argv) {
  pid_t pid = ::fork();
  if (pid < 0) return false;
  if (pid == 0) {
    std::vector<char*> args;
    for (const char* a : argv) args.push_back(const_cast<char*>(a));
    args.push_back(nullptr);
    char* env[] = {const_cast<char*>("PATH=/usr/bin:/bin"), nullptr};
    ::execve(args[0], args.data(), env);
    ::_exit(127);
  }
  int status = 0;
  return ::waitpid(pid, &status, 0) == pid && WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

}  // namespace bench
