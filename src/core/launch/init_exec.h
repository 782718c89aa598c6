// execve, or execvpe along the PATH the program will have. Freestanding: init and the spawner use it.
#pragma once
#include <errno.h>
#include <string.h>
#include <unistd.h>

namespace hotcell {

// Returns only when it failed, with the errno worth reporting.
inline int exec_program(char** argv, char** envp) noexcept {
  if (strchr(argv[0], '/') != nullptr) {
    execve(argv[0], argv, envp);
    return errno;
  }
  const char* path = "/usr/local/bin:/usr/bin:/bin";
  for (char** e = envp; *e != nullptr; ++e)
    if (strncmp(*e, "PATH=", 5) == 0) path = *e + 5;
  int worst = ENOENT;
  size_t name_len = strlen(argv[0]);
  char full[4096];
  while (*path != 0) {
    const char* end = strchr(path, ':');
    size_t len = end != nullptr ? static_cast<size_t>(end - path) : strlen(path);
    if (len > 0 && len + name_len + 2 <= sizeof full) {
      memcpy(full, path, len);
      full[len] = '/';
      memcpy(full + len + 1, argv[0], name_len + 1);
      execve(full, argv, envp);
      if (errno != ENOENT && errno != ENOTDIR) worst = errno;
      if (worst == E2BIG || worst == ENOEXEC) return worst;
    }
    if (end == nullptr) break;
    path = end + 1;
  }
  return worst;
}

}  // namespace hotcell
