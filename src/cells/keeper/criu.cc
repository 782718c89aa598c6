#include "cells/keeper/criu.h"

#include <fcntl.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/strings.h"
#include "sys/file.h"
#include "sys/spawn.h"

namespace hotcell::cells {

namespace {

std::string find_criu() {
  if (const char* said = ::getenv("HOTCELL_CRIU"); said != nullptr && said[0] == '/') return said;
  for (const char* folder : {"/usr/local/sbin", "/usr/sbin", "/usr/local/bin", "/usr/bin", "/sbin"})
    if (std::string path = cat(std::string_view(folder), "/criu"); ::access(path.c_str(), X_OK) == 0) return path;
  return {};
}

}  // namespace

std::string look_for_criu() {
  const std::string program = find_criu();
  if (program.empty()) return "CRIU is not installed";
  auto null = sys::open("/dev/null", O_RDWR);
  auto pipe = sys::make_pipe(0);
  if (!null.ok() || !pipe.ok()) return "CRIU could not be asked";
  sys::Spawn spawn;
  spawn.program = program;
  spawn.argv = {"criu", "check"};
  spawn.fds = {null.value().get(), pipe.value().write.get(), pipe.value().write.get()};
  auto child = sys::spawn(spawn);
  if (!child.ok()) return cat("CRIU could not be asked: ", child.error().message);
  pipe.value().write.reset();
  auto said = sys::read_fd(pipe.value().read.get(), 64 << 10);
  auto reaped = sys::reap(child.value().pid, true);
  if (!reaped.ok() || !reaped.value()) return "CRIU could not be asked";
  std::string first(said.ok() ? trim(split(said.value(), '\n')[0]) : std::string_view());
  if (int status = reaped.value()->status; !WIFEXITED(status) || WEXITSTATUS(status) != 0) return cat("criu check fails: ", printable(first));
  // Tried with CRIU 4.1.1: a process that Landlock kept from a file opened it after the restore. docs/decisions/0015.
  return "criu check succeeds; CRIU brings processes back without their Landlock domains: they would stand behind fewer walls, so it is not used";
}

}  // namespace hotcell::cells
