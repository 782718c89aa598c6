// harmless PATH... -- PROGRAM [ARGS...]: in mounts of its own, with nothing to gain from devices and set-id files at these paths and below,
// it becomes PROGRAM. For tools that mount what they are told to show as it is, or forget what they were told where it can be written, or where
// another mount lies in it. What they bind from here cannot have more. Whatever fails, nothing is started.
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "sys/uapi/mount.h"

namespace {

using namespace hotcell;

[[noreturn]] void fail(const char* what) {
  const char* words[] = {"devices cannot be kept out of what is granted: ", what, ": ", strerror(errno), "\n"};
  for (const char* text : words) (void)!write(2, text, strlen(text));
  _exit(126);
}

void cover(const char* path) {
  int tree = static_cast<int>(syscall(SYS_open_tree, AT_FDCWD, path, uapi::kOpenTreeClone | uapi::kOpenTreeCloexec | uapi::kAtRecursive | uapi::kAtSymlinkNoFollow));
  if (tree < 0) fail(path);
  uapi::MountAttr attr = {uapi::kAttrNoSuid | uapi::kAttrNoDev, 0, 0, 0};
  if (syscall(SYS_mount_setattr, tree, "", uapi::kAtEmptyPath | uapi::kAtRecursive, &attr, sizeof attr) < 0) fail(path);
  if (syscall(SYS_move_mount, tree, "", AT_FDCWD, path, uapi::kMoveFromEmptyPath) < 0) fail(path);
  close(tree);
}

}  // namespace

int main(int argc, char** argv) {
  int program = 1;
  while (program < argc && strcmp(argv[program], "--") != 0) ++program;
  if (program + 1 >= argc) fail("expected PATH... -- PROGRAM");
  if (unshare(CLONE_NEWNS) < 0 || mount(nullptr, "/", nullptr, MS_REC | MS_PRIVATE, nullptr) < 0) fail("mounts of its own");
  for (int i = 1; i < program; ++i) cover(argv[i]);
  execv(argv[program + 1], argv + program + 1);
  fail(argv[program + 1]);
}
