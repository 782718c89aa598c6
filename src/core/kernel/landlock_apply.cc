#include <errno.h>
#include <fcntl.h>
#include <string.h>
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

namespace {

constexpr unsigned kMostPaths = sizeof ApplyContext::paths / sizeof ApplyContext::paths[0];

// Both rulesets are made before either is applied, and name mostly the same: what one has opened the other takes.
const ApplyContext::OpenPath* find_open(const ApplyContext& ctx, const char* path) noexcept {
  for (uint32_t i = 0; i < ctx.path_count; ++i)
    if (strcmp(ctx.paths[i].path, path) == 0) return &ctx.paths[i];
  return nullptr;
}

void close_paths(ApplyContext& ctx) noexcept {
  while (ctx.path_count > 0) close(ctx.paths[--ctx.path_count].fd);
}

}  // namespace

int apply_path_rule(ApplyContext& ctx, const Op& op) noexcept {
  const char* path = ctx.text(op.path);
  const ApplyContext::OpenPath* known = find_open(ctx, path);
  ApplyContext::OpenPath opened = known != nullptr ? *known : ApplyContext::OpenPath{path, -1, false};
  if (known == nullptr) {
    opened.fd = open(path, O_PATH | O_CLOEXEC);
    if (opened.fd < 0 && errno == EMFILE && ctx.path_count > 0) {
      // The caller's own limit may be a low one.
      close_paths(ctx);
      opened.fd = open(path, O_PATH | O_CLOEXEC);
    }
    if (opened.fd < 0) return ((errno == ENOENT || errno == EACCES) && (op.flags & kOptional)) ? 0 : -errno;
    struct stat st;
    if (fstat(opened.fd, &st) < 0) return -errno;
    opened.folder = S_ISDIR(st.st_mode);
  }
  constexpr uint64_t kFileRights = uapi::kFsExecute | uapi::kFsWriteFile | uapi::kFsReadFile | uapi::kFsTruncate | uapi::kFsIoctlDev;
  // Rights on folders given for a file are EINVAL, not ignored.
  uapi::LandlockPathBeneath rule = {opened.folder ? op.a : op.a & kFileRights, opened.fd};
  int result = syscall(SYS_landlock_add_rule, ctx.slots[op.slot], uapi::kLandlockRulePathBeneath, &rule, 0) < 0 ? -errno : 0;
  if (known == nullptr && ctx.path_count < kMostPaths) ctx.paths[ctx.path_count++] = opened;
  else if (known == nullptr) close(opened.fd);
  return result;
}

int apply_port_rule(ApplyContext& ctx, const Op& op) noexcept {
  uapi::LandlockNetPort rule = {op.a, op.b};
  return syscall(SYS_landlock_add_rule, ctx.slots[op.slot], uapi::kLandlockRuleNetPort, &rule, 0) < 0 ? -errno : 0;
}

int apply_restrict(ApplyContext& ctx, const Op& op) noexcept {
  close_paths(ctx);
  int fd = ctx.slots[op.slot];
  if (syscall(SYS_landlock_restrict_self, fd, 0) < 0) return -errno;
  close(fd);
  ctx.slots[op.slot] = -1;
  return 0;
}

}  // namespace hotcell
