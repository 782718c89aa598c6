#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "core/kernel/apply.h"
#include "sys/uapi/landlock.h"

namespace hotcell {

int apply_ruleset(ApplyContext& ctx, const Op& op) noexcept {
  // op.reserved: the struct size that this kernel's ABI knows (a larger one is E2BIG).
  uapi::LandlockRulesetAttr attr = {op.a, op.b, op.flags};
  long fd = syscall(SYS_landlock_create_ruleset, &attr, static_cast<unsigned long>(op.reserved), 0);
  if (fd < 0) return -errno;
  ctx.slots[op.slot] = static_cast<int>(fd);
  return 0;
}

int apply_path_rule(ApplyContext& ctx, const Op& op) noexcept {
  int fd = open(ctx.text(op.path), O_PATH | O_CLOEXEC);
  if (fd < 0) return ((errno == ENOENT || errno == EACCES) && (op.flags & kOptional)) ? 0 : -errno;
  constexpr uint64_t kFileRights = uapi::kFsExecute | uapi::kFsWriteFile | uapi::kFsReadFile | uapi::kFsTruncate | uapi::kFsIoctlDev;
  uint64_t access = op.a;
  struct stat st;
  int result = fstat(fd, &st) < 0 ? -errno : 0;
  // Rights on folders given for a file are EINVAL, not ignored.
  if (result == 0 && !S_ISDIR(st.st_mode)) access &= kFileRights;
  if (result == 0) {
    uapi::LandlockPathBeneath rule = {access, fd};
    if (syscall(SYS_landlock_add_rule, ctx.slots[op.slot], uapi::kLandlockRulePathBeneath, &rule, 0) < 0) result = -errno;
  }
  close(fd);
  return result;
}

int apply_port_rule(ApplyContext& ctx, const Op& op) noexcept {
  uapi::LandlockNetPort rule = {op.a, op.b};
  return syscall(SYS_landlock_add_rule, ctx.slots[op.slot], uapi::kLandlockRuleNetPort, &rule, 0) < 0 ? -errno : 0;
}

int apply_restrict(ApplyContext& ctx, const Op& op) noexcept {
  int fd = ctx.slots[op.slot];
  if (syscall(SYS_landlock_restrict_self, fd, 0) < 0) return -errno;
  close(fd);
  ctx.slots[op.slot] = -1;
  return 0;
}

}  // namespace hotcell
