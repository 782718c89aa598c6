// Landlock as of ABI 7; Debian 12's header stops at ABI 2. Names carry our prefix so that both may be included.
#pragma once
#include <stdint.h>

namespace hotcell::uapi {

struct LandlockRulesetAttr {  // 8 bytes at ABI 1–3, 16 at 4–5, 24 from 6 on
  uint64_t handled_access_fs;
  uint64_t handled_access_net;
  uint64_t scoped;
};
struct __attribute__((packed)) LandlockPathBeneath {
  uint64_t allowed_access;
  int32_t parent_fd;
};
struct LandlockNetPort {
  uint64_t allowed_access;
  uint64_t port;
};

inline constexpr unsigned kLandlockCreateVersion = 1u << 0, kLandlockCreateErrata = 1u << 1;
inline constexpr int kLandlockRulePathBeneath = 1, kLandlockRuleNetPort = 2;

inline constexpr uint64_t kFsExecute = 1u << 0, kFsWriteFile = 1u << 1, kFsReadFile = 1u << 2, kFsReadDir = 1u << 3,
                          kFsRemoveDir = 1u << 4, kFsRemoveFile = 1u << 5, kFsMakeChar = 1u << 6, kFsMakeDir = 1u << 7,
                          kFsMakeReg = 1u << 8, kFsMakeSock = 1u << 9, kFsMakeFifo = 1u << 10, kFsMakeBlock = 1u << 11,
                          kFsMakeSym = 1u << 12, kFsRefer = 1u << 13 /* ABI 2 */, kFsTruncate = 1u << 14 /* ABI 3 */,
                          kFsIoctlDev = 1u << 15 /* ABI 5 */;
inline constexpr uint64_t kNetBindTcp = 1u << 0, kNetConnectTcp = 1u << 1;          // ABI 4
inline constexpr uint64_t kScopeAbstractUnix = 1u << 0, kScopeSignal = 1u << 1;     // ABI 6
// restrict_self flags, ABI 7: what the kernel's audit log is to hold. The defaults log this domain's denials.
inline constexpr unsigned kRestrictLogNewExecOn = 1u << 1;

}  // namespace hotcell::uapi

#ifndef SYS_landlock_create_ruleset
#define SYS_landlock_create_ruleset 444
#define SYS_landlock_add_rule 445
#define SYS_landlock_restrict_self 446
#endif
