#include <errno.h>
#include <linux/capability.h>
#include <linux/securebits.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "core/kernel/apply.h"

namespace hotcell {

int apply_drop_caps(ApplyContext&, const Op& op) noexcept {
  // The bounding set first: dropping from it needs CAP_SETPCAP, which the capset below takes away.
  if (!(op.flags & kOnlyHeld)) {
    for (unsigned cap = 0; cap <= op.a; ++cap)
      if (prctl(PR_CAPBSET_DROP, cap, 0, 0, 0) < 0 && errno != EINVAL) return -errno;
    // Locked: no later exec of a uid-0 or file-capability binary may raise anything. Where the uid is still to change
    // (kOnlyBounding) the kernel's own clearing of capabilities at that change is left on.
    unsigned long bits = SECBIT_NOROOT | SECBIT_NOROOT_LOCKED | SECBIT_KEEP_CAPS_LOCKED | SECBIT_NO_CAP_AMBIENT_RAISE |
                         SECBIT_NO_CAP_AMBIENT_RAISE_LOCKED;
    if (!(op.flags & kOnlyBounding)) bits |= SECBIT_NO_SETUID_FIXUP | SECBIT_NO_SETUID_FIXUP_LOCKED;
    if (prctl(PR_SET_SECUREBITS, bits, 0, 0, 0) < 0) return -errno;
  }
  if (op.flags & kOnlyBounding) return 0;
  if (prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0) < 0) return -errno;
  __user_cap_header_struct header = {_LINUX_CAPABILITY_VERSION_3, 0};
  __user_cap_data_struct none[2] = {};
  return syscall(SYS_capset, &header, none) < 0 ? -errno : 0;
}

int apply_no_new_privs(ApplyContext&, const Op&) noexcept { return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0 ? -errno : 0; }

}  // namespace hotcell
