// The child's side of seccomp: no malloc, no exceptions, no C++ library (also built into the static init).
#pragma once

namespace hotcell {

// no_new_privs must be set. Returns the listener's descriptor (close-on-exec) or 0 without one; -errno on failure.
int apply_seccomp(const void* insns, unsigned count, int want_listener) noexcept;

// For confine_self: every thread of the process at once, or none. Without a listener.
int apply_seccomp_tsync(const void* insns, unsigned count) noexcept;

}  // namespace hotcell
