// The new mount API, for C libraries that do not declare it.
#pragma once
#include <stdint.h>

namespace hotcell::uapi {

struct MountAttr {
  uint64_t attr_set, attr_clr, propagation, userns_fd;
};
inline constexpr uint64_t kAttrReadOnly = 0x1, kAttrNoSuid = 0x2, kAttrNoDev = 0x4, kAttrNoExec = 0x8,
                          kAttrIdmap = 0x00100000, kAttrNoSymFollow = 0x00200000;
inline constexpr unsigned kOpenTreeClone = 1, kAtRecursive = 0x8000, kAtEmptyPath = 0x1000, kAtSymlinkNoFollow = 0x100;
inline constexpr unsigned kOpenTreeCloexec = 02000000;
inline constexpr unsigned kMoveFromEmptyPath = 0x4, kMoveToEmptyPath = 0x40;

struct OpenHow {
  uint64_t flags, mode, resolve;
};
inline constexpr uint64_t kResolveNoMagicLinks = 0x02, kResolveNoSymlinks = 0x04, kResolveBeneath = 0x08;

}  // namespace hotcell::uapi

#ifndef SYS_open_tree
#define SYS_open_tree 428
#define SYS_move_mount 429
#endif
#ifndef SYS_mount_setattr
#define SYS_mount_setattr 442
#endif
#ifndef SYS_openat2
#define SYS_openat2 437
#endif
#ifndef SYS_close_range
#define SYS_close_range 436
#endif
