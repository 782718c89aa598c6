#include "sys/mount.h"

#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>

#include "base/strings.h"

#ifndef SYS_fsopen
#define SYS_fsopen 430
#define SYS_fsconfig 431
#define SYS_fsmount 432
#endif

namespace hotcell::sys {

Result<Fd> new_mount(const char* type, std::initializer_list<MountOption> options, std::uint64_t attributes) {
  constexpr unsigned kFsopenCloexec = 1, kFsmountCloexec = 1, kSetString = 1, kCreate = 6;
  Fd context(static_cast<int>(::syscall(SYS_fsopen, type, kFsopenCloexec)));
  if (!context.valid()) return errno_error(cat("fsopen ", type), errno);
  for (const auto& o : options)
    if (::syscall(SYS_fsconfig, context.get(), kSetString, o.name, o.value.c_str(), 0) < 0) return errno_error(cat("fsconfig ", o.name), errno);
  if (::syscall(SYS_fsconfig, context.get(), kCreate, nullptr, nullptr, 0) < 0) return errno_error(cat("mount ", type), errno);
  Fd mount(static_cast<int>(::syscall(SYS_fsmount, context.get(), kFsmountCloexec, attributes)));
  if (!mount.valid()) return errno_error("fsmount", errno);
  return mount;
}

}  // namespace hotcell::sys
